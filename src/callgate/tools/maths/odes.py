"""solve_ode: ordinary differential equations, explicit (RK45) first, and implicit (Radau) where they turn out stiff."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

Derivative = Callable[[float, Any], Any]

_MOST_EQUATIONS = 50
_ATTEMPTS = (("RK45", 20_000), ("Radau", 20_000), ("RK45", 100_000))
"""The methods, each with the evaluations of the right-hand side after which it is given up: what the explicit one
finds hard is stiff, most likely, and what the implicit one finds hard as well is only long."""
_MOST_POINTS = 1000
_LOOKS = 211
"""Steps at least along a formula: between two of them a pulse is not seen, of the time or of the values. None ends at a
round time, where a formula has no value more often."""
_AGREED = 10
"""How many times the tolerances two solutions may be apart that are the same."""
_STEPS = 50_000_000
_PER_EVALUATION = 200

_NUMBERS = {"type": "array", "items": {"type": "number"}}
_SOLUTION = {
    "type": "object",
    "properties": {
        "t": _NUMBERS,
        "y": {"type": "array", "items": _NUMBERS},
        "stats": {
            "type": "object",
            "properties": {
                "method": {"enum": ["RK45", "Radau"]},
                "steps": {"type": "integer"},
                "evaluations": {"type": "integer"},
            },
            "required": ["method", "steps", "evaluations"],
            "additionalProperties": False,
        },
    },
    "required": ["t", "y", "stats"],
    "additionalProperties": False,
}


class _Matrix(TypedDict):
    A: list[list[float]]


class Coefficients(_Matrix, total=False):
    """A linear system: y' = A y + b, without b as if it were 0."""

    b: list[float]


class _TooMany(Exception):
    """The method took too many evaluations."""


@dataclass(frozen=True, slots=True)
class _Problem:
    derivative: Derivative
    y0: list[float]
    t_span: list[float]
    tolerances: dict[str, float]
    is_linear: bool
    """Whether the values alone make the slope, and everywhere in the same way."""


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_SOLUTION,
    examples=[
        {"y0": [1], "t_span": [0, 5], "system": "-0.5*y"},
        {"y0": [1, 0], "t_span": [0, 3.14], "system": "[y1, -y0]"},
        {"y0": [1, 0], "t_span": [0, 1], "coefficients": {"A": [[0, 1], [-1, 0]], "b": [0, 1]}},
    ],
)
def solve_ode(
    y0: list[float],
    t_span: list[float],
    *,
    ctx: ToolContext,
    coefficients: Coefficients | None = None,
    system: str | None = None,
    rtol: Annotated[float, Field(ge=1e-12, le=0.1)] = 1e-6,
    atol: Annotated[float, Field(gt=0, le=1)] = 1e-9,
) -> dict[str, Any]:
    """Solve ordinary differential equations y' = f(t, y) from a beginning; give `system` or `coefficients`.

    The answer has the times `t` (at most 1000 of them, the last one included) and for each the list `y`. What happens
    in less than the 200th part of t_span may be stepped over: solve from one such moment to the next.

    Args:
        y0: The values at the beginning, one for each equation; at most 50.
        t_span: Two times: [begin, end].
        ctx: Of the call; it has the time limit.
        coefficients: A linear system y' = A y + b, with the matrix `A` as rows, and `b`.
        system: The right-hand side with the variables t and y: `-0.5*y`; for several equations a list that uses y0,
            y1, … (or y[0], y[1], …): `[y1, -y0]`.
        rtol: Relative tolerance.
        atol: Absolute tolerance.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    _check(y0, t_span)
    if (coefficients is None) == (system is None):
        raise ValueError("give either system or coefficients")
    is_linear, tolerances = coefficients is not None, {"rtol": rtol, "atol": atol}
    derivative = _linear(coefficients, len(y0)) if coefficients else _formula(str(system), len(y0), ctx=ctx)
    problem = _Problem(derivative, y0, t_span, tolerances, is_linear=is_linear)
    with np.errstate(all="ignore"):
        return _integrated(problem, ctx=ctx)


def _check(y0: list[float], t_span: list[float]) -> None:
    if not 1 <= len(y0) <= _MOST_EQUATIONS:
        raise ValueError(f"y0 must have 1 to {_MOST_EQUATIONS} numbers, one for each equation")
    if len(t_span) != 2 or t_span[0] == t_span[1]:  # noqa: PLR2004 - two times
        raise ValueError("t_span must be two different times: [begin, end]")


def _linear(given: Coefficients, count: int) -> Derivative:
    import numpy as np  # noqa: PLC0415 - an extra

    rows, constant = given["A"], given.get("b", [0.0] * count)
    if len(rows) != count or any(len(row) != count for row in rows) or len(constant) != count:
        raise ValueError(
            f"coefficients must have A with {count} rows of {count} numbers, and b with {count}, as y0 has"
        )
    matrix, right = np.asarray(rows, dtype=np.float64), np.asarray(constant, dtype=np.float64)
    return lambda _, y: matrix @ y + right


def _formula(text: str, count: int, *, ctx: ToolContext) -> Derivative:
    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415 - NumPy is an extra
    from callgate.tools.maths.expressions.compiling import compiled  # noqa: PLC0415
    from callgate.tools.maths.expressions.reading import read  # noqa: PLC0415
    from callgate.tools.maths.expressions.values import Undefined, Value, floats  # noqa: PLC0415

    names = [f"y{at}" for at in range(count)]
    formula = compiled(read(text, ["t", "y", *names], argument="system"))
    budget = Budget(_STEPS, ctx)

    def derivative(t: float, y: Any) -> Any:
        numbers: list[float] = y.tolist()
        values: dict[str, Value] = {"t": float(t), **dict(zip(names, numbers, strict=True))}
        values["y"] = numbers[0] if count == 1 else y
        try:
            slope = floats(formula(budget, values))
        except Undefined as error:
            raise ValueError(f"system has no value at t = {t:g}: {error}") from None
        if slope.size != count:
            raise ValueError(f"system gives {slope.size} numbers and y0 has {count}; write a list: [y1, -y0]")
        return slope.reshape(count)

    return derivative


def _integrated(problem: _Problem, *, ctx: ToolContext) -> dict[str, Any]:
    for name, most in _ATTEMPTS:
        with contextlib.suppress(_TooMany):
            return _told(_attempt(problem, name, ctx=ctx, most=most), name)
    raise ValueError("system needs too many steps; take a shorter t_span or larger tolerances")


def _attempt(problem: _Problem, method: str, *, ctx: ToolContext, most: int) -> Any:
    import numpy as np  # noqa: PLC0415 - an extra

    free = _solved(problem, ctx=ctx, most=most, method=method, dense_output=not problem.is_linear)
    longest = abs(problem.t_span[1] - problem.t_span[0]) / _LOOKS
    if problem.is_linear or np.abs(np.diff(free.t)).max() <= longest:
        return free
    # Where nothing happens, steps grow, beyond a pulse to come. A solution that saw none is told in its few steps.
    looked = _solved(problem, ctx=ctx, most=most, method=method, max_step=longest)
    return free if _agree(free, looked, **problem.tolerances) else looked


def _agree(free: Any, looked: Any, *, rtol: float, atol: float) -> bool:
    """Whether they are the same all the way: where a step of `free` ends, what a pulse did may have died away."""
    import numpy as np  # noqa: PLC0415 - an extra

    onward = 1 if free.t[-1] > free.t[0] else -1
    ends = (onward * free.t).searchsorted(onward * looked.t).clip(1)
    # What a step may be wrong by is judged by the values at its ends: in the middle of it one may pass through 0.
    size = np.maximum(*np.abs([free.y[:, ends - 1], free.y[:, ends]]))
    apart = np.abs(free.sol(looked.t) - looked.y)
    return bool((apart <= _AGREED * (atol + rtol * size)).all())


def _solved(problem: _Problem, *, ctx: ToolContext, most: int, **options: Any) -> Any:
    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415 - NumPy is an extra

    integrate: Any = importlib.import_module("scipy.integrate")
    budget = Budget(_STEPS, ctx)
    count = 0

    def counted(t: float, y: Any) -> Any:
        nonlocal count
        count += 1
        if count > most:
            raise _TooMany
        budget.spend(_PER_EVALUATION)
        return _finite(problem.derivative(t, y), t)

    y0 = [float(value) for value in problem.y0]
    found = integrate.solve_ivp(counted, problem.t_span, y0, **options, **problem.tolerances)
    if not found.success:
        message = f"system cannot be solved beyond t = {found.t[-1]:g}: its solution, or its slope, grows without end"
        raise ValueError(message)
    # SciPy's own count leaves out those of a slope's slope.
    found.nfev = count
    return found


def _told(found: Any, method: str) -> dict[str, Any]:
    kept = _thinned(len(found.t))
    stats = {"method": method, "steps": len(found.t) - 1, "evaluations": found.nfev}
    return {"t": found.t[kept].tolist(), "y": _finite(found.y.T[kept], found.t[-1]).tolist(), "stats": stats}


def _finite(values: Any, t: float) -> Any:
    import numpy as np  # noqa: PLC0415 - an extra

    if not np.isfinite(values).all():
        raise ValueError(f"system has no finite value near t = {t:g}; take a shorter t_span")
    return values


def _thinned(count: int) -> list[int]:
    """Which of so many points are given back: evenly spread, with the first and the last."""
    if count <= _MOST_POINTS:
        return list(range(count))
    return [at * (count - 1) // (_MOST_POINTS - 1) for at in range(_MOST_POINTS)]
