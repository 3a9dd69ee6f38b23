"""A formula as a function of a point: `x0, x1, …`, and `x` for the number itself or the list of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from callgate.model.tool_context import ToolContext
from callgate.tools.maths.expressions.budget import Budget
from callgate.tools.maths.expressions.compiling import compiled
from callgate.tools.maths.expressions.operators import ListMet
from callgate.tools.maths.expressions.reading import read
from callgate.tools.maths.expressions.values import Value

_STEPS = 20_000_000
_PER_POINT = 200
"""What is done around one evaluation, in steps: an algorithm that goes on for ever ends, too."""
_NAMES_X = re.compile(r"\bx\b")
_FEW = 3
"""Variables that are all named in a message."""

Function = Callable[[Sequence[float]], float]


def function_of_points(
    text: str, dimensions: int, *, argument: str, ctx: ToolContext, evaluations: int = 0
) -> Function:
    """The formula, to be called inside `quiet()`; not a number where it is undefined.

    Where it is known how many `evaluations` there are, only the work of the formula itself is limited.

    Raises:
        ValueError: It is not in the language.
    """
    names = [f"x{at}" for at in range(dimensions)]
    formula = compiled(read(text, [*names, "x"], argument=argument))
    budget = Budget(_STEPS + _PER_POINT * evaluations, ctx)

    def at(point: Sequence[float]) -> float:
        budget.spend(_PER_POINT)
        numbers = [float(number) for number in point]
        values: dict[str, Value] = dict(zip(names, numbers, strict=True))
        values["x"] = numbers[0] if dimensions == 1 else numbers
        try:
            return formula.number(budget, values)
        except ListMet as error:
            if dimensions == 1 or not _NAMES_X.search(text):
                raise
            variables = f"{names[0]}, …, {names[-1]}" if dimensions > _FEW else ", ".join(names)
            message = f"{argument}: with {dimensions} variables they are {variables}; x is the list of all of them"
            raise ValueError(message) from error

    return at
