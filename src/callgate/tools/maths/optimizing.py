"""optimize: the smallest or largest value of a formula, searched from a point by the methods of SciPy."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

Method = Literal["nelder_mead", "powell", "cg", "bfgs", "l_bfgs_b"]

_METHODS = {"nelder_mead": "Nelder-Mead", "powell": "Powell", "cg": "CG", "bfgs": "BFGS", "l_bfgs_b": "L-BFGS-B"}
_MOST_DIMENSIONS = 50
_EDGE = 1e300
"""Whatever ends out here ended because floats do, and not because there is an optimum."""
_EVALUATIONS = 50
"""Evaluations for each iteration allowed and each dimension, at most."""

_RESULT = {
    "type": "object",
    "properties": {
        "x": {"type": "array", "items": {"type": "number"}},
        "f": {"type": "number"},
        "iterations": {"type": "integer"},
        "converged": {"type": "boolean"},
    },
    "required": ["x", "f", "iterations", "converged"],
    "additionalProperties": False,
}


class Objective(TypedDict):
    """What is optimised: a formula of x0, x1, …, or of x where there is one."""

    expression: str


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_RESULT,
    examples=[
        {"x0": [0, 0], "objective": {"expression": "(x0 - 1)**2 + (x1 + 2)**2"}},
        {"x0": [0.5], "objective": {"expression": "sin(x)"}, "mode": "maximize", "method": "bfgs"},
    ],
)
def optimize(
    x0: list[float],
    objective: Objective,
    *,
    ctx: ToolContext,
    method: Method = "nelder_mead",
    mode: Literal["minimize", "maximize"] = "minimize",
    max_iter: Annotated[int, Field(ge=1, le=100_000)] = 1000,
) -> dict[str, Any]:
    """Find a point where a formula is smallest or largest, starting from a point. It may be a local one.

    Args:
        x0: Where to start, one number for each variable; at most 50.
        objective: The formula, as in {"expression": "(x0 - 1)**2 + x1**2"}.
        ctx: Of the call; it has the time limit.
        method: How to search; nelder_mead and powell need no slopes.
        mode: Whether the smallest or the largest value is wanted.
        max_iter: Stop after so many iterations; `converged` is false then, and where the search ran to the end of the
            numbers that a float has.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.points import function_of_points  # noqa: PLC0415

    if not 1 <= len(x0) <= _MOST_DIMENSIONS:
        raise ValueError(f"x0 must have 1 to {_MOST_DIMENSIONS} numbers, one for each variable")
    value = function_of_points(objective["expression"], len(x0), argument="objective", ctx=ctx)
    sign = 1.0 if mode == "minimize" else -1.0

    def wanted(point: Any) -> float:
        found = sign * value(point.tolist())
        # Where it is undefined is never the best place.
        return math.inf if math.isnan(found) else found

    start = np.asarray(x0, dtype=np.float64)
    with np.errstate(all="ignore"):
        if not math.isfinite(wanted(start)):
            raise ValueError("objective has no finite value at x0; start somewhere else")
        found = _searched(wanted, start, method=method, options=_options(method, max_iter=max_iter, dimensions=len(x0)))
    f = sign * float(found.fun)
    if not (math.isfinite(f) and np.isfinite(found.x).all()):
        raise ValueError(f"objective has no finite {mode[:3]}imum: its values grow without end")
    inside = bool((np.abs([f, *found.x]) < _EDGE).all())
    return {"x": found.x.tolist(), "f": f, "iterations": int(found.nit), "converged": bool(found.success) and inside}


def _searched(wanted: Callable[[Any], float], start: Any, *, method: str, options: dict[str, Any]) -> Any:
    searching: Any = importlib.import_module("scipy.optimize")
    try:
        return searching.minimize(wanted, start, method=_METHODS[method], options=options)
    except RuntimeError:
        raise ValueError(
            f"objective gives {method} nothing to end at; it may have no optimum, or try another"
        ) from None


def _options(method: str, *, max_iter: int, dimensions: int) -> dict[str, Any]:
    options: dict[str, Any] = {"maxiter": max_iter}
    most = max_iter * dimensions * _EVALUATIONS
    if method in ("nelder_mead", "powell"):
        options |= {"maxfev": most, "xtol" if method == "powell" else "xatol": 1e-8}
        options["ftol" if method == "powell" else "fatol"] = 1e-8
    if method == "l_bfgs_b":
        options["maxfun"] = most
    return options
