"""calculate and statistics: the value of an expression, and figures that describe a list of numbers."""

from __future__ import annotations

from typing import Any, Literal

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

Metric = Literal["mean", "std", "min", "max", "median", "count", "sum", "var", "q25", "q75", "iqr"]

_STEPS = 1_000_000
_MOST_NUMBERS = 1_000_000
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
def statistics(data: list[float], metrics: list[Metric] | None = None) -> dict[str, float]:
    """Describe a list of numbers. `std` and `var` are those of the whole population; quartiles are interpolated.

    Args:
        data: The numbers.
        metrics: Which figures; without it mean, std, min, max, median and count.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    if not data:
        raise ValueError("data is empty; give at least one number")
    if len(data) > _MOST_NUMBERS:
        raise ValueError(f"data has over {_MOST_NUMBERS} numbers; give fewer")
    numbers = np.asarray(data, dtype=np.float64)
    with np.errstate(all="ignore"):
        low, middle, high = (float(figure) for figure in np.percentile(numbers, [25, 50, 75]))
        figures = {
            "mean": float(numbers.mean()),
            "std": float(numbers.std()),
            "min": float(numbers.min()),
            "max": float(numbers.max()),
            "median": middle,
            "count": len(data),
            "sum": float(numbers.sum()),
            "var": float(numbers.var()),
            "q25": low,
            "q75": high,
            "iqr": high - low,
        }
    wanted = ["mean", "std", "min", "max", "median", "count"] if metrics is None else metrics
    unknown = [name for name in wanted if not np.isfinite(figures[name])]
    if unknown:
        raise ValueError(f"data is too large for {unknown[0]}; give smaller numbers")
    return {name: figures[name] for name in wanted}
