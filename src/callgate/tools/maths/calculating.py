"""calculate and statistics: the value of an expression, and figures that describe a list of numbers."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

Metric = Literal["mean", "std", "min", "max", "median", "count", "sum", "var", "q25", "q75", "iqr"]
_USUAL: tuple[Metric, ...] = ("mean", "std", "min", "max", "median", "count")

_Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A whole number stays one, with all its digits."""
_STEPS = 1_000_000
_VALUE = {"anyOf": [{"type": "number"}, {"type": "array", "items": {"type": "number"}}]}
_FIGURES = {"type": "object", "additionalProperties": {"type": "number"}}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_VALUE,
    examples=[
        {"expression": "np.sin(np.pi/4) * np.sqrt(2)"},
        {"expression": "sum(k**2 for k in range(1, 11))"},
        {"expression": "mean([1, 2, 4])"},
    ],
)
def calculate(expression: str, ctx: ToolContext) -> Any:
    """Compute the value of an expression: a number, or a list of numbers.

    Args:
        expression: Arithmetic with `+ - * / // % **` (`^` is a power), comparisons, lists, loops in lists, and
            functions such as sin, exp, log, sqrt, factorial, sum, mean, std, range, linspace; `np.` and `math.` may
            stand before them.
        ctx: Of the call; it has the time limit.
    """
    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415 - NumPy is an extra
    from callgate.tools.maths.expressions.compiling import compiled, quiet  # noqa: PLC0415
    from callgate.tools.maths.expressions.reading import read  # noqa: PLC0415
    from callgate.tools.maths.expressions.values import to_json  # noqa: PLC0415

    formula = compiled(read(expression, ()))
    with quiet():
        return to_json(formula(Budget(_STEPS, ctx), {}))


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_FIGURES,
    examples=[{"data": [1, 2, 3, 4]}, {"data": [2.5, 3.5], "metrics": ["count", "iqr"]}],
)
def statistics(data: list[_Number], metrics: list[Metric] | None = None) -> dict[str, float]:
    """Describe a list of numbers. `std` and `var` are those of the whole population; quartiles are interpolated.

    Args:
        data: The numbers.
        metrics: Which figures; without it mean, std, min, max, median and count.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.expressions import figures  # noqa: PLC0415

    if not data:
        raise ValueError("data is empty; give at least one number")
    items = figures.prepared(data)
    known: dict[Metric, Callable[[], float]] = {
        "mean": lambda: figures.mean(items),
        "std": lambda: figures.deviation(items),
        "min": lambda: min(data),
        "max": lambda: max(data),
        "median": lambda: figures.quantile(items, 0.5),
        "count": lambda: len(data),
        "sum": lambda: figures.total(items),
        "var": lambda: figures.variance(items),
        "q25": lambda: figures.quantile(items, 0.25),
        "q75": lambda: figures.quantile(items, 0.75),
        "iqr": lambda: figures.middle_range(items),
    }
    with np.errstate(all="ignore"):
        return {name: _figure(name, known[name]) for name in (_USUAL if metrics is None else metrics)}


def _figure(name: str, figure: Callable[[], float]) -> float:
    with contextlib.suppress(OverflowError):
        if math.isfinite(found := figure()):
            return found
    raise ValueError(f"data is too large for {name}; give smaller numbers")
