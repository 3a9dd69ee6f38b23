"""A formula as a function of a point: `x0, x1, …`, and `x` for the number itself or the list of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from callgate.model.tool_context import ToolContext
from callgate.tools.maths.expressions.budget import Budget
from callgate.tools.maths.expressions.compiling import compiled
from callgate.tools.maths.expressions.reading import read
from callgate.tools.maths.expressions.values import Value

_STEPS = 20_000_000
_PER_POINT = 200
"""What is done around one evaluation, in steps: an algorithm that goes on for ever ends, too."""

Function = Callable[[Sequence[float]], float]


def function_of_points(text: str, dimensions: int, *, argument: str, ctx: ToolContext) -> Function:
    """The formula, to be called inside `quiet()`; not a number where it is undefined.

    Raises:
        ValueError: It is not in the language.
    """
    names = [f"x{at}" for at in range(dimensions)]
    formula = compiled(read(text, [*names, "x"], argument=argument))
    budget = Budget(_STEPS, ctx)

    def at(point: Sequence[float]) -> float:
        budget.spend(_PER_POINT)
        numbers = [float(number) for number in point]
        values: dict[str, Value] = dict(zip(names, numbers, strict=True))
        values["x"] = numbers[0] if dimensions == 1 else numbers
        return formula.number(budget, values)

    return at
