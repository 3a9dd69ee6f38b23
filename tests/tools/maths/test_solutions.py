"""symbolic_solve: its solutions held against numbers: each is one, and none that a search finds is missing."""

from __future__ import annotations

import importlib
import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from callgate.tools.maths.equations import solve
from callgate.tools.maths.expressions.reading import read
from callgate.tools.maths.expressions.symbols import symbolic

sympy: Any = importlib.import_module("sympy")
searching: Any = importlib.import_module("scipy.optimize")

PARTS = (
    "x",
    "x^2",
    "x^3",
    "abs(x)",
    "abs(x + 2)",
    "abs(x^2 - 3)",
    "abs(abs(x) - 2)",
    "x*abs(abs(x) - 1)",
    "cbrt(x)",
    "cbrt(x - 1)",
    "cbrt(x^2 - 2)",
    "cbrt(abs(x) - 1)",
    "sign(x - 1)",
    "x*sign(x + 2)",
)
NOT_LISTED = re.compile("not have the variable|not depend on|holds (for every|in a whole)|not that there is none")
"""What is said of an equation without x, of one that always holds or in a range, and of one that may have none."""
NEAR, TINY, NO_JUMP = 1e-7, 1e-12, 0.1
GRID = np.arange(-12.0137, 12, 0.0731)


def left_side(equation: str) -> Callable[[Any], Any]:
    """By NumPy."""
    whole = symbolic(read(equation, ["x"]), argument="equation")
    return sympy.lambdify(sympy.Symbol("x"), whole, [{"cbrt": np.cbrt}, "numpy"])


def zeros(left: Callable[[Any], Any]) -> list[float]:
    """Where it changes its sign, and does not jump."""
    pairs = [(low, high) for low, high in itertools.pairwise(GRID) if left(low) * left(high) < 0]
    found = [searching.brentq(left, low, high, xtol=1e-13) for low, high in pairs]
    return [at for at in found if max(abs(left(at - NEAR)), abs(left(at + NEAR))) < NO_JUMP]


def is_zero(left: Callable[[Any], Any], at: float) -> bool:
    """Also where rounding makes more of it, as of a cube root: its sign changes close by, and it does not jump."""
    low, high = left(at - TINY), left(at + TINY)
    return abs(left(at)) <= NEAR or (low * high < 0 and max(abs(low), abs(high)) < NO_JUMP)


def real(solutions: list[str]) -> list[float]:
    numbers = [complex(sympy.sympify(solution).evalf(30)) for solution in solutions]
    return [number.real for number in numbers if abs(number.imag) < NEAR]


@pytest.mark.slow
# What fails is told as it was found: to make it small takes minutes.
@settings(derandomize=True, max_examples=100, phases=[Phase.generate], deadline=None, database=None)
@given(
    parts=st.lists(st.tuples(st.integers(-3, 3), st.sampled_from(PARTS)), min_size=2, max_size=3),
    constant=st.integers(-4, 4),
)
def test_solutions_are_those_of_a_numerical_search(parts: list[tuple[int, str]], constant: int) -> None:
    equation = " + ".join([f"{factor}*{part}" for factor, part in parts] + [str(constant)])
    try:
        told = real(solve(equation, "x"))
    except ValueError as error:
        if not NOT_LISTED.search(str(error)):
            raise
        assume(False)
        return
    left = left_side(equation)
    assert [solution for solution in told if not is_zero(left, solution)] == []
    assert [zero for zero in zeros(left) if not any(abs(zero - solution) < NEAR for solution in told)] == []
    assert len({round(solution, 9) for solution in told}) == len(told)


@pytest.mark.parametrize(
    ("equation", "solutions"),
    [
        ("x*abs(abs(x)-2) + abs(x+2) = -1", [-(3 + 5**0.5) / 2]),
        ("x*abs(abs(x)-1) + abs(x+1) = -1/2", [-1 - 0.5**0.5]),
        ("-2*x*abs(abs(x)-2) - abs(x) + 3*abs(x+2) - 4", [-(1 + 21**0.5) / 2, -1, (3 + 13**0.5) / 2]),
    ],
)
def test_absolute_values_in_each_other_are_solved_for_what_they_are(equation: str, solutions: list[float]) -> None:
    """SymPy turns Abs(-x - 2) into Abs(x + 2), which may be there as well."""
    assert real(solve(equation, "x")) == pytest.approx(solutions)


@pytest.mark.parametrize(
    ("equation", "solutions"),
    [
        ("cbrt(1/x) - sign(x) = x + 2", [-1.8191725134, 0.0357441123]),
        ("1/2*cbrt(1/x) - 3*sign(x+1)^2 = x", [-3.3346716900, 0.0046083600]),
        ("-x - 3 + sign(x+1) = 2*cbrt(x^2-2)", [-17.3999077906, -1, 0.4369589067]),
    ],
)
def test_signs_beside_cube_roots_lose_no_solution(equation: str, solutions: list[float]) -> None:
    """SymPy takes the cube root of a negative number that is written in nested roots for a complex one."""
    assert real(solve(equation, "x")) == pytest.approx(solutions, abs=1e-9)
