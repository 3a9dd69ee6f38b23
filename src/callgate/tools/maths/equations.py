"""symbolic_solve: equations in one variable by SymPy, in a process of its own, because SymPy may think for ever."""

from __future__ import annotations

import functools
import importlib
import json
import math
import re
import time
from collections.abc import Callable
from typing import Any

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.apart import NotRead, work_apart
from callgate.tools.maths.absolute_values import Solver, solved_by_cases, solved_by_signs
from callgate.tools.maths.elimination import is_eliminable, solved_by_elimination
from callgate.tools.maths.expressions import tree
from callgate.tools.maths.expressions.reading import is_variable, read
from callgate.tools.maths.expressions.symbols import symbolic
from callgate.tools.maths.expressions.writing import written
from callgate.tools.maths.proving import SolutionsUnknown, check_solvable, every_real, has_none, holding

_Solve = Callable[[Any], list[Any]]

_MOST_SECONDS = 600
_MOST_SOLUTIONS = 200
_LONGEST_SOLUTION = 20_000
_LONGEST_HINT = 100
_SINGLE_EQUALS = re.compile(r"(?<![<>=!])=(?!=)")


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema={"type": "array", "items": {"type": "string"}},
    examples=[{"equation": "x**2 - 5*x + 6"}, {"equation": "a*t^2 = b", "variable": "t"}],
)
async def symbolic_solve(equation: str, variable: str = "x", *, ctx: ToolContext) -> list[str]:
    """Solve an equation for one variable, exactly, and give every solution that is found; other names are symbols.

    What always holds, or in a whole range of numbers, is an error. Of an equation that repeats itself, as sin(x) = 1/2,
    or has its unknown in exponents or logarithms and outside of them, as 2^x = 2*x, some solutions come and not all of
    them. Where SymPy solves an equation with absolute values or signs only over the real numbers, its real solutions
    come: abs(x) = 3 has -3 and 3.

    Args:
        equation: `x**2 - 5*x + 6` (taken to be 0), or with both sides: `a*x^2 = b`.
        variable: The name to solve for.
        ctx: The call.
    """
    left = ctx.remaining(time.monotonic())
    seconds = _MOST_SECONDS if left is None else max(1, math.ceil(min(left, _MOST_SECONDS)))
    try:
        return await work_apart(solve_written, json.dumps([equation, variable]), seconds=seconds)
    except NotRead as error:
        raise ValueError(error.why or "equation takes too much to be solved; make it simpler") from None


def solve_written(question: str) -> list[str]:
    """`solve` of an equation and a variable, written as a JSON list."""
    return solve(*json.loads(question))


def solve(equation: str, variable: str) -> list[str]:
    """The solutions, in this process and for as long as it takes.

    Raises:
        ValueError: It is no equation, or has no solutions that can be written down.
    """
    if not is_variable(variable):
        raise ValueError("variable must be a plain name that is no function or constant, as in x")
    if len(_SINGLE_EQUALS.findall(equation)) > 1:
        raise ValueError("equation has more than one =; write one equation")
    sides = _sides(read(_SINGLE_EQUALS.sub("==", equation), None, argument="equation"), variable)
    try:
        return _solved(sides, variable, instead=_instead(equation, variable, others=sides[0].names - {variable}))
    except (MemoryError, RecursionError):  # pragma: no cover - only what takes gigabytes or ages gets here
        raise ValueError("equation takes too much to be solved; make it simpler") from None


def _sides(expression: tree.Tree, variable: str) -> tuple[tree.Tree, tree.Tree | None]:
    if variable not in expression.names:
        raise ValueError(f"equation does not have the variable {variable}; name another with `variable`")
    root = expression.root
    if not isinstance(root, tree.Compare):
        return expression, None
    if [operator for operator, _ in root.rest] != ["=="]:
        raise ValueError("equation must be one equation, with = and no other comparison")
    return _whole(root.first, expression), _whole(root.rest[0][1], expression)


def _whole(root: tree.Node, of: tree.Tree) -> tree.Tree:
    return tree.Tree(root, of.size, of.names)


def _instead(equation: str, variable: str, *, others: frozenset[str]) -> str:
    """How a number is found where no formula is: optimize squares, which are 0 where the sides are equal."""
    if others or len(equation) > _LONGEST_HINT:
        return "try optimize of the square of the difference of its sides, with numbers for other names"
    written = " - ".join(_in_brackets(" ".join(side.split())) for side in re.split("==?", equation))
    squared = re.sub(rf"\b{variable}\b", "x", f"({written})**2")
    return f"try optimize, which finds a real one where the expression {squared} has its lowest value, and that is 0"


def _in_brackets(side: str) -> str:
    return side if re.fullmatch(r"[\w.]+|\w+\([^()]*\)", side) else f"({side})"


def _solved(sides: tuple[tree.Tree, tree.Tree | None], variable: str, *, instead: str) -> list[str]:
    sympy: Any = importlib.import_module("sympy")
    left, right = sides
    whole = symbolic(left, argument="equation")
    if right is not None:
        whole -= symbolic(right, argument="equation")

    if whole == 0:
        raise ValueError(f"equation holds for every {variable}; there is nothing to solve")
    if whole.has(sympy.nan, sympy.zoo, sympy.oo):
        raise ValueError("equation has a part without a value: a division by zero, or the logarithm of 0")
    unknown = sympy.Symbol(variable)
    if whole.free_symbols and not whole.has(unknown):
        raise ValueError(f"equation does not depend on {variable}: it falls out, and {whole} = 0 is left")
    check_solvable(whole, unknown)
    try:
        found = _found(whole, unknown, instead=instead)
    except (MemoryError, SolutionsUnknown):
        raise
    except Exception as error:  # noqa: BLE001 - SymPy has many ways to say that it cannot
        message = f"equation has no solution in closed form that SymPy finds ({type(error).__name__}); {instead}"
        raise ValueError(message) from None
    return _written(found)


def _found(whole: Any, unknown: Any, *, instead: str) -> list[Any]:
    @functools.cache
    def held(equation: Any) -> list[Any]:
        # A case in which the unknown falls out holds everywhere, which was looked for before, or nowhere.
        found = _found_as_written(equation, unknown, instead=instead) if equation.has(unknown) else []
        # Each of those was put in.
        is_held = is_eliminable(equation, unknown)
        return found if is_held else holding(equation, found, of=unknown, instead=instead)

    def every(equation: Any) -> list[Any]:
        found = held(equation)
        every = found if _are_all(found, of=equation, unknown=unknown) else every_real(equation, unknown)
        if every is None:
            raise _unknown_solutions(instead)
        return every

    found = _or_by_cases(held, unknown, solver=Solver(held, every))
    if not whole.has(importlib.import_module("sympy").sign):
        return found(whole)
    # Where all solutions of a case are to be known, they are of each of its own cases.
    all_found = _or_by_cases(every, unknown, solver=Solver(every, every))
    return solved_by_signs(whole, unknown, solver=Solver(found, all_found))


def _or_by_cases(solve: _Solve, unknown: Any, *, solver: Solver) -> _Solve:
    """What solves an equation, and where it cannot, one with absolute values in cases."""

    def solved(equation: Any) -> list[Any]:
        try:
            return solve(equation)
        except NotImplementedError:
            return solved_by_cases(equation, unknown, solver=solver)

    return solved


def _found_as_written(whole: Any, unknown: Any, *, instead: str) -> list[Any]:
    sympy: Any = importlib.import_module("sympy")
    if is_eliminable(whole, unknown):
        return solved_by_elimination(whole, unknown)
    try:
        found = list(sympy.solve(whole, unknown))
    except NotImplementedError:
        found = solved_by_elimination(whole, unknown)
    if not found and not has_none(whole, unknown):
        raise _unknown_solutions(instead)
    return found


def _are_all(found: list[Any], *, of: Any, unknown: Any) -> bool:
    """Whether it is known that there are no others. None are told only where it is; but where the unknown falls out."""
    return (not found and of.has(unknown)) or is_eliminable(of, unknown)


def _unknown_solutions(instead: str) -> SolutionsUnknown:
    return SolutionsUnknown(f"SymPy finds no solution of the equation, and not that there is none; {instead}")


def _written(found: list[Any]) -> list[str]:
    texts = [written(solution) for solution in found]
    if len(texts) > _MOST_SOLUTIONS or sum(map(len, texts)) > _LONGEST_SOLUTION:
        raise ValueError("equation has solutions too long to write down; make it simpler")
    return texts
