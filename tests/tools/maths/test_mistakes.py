"""What is said of an expression that means something else than it would be read as, or cannot be read. TOOL-08."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.tools.maths.asking import ask, refusal

MEANT_OTHERWISE: list[tuple[str, list[str]]] = [
    ("12,500 * 2", ["comma outside of brackets, at ',500 * 2'", "write 12500, or [12, 500] for a list"]),
    ("1,000 + 1", ["comma outside of brackets", "at ',000 + 1'; write 1000"]),
    ("2 * 1,234,567.5", ["write 1234567.5"]),
    ("3,5 + 1", ["comma outside of brackets, at ',5 + 1'", "write 3.5, or [3,5 + 1] for a list"]),
    ("sqrt(2), sqrt(3)", ["write [sqrt(2), sqrt(3)] for a list"]),
    ("1, 2", ["write [1, 2] for a list"]),
    ("1 + 2 + 3 + 4 + 5 + 6 + 7, 8", ["at ', 8'", "write [1, 2] for a list"]),
    ("1.234,56", ["comma outside of brackets, at ',56'; write 1234.56, or [1.234,56] for a list"]),
    ("2 - 1.234,5", ["write 1234.5, or [2 - 1.234,5] for a list"]),
    ("1.234.567,89 / 3", ["has a number in groups, at '1.234.567,89 / 3'; write 1234567.89"]),
    ("max(1.234.567,89)", ["at '1.234.567,89)'; write 1234567"]),
    ("2 * 1 000", ["has a number in groups, at '1 000'; write 1000"]),
    ("1\u00a0000 000.5", ["write 1000000.5"]),
    ("12 500 * 2", ["at '12 500 * 2'; write 12500, or 12*500 for a product"]),
    ("12 500,50", ["write 12500.50"]),
    ("[12 500,50]", ["write 12500, or 12*500 for a product"]),
    ("1 000, 2 000", ["at '1 000, 2 000'; write 1000"]),
    ("sum([1,000, 2])", ["zeros in front of a number, at '000, 2])'", "write 0 (or, for one number, 1000)"]),
    ("max(1,050.5, 3)", ["write 50.5 (or, for one number, 1050.5)"]),
    ("007 + 1", ["zeros in front of a number, at '007 + 1'; write 7"]),
    ("00", ["write 0"]),
    ("10% + 5", ["at '10% + 5'", "write 0.10 for 10 percent, or 10 % (+5) for the remainder"]),
    ("200 - 12.5%-(3)", ["write 0.125 for 12.5 percent", "12.5 % (-…) for the remainder"]),
]


@pytest.mark.parametrize(("expression", "said"), MEANT_OTHERWISE, ids=[text for text, _ in MEANT_OTHERWISE])
async def test_what_would_be_computed_otherwise_than_meant_is_refused(expression: str, said: list[str]) -> None:
    told = await refusal("calculate", expression=expression)
    assert [part for part in said if part not in told] == [], told


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(1, 2)", [1, 2]),
        ("[12, 500]", [12, 500]),
        ("max(12,500)", 500),
        ("1e-05 + 1E007", 1e7 + 1e-5),
        ("0x00ff + 1_000 + 0.05 + .0", 1255.05),
        ("10 % -3 + 7 % 4 - 10%(+7)", -2),
        ("1.05 + 10.05", 11.1),
        ("max(1.234,56)", 56),
    ],
)
async def test_what_is_written_so_that_it_means_one_thing_is_computed(expression: str, value: Any) -> None:
    assert (await ask("calculate", expression=expression)).unwrap() == pytest.approx(value)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("monte_carlo", {"expression": "x + 1,5"}),
        ("symbolic_solve", {"equation": "x = 1,5"}),
        ("solve_ode", {"y0": [1, 0], "t_span": [0, 1], "system": "y1, -y0"}),
        ("optimize", {"x0": [1], "objective": {"expression": "x0**2 + 1,000"}}),
        ("mcmc", {"x0": [1], "log_density": "-x0**2 / 1,5"}),
        ("bayesopt", {"bounds": [[0, 1]], "objective": "-x0**2 + 1,5"}),
    ],
)
async def test_a_comma_without_brackets_is_refused_in_every_formula(tool: str, arguments: dict[str, Any]) -> None:
    assert "has a comma outside of brackets" in await refusal(tool, **arguments)


UNREADABLE: list[tuple[str, str]] = [
    ("5!", "has a !, at '5!', which is not in the language; write factorial(5)"),
    ("(2 + 1)! + 1", "has a !, at '! + 1', which is not in the language; write factorial(…)"),
    ("100 + 10%", "has a percentage, at '10%'; write 0.10 for 10%"),
    ("(5% * 3)", "has a percentage, at '5% * 3)'; write 0.05 for 5%"),
    ("20% of 50", "has a percentage, at '20% of 50'; write 0.20 for 20% and * for \"of\""),
    ("(2)%", "ends after %, where a number or a name has to follow"),
    ("2 +* 3", "has nothing between + and *, at '+* 3'; write a number or a name there"),
    ("2 * (3 + )", "has nothing between + and ), at '+ )'"),
    ("sum(, 1)", "has nothing between ( and ,, at '(, 1)'"),
    ("1 not in ()[::] * sum(*) +", "has nothing between * and ), at '*) +'"),
    ("* 3", "begins with *; write a number or a name before it"),
    ("import os", "uses import, which is not in the language"),
    ("sum(1) +", "ends after +"),
    ("1 and not", "ends after not"),
    ("3 + 4i", "write 4*i for a product, where i is a variable: there are no imaginary numbers"),
    ("2x + 1", "has no operator between '2' and 'x + 1'; write 2*x for a product"),
    ("2 sin(1)", "write 2*sin for a product"),
    ("7 mod 3", "has no operator between '7' and 'mod 3'; write mod(7, 3) or 7 % 3"),
    ("7*mod 3", "write mod(3, …)"),
    ("(2 + 5) mod 3", "write mod(…, 3)"),
    ("5 comb (1 + 1)", "write comb(5, …)"),
    ("5 mod", "write mod(5, …)"),
    ("5 x 3", "has no operator between '5' and 'x 3'; write 5*3 for a product"),
    ("sqrt 2", "has no operator between 'sqrt' and '2'; write sqrt(2)"),
    ("5 plus 3", "has no operator between '5' and 'plus 3'; write one there, * for a product"),
    ("(1 + 2) 3", "has no operator between ')' and '3'"),
    ("2(3 +", "has no operator between '2' and '(3 +'"),
    ("a = 1", "has =, at '= 1'; write == to compare"),
    ("3 => 2", "write >= to compare"),
    ("sum(x=) + 1", "has nothing between = and )"),
    ("1 + sin(2", "has a ( that is never closed, at '(2'"),
    ("1) + 2", "has a ) that nothing opens, at ') + 2'"),
    ("[1, (2]", "closes ( with ], at '(2]'"),
    ("1 if 2", "in '1 if 2'; write it as in 2*3 + sin(pi/4)"),
    ("1 & 2", "has '&' in column 3"),
    ("", "is empty; write it as in 2*3 + sin(pi/4)"),
]


@pytest.mark.parametrize(("expression", "said"), UNREADABLE, ids=[text or "empty" for text, _ in UNREADABLE])
async def test_what_cannot_be_read_says_where_and_what_to_write(expression: str, said: str) -> None:
    assert said in await refusal("calculate", expression=expression)


FOREIGN: list[tuple[str, str]] = [
    ("3 \u00d7 4", "has '\u00d7' in column 3, which is not in the language; write *"),
    ("6 \u00f7 2", "has '\u00f7' in column 3, which is not in the language; write /"),
    ("5 \u2212 3", "has '\u2212' in column 3, which is not in the language; write -"),
    ("5 \u2013 3", "write -"),
    ("2*\u03c0", "has '\u03c0' in column 3, which is not in the language; write pi"),
    ("\u221a2", "has '\u221a' in column 1, which is not in the language; write sqrt(2)"),
    ("\u221a 2.5 + 1", "write sqrt(2.5)"),
    ("\u221a(2 + 3)", "write sqrt(…)"),
    ("sin(30\u00b0)", "has '\u00b0' in column 7, which is not in the language; write radians(30)"),
    ("\u00b0", "write radians(…)"),
    ("2.5 \u00b0", "write radians(2.5)"),
    ("x*angle\u00b0", "write radians(angle)"),
    ("3\u00b2 + 1", "has '\u00b2' in column 2, which is not in the language; write ^2"),
    ("2\u00bd * 3", "has '\u00bd' in column 2, which is not in the language; write (2+1/2)"),
    ("\u00bd * 3", "write (1/2)"),
    ("2\u00b9\u2070", "write ^10"),
    ("2\u207b\u00b9", "write ^(-1)"),
    ("1 \u2264 2", "write <="),
    ("\u00bd + 1", "write (1/2)"),
    ("\uff12 + 1", "has '\uff12' in column 1, which is not in the language; write 2"),
    ("si\u200bn(1)", "has '<U+200B>' in column 3, which is not in the language; write it as in 2*3 + sin(pi/4)"),
    ("\u202e1", "has '<U+202E>' in column 1"),
    ("\u4e00 + 1", "has '\u4e00' in column 1, which is not in the language; write it as in"),
]


@pytest.mark.parametrize(("expression", "said"), FOREIGN, ids=[ascii(text) for text, _ in FOREIGN])
async def test_a_sign_of_mathematics_is_shown_and_said_how_it_is_written_here(expression: str, said: str) -> None:
    assert said in await refusal("calculate", expression=expression)


async def test_of_an_equation_with_a_power_above_the_line_it_is_said_how_that_is_written() -> None:
    assert "has '\u00b2' in column 2, which is not in the language; write ^2" in await refusal(
        "symbolic_solve", equation="x\u00b2 = 4"
    )


@pytest.mark.parametrize(
    ("system", "said"),
    [
        ("dy0/dt = y1", "has an equation, of dy0/dt; write only its right-hand side, as in y1"),
        ("dy / dt = y1*2", "write only its right-hand side, as in y1*2"),
        ("dy0/dt =", "write only its right-hand side, as in -y0"),
        ("2*y0 = y1", "write == to compare"),
    ],
)
async def test_of_a_differential_equation_only_the_right_hand_side_is_asked(system: str, said: str) -> None:
    assert said in await refusal("solve_ode", y0=[1], t_span=[0, 1], system=system)


NOT_MEANT: list[tuple[str, str]] = [
    (
        "2(3+4)",
        "calls '2' as if it were a function, and it is no name of a function; for a product write *, as in 2*(3+4)",
    ),
    ("(1 + 2) (3)", "as in (1 + 2)*(3)"),
    ("[k(2) for k in [1]]", "as in k*(2)"),
    ("pi(3)", "as in pi*(3)"),
    ("sine(1)", "calls the function sine, which is not known; did you mean sin(…)?"),
    ("PI + 1", "did you mean pi?"),
    ("asb(1)", "did you mean abs(…)?"),
    ("average([1, 2])", "did you mean mean(…)?"),
    ("variance([1, 2])", "did you mean var(…)?"),
    ("product([1, 2])", "did you mean prod(…)?"),
    ("nCr(5, 2)", "did you mean comb(n, k)?"),
    ("nPr(5, 2)", "did you mean perm(n, k)?"),
    ("mean(1, 2^2, 3)", "gives mean 3 arguments, and it takes 1, a list; write mean([1, 2**2, 3])"),
    ("std(1, 2, ddof=1)", "write std([…])"),
    ("sqrt(1, 2)", "gives sqrt 2 arguments, and it takes 1"),
    ("3 + 4*i", "has the name i, which is not known; there are no imaginary numbers"),
    ("4j", "which is no real number; there are no imaginary numbers"),
    ("foo(1)", "calls the function foo, which is not known; write it with others"),
    ("x + 1", "has the name x, which is not known; there are no variables here, only numbers"),
    ("sum(valeu for value in [1])", "did you mean value?"),
    ("np.linalg.norm([3, 4])", "only np., numpy. and math. may stand there, so write norm(…)"),
    ("scipy.constants.pi", "so write pi"),
    ("[1, 2].sum()", "so write sum(…)"),
]


@pytest.mark.parametrize(("expression", "said"), NOT_MEANT, ids=[text for text, _ in NOT_MEANT])
async def test_a_name_that_is_not_known_says_what_may_have_been_meant(expression: str, said: str) -> None:
    assert said in await refusal("calculate", expression=expression)


async def test_an_example_has_a_variable_that_the_formula_may_have() -> None:
    for tool, arguments, example in (
        ("monte_carlo", {"expression": ""}, "2*x + sin"),
        ("mcmc", {"x0": [1, 2], "log_density": ""}, "2*x0 + sin"),
        ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": ""}, "2*t + sin"),
        ("symbolic_solve", {"equation": ""}, "2*x + sin"),
    ):
        assert example in await refusal(tool, **arguments)
    assert "variables here: x" in await refusal("monte_carlo", expression="alpha + 1")
    assert "which no variable may have" in await refusal("symbolic_solve", equation="x + np")
    assert "calls 'x' as if it were a function" in await refusal("monte_carlo", expression="x(2 + 1)")


async def test_the_advice_for_a_power_that_is_too_long_can_be_computed() -> None:
    for expression, digits in (("2**5000", 1505.1), ("(-3)**9000", 4294.1), ("(10**400)**9", 1505.1)):
        advice = re.search(r"instead: ([^ ]+)", await refusal("calculate", expression=expression))
        assert advice is not None
        assert (await ask("calculate", expression=advice[1])).unwrap() == pytest.approx(digits, abs=0.1)
    advice = re.search(r"instead: (.+) for", await refusal("calculate", expression="2**4000 * 2**4000"))
    assert advice is not None
    assert (await ask("calculate", expression=advice[1])).ok


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("optimize", {"x0": [1, 2], "objective": {"expression": "x^2"}}, "with 2 variables they are x0, x1; x is the"),
        ("mcmc", {"x0": [0] * 5, "log_density": "-x**2"}, "with 5 variables they are x0, …, x4; x is the list"),
        ("optimize", {"x0": [1, 2], "objective": {"expression": "x0 + [3, 4]"}}, "make it an array: np.array([3, 4])"),
        ("calculate", {"expression": "np.array([1,2])+[3,4]"}, "make it an array: np.array([3, 4])"),
        ("calculate", {"expression": "[1,2,3,4,5]*2"}, "make it an array: np.array(…)"),
    ],
)
async def test_a_list_among_numbers_is_told_with_what_to_write(tool: str, arguments: dict[str, Any], said: str) -> None:
    assert said in await refusal(tool, **arguments)
