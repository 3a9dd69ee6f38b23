"""calculate and statistics: the value of an expression, and figures that describe a list of numbers."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

Metric = Literal["mean", "std", "min", "max", "median", "count", "sum", "var", "q25", "q75", "iqr"]

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
    with np.errstate(all="ignore"):
        described = {
            "mean": figures.mean(items),
            "std": figures.deviation(items),
            "min": min(data),
            "max": max(data),
            "median": figures.quantile(items, 0.5),
            "count": len(data),
            "sum": figures.total(items),
            "var": figures.variance(items),
            "q25": figures.quantile(items, 0.25),
            "q75": figures.quantile(items, 0.75),
            "iqr": figures.middle_range(items),
        }
    wanted = ["mean", "std", "min", "max", "median", "count"] if metrics is None else metrics
    unknown = [name for name in wanted if not math.isfinite(described[name])]
    if unknown:
        raise ValueError(f"data is too large for {unknown[0]}; give smaller numbers")
    return {name: described[name] for name in wanted}
