"""symbolic_solve: known solutions, what is no equation, and a solver that would think for ever. TOOL-11."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

from callgate import Callgate
from callgate.adapters.tether import Tether
from callgate.model.levels import Category
from callgate.tools.maths.equations import solve
from callgate.tools.maths.expressions.reading import read
from callgate.tools.maths.expressions.symbols import symbolic
from callgate.tools.maths.proving import holding
from tests.tools.examples import run_examples
from tests.tools.maths.asking import ask, refusal

sympy: Any = importlib.import_module("sympy")


@pytest.mark.slow
async def test_a_quadratic_equation_has_its_known_solutions() -> None:
    """TOOL-11: x**2 - 5*x + 6 is 0 at 2 and 3."""
    assert (await ask("symbolic_solve", equation="x**2 - 5*x + 6")).unwrap() == ["2", "3"]
    assert "not in the language" in await refusal("symbolic_solve", equation="__import__('os')")


@pytest.mark.parametrize(
    ("equation", "variable", "solutions"),
    [
        ("x**2 - 5*x + 6", "x", ["2", "3"]),
        ("a*t^2 = b", "t", ["-sqrt(b/a)", "sqrt(b/a)"]),
        ("np.sin(x) == 0.5", "x", ["pi/6", "5*pi/6"]),
        ("0.1*x = 1", "x", ["10"]),
        ("exp(x) = 0", "x", []),
        ("sin(x)**2 + cos(x)**2 = 2", "x", []),
        ("1 = 0*x", "x", []),
        ("sqrt(x) = a", "x", ["a**2"]),
        ("exp(exp(exp(exp(exp(x))))) = 5", "x", ["log(log(-log(log(log(5)))) + I*pi)"]),
        ("abs(2 - a)*x = 1", "x", ["1/Abs(a - 2)"]),
    ],
    ids=["quadratic", "symbols", "sine", "decimal", "none", "never", "no-x-left", "root", "tower", "other-name"],
)
def test_an_equation_has_its_known_solutions(equation: str, variable: str, solutions: list[str]) -> None:
    assert solve(equation, variable) == solutions


@pytest.mark.parametrize(
    ("equation", "solutions"),
    [
        ("cbrt(x) = -2", ["-8"]),
        ("cbrt(x^2) = 4", ["-8", "8"]),
        ("cbrt(x) + x = 2", ["1"]),
        ("cbrt(x) = x", ["-1", "0", "1"]),
        ("cbrt(x)^2 + cbrt(x) + 1 = 0", []),
        ("cbrt(x) = sqrt(-1)", []),
        ("x^2 + cbrt(x) = 1", [f"CRootOf(x**6 - 3*x**4 + 3*x**2 + x - 1, {at})" for at in (0, 1)]),
        ("x^3 + cbrt(x) = 1", ["CRootOf(x**9 - 3*x**6 + 3*x**3 + x - 1, 0)"]),
        ("x + cbrt(x + cbrt(x)) = 0", ["0"]),
        ("cbrt(x)/x = 1", ["-1", "1"]),
        ("cbrt(x)/(x - 1) = 1/(x - 1)", []),
        ("x^2 + cbrt(x^2) + 2 = 0", ["I", "-I"]),
        ("a*x = cbrt(-8)", ["-2/a"]),
        ("a*x = cbrt(b)", ["cbrt(b)/a"]),
    ],
)
def test_a_cube_root_is_the_real_one_of_the_language(equation: str, solutions: list[str]) -> None:
    assert solve(equation, "x") == solutions


@pytest.mark.parametrize(
    ("equation", "solutions"),
    [
        ("abs(x) = 3", ["-3", "3"]),
        ("abs(x - 1) = 3", ["-2", "4"]),
        ("abs(x) + 3 = 0", []),
        ("abs(x) = -1e-50", []),
        ("abs(x) = sqrt(-1)", []),
        ("abs(x) = -x^2", ["0"]),
        ("x/abs(x) = 2", []),
        ("x/abs(x) + x = 3", ["2"]),
        ("abs(x^2 + 1) = 2", ["-1", "1"]),
        ("abs(abs(x) - 2) = 1", ["-3", "-1", "1", "3"]),
        ("abs(x) = abs(x - 2)", ["1"]),
        ("exp(abs(x)) = 2", ["-log(2)", "log(2)"]),
        ("exp(abs(x)) = 1/2", []),
        ("abs(x + 2) + cbrt(x) = 4", ["-8", "1"]),
        ("abs(cbrt(x)) = 2", ["-8", "8"]),
        ("abs(x) + cbrt(x^2 - 2) = sqrt(2)", ["-sqrt(2)", "sqrt(2)"]),
        ("abs(x - a) = 3", ["a - 3", "a + 3"]),
        ("abs(x)*a = abs(x)*a + abs(x - 2) - b*b/b + b", ["2"]),
        ("abs(x^5 - x - 1) = 2", ["CRootOf(x**5 - x + 1, 0)", "CRootOf(x**5 - x - 3, 0)"]),
    ],
)
def test_an_equation_with_absolute_values_has_its_real_solutions(equation: str, solutions: list[str]) -> None:
    assert solve(equation, "x") == solutions


def test_all_six_places_of_a_cubic_between_bounds_are_found() -> None:
    found = [complex(sympy.sympify(solution)).real for solution in solve("abs(x^3 - 3*x + 1) = 1/2", "x")]
    x = sympy.Symbol("x")
    roots = [sympy.real_roots(x**3 - 3 * x + sympy.Rational(end, 2)) for end in (1, 3)]
    expected: list[float] = sorted(float(root) for three in roots for root in three)
    assert found == pytest.approx(expected)


def test_more_absolute_values_than_have_few_cases_are_not_solved() -> None:
    with pytest.raises(ValueError, match="closed form"):
        solve(" + ".join(f"abs(x - {at})" for at in range(7)) + " = 50", "x")


@pytest.mark.parametrize(
    ("equation", "variable", "expression"),
    [
        ("cos(x) = x", "x", "(cos(x) - x)**2"),
        ("t + 1 == cos(t)", "t", "((x + 1) - cos(x))**2"),
        ("cos(x)  -  x", "x", "((cos(x) - x))**2"),
    ],
)
async def test_where_there_is_no_formula_it_is_said_what_to_optimize(
    equation: str, variable: str, expression: str
) -> None:
    with pytest.raises(ValueError, match="closed form") as trouble:
        solve(equation, variable)
    assert f"the expression {expression} has its lowest value" in str(trouble.value)
    best = (await ask("optimize", x0=[0.5], objective={"expression": expression})).unwrap()
    assert best["f"] == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("equation", ["cos(x) = a*x", "cos(x) = x" + " + 1" * 40])
def test_of_a_long_equation_or_one_with_other_names_it_is_said_in_words(equation: str) -> None:
    with pytest.raises(ValueError, match="square of the difference of its sides"):
        solve(equation, "x")


@pytest.mark.parametrize(
    "equation",
    ["(x+1)**2 = x**2+2*x+1", "sin(x)**2+cos(x)**2 = 1", "2*sin(x)*cos(x) = sin(2*x)", "gamma(x+1) = x*gamma(x)"],
)
def test_what_always_holds_is_told_as_that_and_not_as_without_solutions(equation: str) -> None:
    with pytest.raises(ValueError, match="holds for every x"):
        solve(equation, "x")


@pytest.mark.parametrize(
    "equation",
    ["sqrt(x**2) = x", "abs(x - 5) + abs(x - 6) = 1", "sqrt((x - 99)^2) = x - 99", "sqrt(a**2)*x = a*x", "sign(x) = 1"],
)
def test_what_holds_in_a_whole_range_says_that_its_solutions_cannot_be_listed(equation: str) -> None:
    with pytest.raises(ValueError, match="whole range"):
        solve(equation, "x")


@pytest.mark.parametrize(
    ("equation", "said"),
    [
        ("(abs(a)+a)*x = 0", "for some values of x, a and beside, but not everywhere; .* listed; give a values"),
        ("sqrt(x^2) = x", "for x = [0-9/]+ and beside, but not everywhere; such solutions cannot be listed$"),
    ],
)
def test_a_range_that_may_be_one_of_other_names_is_not_told_as_one_of_the_variable(equation: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        solve(equation, "x")


def test_what_is_proven_wrong_by_putting_it_in_is_no_solution() -> None:
    x = sympy.Symbol("x")
    assert holding(sympy.sqrt(x) + x - 2, [sympy.Integer(4), sympy.Integer(1)], of=x) == [1]
    assert holding(1 / x, [], of=x) == []
    with pytest.raises(ValueError, match="put in"):
        holding(sympy.sin(x) / x, [sympy.Integer(0)], of=x)


@pytest.mark.parametrize(
    ("equation", "variable", "said"),
    [
        ("x = 1 = 2", "x", "more than one ="),
        ("x < 1", "x", "no other comparison"),
        ("x == 1 == 2", "x", "no other comparison"),
        ("y + 1", "x", "does not have the variable x"),
        ("x", "x.__class__", "plain name"),
        ("x + pi", "pi", "plain name"),
        ("x = x", "x", "every x"),
        ("a = b + 0*x", "x", "does not depend on x"),
        ("x = 1e999", "x", "too large"),
        ("cos(x) = x", "x", "closed form"),
        ("cbrt(x) + sin(x) = 1", "x", "closed form"),
        ("abs(x) = cos(x)", "x", "closed form"),
        ("x^3 + cbrt(x) = a", "x", "closed form"),
        ("cbrt(8*x)^2 + 2*cbrt(8*x)*cbrt(x) + 4*cbrt(x)^2 = 0", "x", "closed form"),
        ("log(0) + x", "x", "without a value"),
        ("x**300 = a + b", "x", "too long"),
        ("__import__('os')", "x", "not in the language"),
    ],
)
def test_what_cannot_be_solved_says_why(equation: str, variable: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        solve(equation, variable)


@pytest.mark.slow
async def test_a_solver_that_thinks_for_ever_is_killed_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy runs in a process of its own, and that is gone when the call has ended."""
    started: list[int] = []
    tie = Tether.tie

    def tie_and_note(self: Tether, pid: int) -> None:
        started.append(pid)
        tie(self, pid)

    monkeypatch.setattr(Tether, "tie", tie_and_note)
    async with Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        outcome = await gate.call("symbolic_solve", {"equation": "((x+a)**50 + (x+b)**50)**20 = c"}, timeout=4)
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT
    (solver,) = started
    with pytest.raises(ProcessLookupError):
        os.kill(solver, 0)


@pytest.mark.slow
async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        await run_examples(gate, "symbolic_solve")


def built(text: str) -> Any:
    return symbolic(read(text, None, argument="equation"), argument="equation")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-x + +y", "-x + y"),
        ("x - 2/3", "x - 2/3"),
        ("e + pi + tau", "E + 3*pi"),
        ("log2(8) + log10(100) + log(e)", "6"),
        ("pow(x, 2) * sqrt(4)", "2*x**2"),
        ("abs(x) + atan2(0, 1)", "Abs(x)"),
        ("factorial(5) + True", "121"),
    ],
)
def test_sympy_gets_what_was_written(text: str, written: str) -> None:
    assert str(built(text)) == written


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x / 0", "divides by zero"),
        ("10**(10**9)", "exponent"),
        ("10**10**10", "exponent"),
        ("x**1001", "exponent"),
        ("x**(log(0) - log(0))", "exponent"),
        ("factorial(10**6)", "factorial over"),
        ("x // 2", "//"),
        ("mean([x])", "cannot be solved"),
        ("[x]", "cannot be solved"),
        ("not x", "cannot be solved"),
        ("1 if x else 2", "cannot be solved"),
        ("round(x)", "round"),
    ],
)
def test_what_has_no_symbolic_meaning_or_is_too_large_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        built(text)


@pytest.mark.parametrize(
    ("equation", "solutions"),
    [
        ("x^2*sign(x) = -4", {"-2"}),
        ("x + sign(x) = 0", {"0"}),
        ("x*sign(x) = 2", {"-2", "2"}),
        ("x - sign(x) = 0", {"-1", "0", "1"}),
        ("sign(x) = 2", set[str]()),
        ("sign(x) = 0", {"0"}),
        ("sign(x - 2) = 0", {"2"}),
        ("sign(x^2 - 4) = 0", {"-2", "2"}),
        ("sign(x - 1) + sign(x + 1) = x", {"-2", "-1", "0", "1", "2"}),
    ],
)
def test_signs_are_solved_by_cases(equation: str, solutions: set[str]) -> None:
    assert set(solve(equation, "x")) == solutions


@pytest.mark.parametrize(
    ("equation", "solutions"),
    [
        ("abs(x)*sign(x) = 3", {"3"}),
        ("abs(x) + sign(x) = 3", {"2", "-4"}),
        ("abs(x) = sign(x)", {"0", "1"}),
        ("abs(x + sign(x)) = 3", {"-2", "2"}),
        ("sign(abs(x) - 2) = 0", {"-2", "2"}),
        ("abs(x)*sign(x) = a", {"a", "-a"}),
        ("abs(x)*sign(x - 1) = x + 3", set[str]()),
        ("abs(x)*sign(x) = x + 1 + x^2", set[str]()),
    ],
)
def test_absolute_values_beside_signs_are_solved_by_cases_of_both(equation: str, solutions: set[str]) -> None:
    assert set(solve(equation, "x")) == solutions


@pytest.mark.parametrize(
    ("equation", "solutions"),
    [
        ("x*sign(x) = a", {"a", "-a"}),
        ("sign(x - 1)*x = a", {"a", "-a"}),
        ("a*x*sign(x) = 0", {"0"}),
        ("x*sign(x - a) = 0", {"0", "a"}),
        ("sign(x)*a = a*x", {"-1", "0", "1"}),
    ],
)
def test_where_a_sign_is_0_only_what_holds_for_every_other_name_is_a_solution(
    equation: str, solutions: set[str]
) -> None:
    assert set(solve(equation, "x")) == solutions


@pytest.mark.parametrize(
    "equation",
    [
        "log(x)^x = 8",
        "(log2(x))^x = (log2(3))^3",
        "sqrt(x) = -a",
        "abs(x) + 2 = 2^x",
        "abs(x+2) + 3 = 3*exp(x)",
        "x*sign(x) + 2 = 2^x",
        "sign(x) = a",
        "a*sign(x) = b",
    ],
)
def test_that_none_was_found_is_not_told_as_that_there_is_none(equation: str) -> None:
    with pytest.raises(ValueError, match="finds no solution of the equation, and not that there is none; try optimize"):
        solve(equation, "x")


def test_three_signs_have_few_cases_and_four_are_not_solved() -> None:
    assert solve("sign(x - 1) + sign(x - 2) + sign(x - 3) = 3*x - 6", "x") == ["5/3", "2", "7/3"]
    with pytest.raises(ValueError, match="closed form"):
        solve(" + ".join(f"sign(x - {at})" for at in range(4)) + " = x", "x")


def test_two_hundred_solutions_are_written_down_and_no_more() -> None:
    # In brackets: a long row is too deep.
    factors = ["*".join(f"(x - {at})" for at in range(begin, begin + 20)) for begin in range(0, 200, 20)]
    product = "*".join(f"({twenty})" for twenty in factors)
    assert len(solve(product, "x")) == 200
    with pytest.raises(ValueError, match="too long to write down"):
        solve(f"{product}*(x - 200)", "x")


def test_a_number_that_is_too_small_is_not_taken_for_0() -> None:
    for small in ("1e-400", "0.00_1e-400"):
        with pytest.raises(ValueError, match="too small for a float"):
            solve(f"{small}*x = 1", "x")
    assert solve("0e5 + 0.0 + x = 1", "x") == ["1"]


def test_eulers_number_and_the_imaginary_unit_are_told_apart_from_names() -> None:
    assert solve("x = E", "x") != solve("x = e", "x")
    assert solve("U = I*x", "x") == ["U/I"]
    with pytest.raises(ValueError, match="rename it"):
        solve("x^2 = -I^2", "x")
