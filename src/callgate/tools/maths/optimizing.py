"""optimize: the smallest or largest value of a formula, searched from a point by the methods of SciPy.

These end where a slope or a step is below a number of their own, also on a hill that is flat everywhere, and in the
middle between two slopes. So what they claim is compared with its neighbourhood, and searched on where that is better.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.maths.neighbours import Land, better
from callgate.tools.maths.plateaus import is_plateau

Method = Literal["nelder_mead", "powell", "cg", "bfgs", "l_bfgs_b"]

_METHODS = {"nelder_mead": "Nelder-Mead", "powell": "Powell", "cg": "CG", "bfgs": "BFGS", "l_bfgs_b": "L-BFGS-B"}
_MOST_DIMENSIONS = 50
_EDGE = 1e300
"""Whatever ends out here ended because floats do, and not because there is an optimum."""
_EVALUATIONS = 50
"""Evaluations for each iteration allowed and each dimension, at most."""
_AGAIN = 10_000
"""Evaluations of a search that begins again, at most: a narrow valley would take all that one call may."""
_RESTARTS = 5
_NO_SLOPE = 2
"""How SciPy says that rounding is larger than what is left of a slope."""

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
        max_iter: Stop after so many iterations; `converged` is false then, where the search ran to the end of the
            numbers that a float has, where a look around finds a better point close by, and where the value only levels
            off, as that of exp(-x) + 1 does.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.points import function_of_points  # noqa: PLC0415

    if not 1 <= len(x0) <= _MOST_DIMENSIONS:
        raise ValueError(f"x0 must have 1 to {_MOST_DIMENSIONS} numbers, one for each variable")
    value = function_of_points(objective["expression"], len(x0), argument="objective", ctx=ctx)
    sign = 1.0 if mode == "minimize" else -1.0

    def land(point: Any) -> float:
        found = sign * value(point.tolist())
        # Where it is undefined is never the best place.
        return math.inf if math.isnan(found) else found

    start = np.asarray(x0, dtype=np.float64)
    with np.errstate(all="ignore"):
        if not math.isfinite(land(start)):
            raise ValueError("objective has no finite value at x0; start somewhere else")
        found = _optimum(land, start, method=method, max_iter=max_iter)
        f = sign * land(found.x)
    if not math.isfinite(f):
        raise ValueError(f"objective has no finite {mode[:3]}imum: its values grow without end")
    inside = bool((np.abs([f, *found.x]) < _EDGE).all())
    return {"x": found.x.tolist(), "f": f, "iterations": found.iterations, "converged": found.claimed and inside}


@dataclass(frozen=True, slots=True)
class _Found:
    x: Any
    iterations: int
    claimed: bool
    """That it is an optimum."""


def _optimum(land: Land, start: Any, *, method: str, max_iter: int) -> _Found:
    """What the method finds, beginning again from a better neighbour as long as there is one."""
    scaled, iterations, begin, first = land, 0, start, land(start)
    for again in range(1 + _RESTARTS):
        most = _AGAIN if again else max_iter * start.size * _EVALUATIONS
        options = _options(method, max_iter=max_iter - iterations, most=most)
        found = _searched(scaled, start, method=method, options=options)
        iterations += int(found.nit)
        if not _is_somewhere(land, found.x, start=start):
            return _Found(start, iterations, claimed=False)
        claimed = bool(found.success) or (again > 0 and _is_exhausted(found, method))
        step = better(land, found.x, first=first) if claimed else None
        if step is None:
            return _Found(found.x, iterations, claimed and not is_plateau(land, start=begin, end=found.x))
        start = found.x + step
        # The slope that was found is 1 in what is searched next: no method takes it for level ground.
        base = land(start)
        scaled = _scaled(land, base=base, unit=(land(found.x) - base) / math.hypot(*step))
    return _Found(start, iterations, claimed=False)


def _is_somewhere(land: Land, x: Any, *, start: Any) -> bool:
    """Whether a search ended at a point that is no worse than where it began, or where there is no lowest value.

    What is scaled by a tiny slope may be too large for a step to be computed.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    value = land(x)
    return value == -math.inf or (bool(np.isfinite(x).all()) and value <= land(start))


def _scaled(land: Land, *, base: float, unit: float) -> Land:
    return lambda point: (land(point) - base) / unit


def _is_exhausted(found: Any, method: str) -> bool:
    """Whether a search for less than the first ended where floats tell no more slope."""
    return method in {"cg", "bfgs", "l_bfgs_b"} and found.status == _NO_SLOPE


def _searched(wanted: Callable[[Any], float], start: Any, *, method: str, options: dict[str, Any]) -> Any:
    searching: Any = importlib.import_module("scipy.optimize")
    try:
        return searching.minimize(wanted, start, method=_METHODS[method], options=options)
    except RuntimeError:
        raise ValueError(
            f"objective gives {method} nothing to end at; it may have no optimum, or try another"
        ) from None


def _options(method: str, *, max_iter: int, most: int) -> dict[str, Any]:
    options: dict[str, Any] = {"maxiter": max_iter}
    if method in ("nelder_mead", "powell"):
        options |= {"maxfev": most, "xtol" if method == "powell" else "xatol": 1e-8}
        options["ftol" if method == "powell" else "fatol"] = 1e-8
    if method == "l_bfgs_b":
        options["maxfun"] = most
    return options
