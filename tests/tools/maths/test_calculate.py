"""calculate and statistics: the language of expressions, its limits, and what is not in it. TOOL-08, TOOL-11."""

from __future__ import annotations

import math
from typing import Any

import pytest

from callgate import Callgate
from callgate.tools.maths.expressions import reading
from callgate.tools.maths.expressions.functions import FUNCTIONS
from callgate.tools.maths.expressions.names import ALIASES, ARITIES
from tests.tools.examples import run_examples
from tests.tools.maths.asking import ask, refusal

KNOWN: list[tuple[str, Any]] = [
    ("sum(range(100))", 4950),
    ("np.sin(np.pi/4) * np.sqrt(2)", 1.0),
    ("numpy.cos(0) + math.cos(0) + cos(0)", 3.0),
    ("2 + 3 * 4 - 6 / 2", 11.0),
    ("2^10 + 1", 1025),
    ("-2**2", -4),
    ("2**-1", 0.5),
    ("2**100", 2**100),
    ("2**2000", 2**2000),
    ("[-2**4095, 10**400]", [-(2**4095), 10**400]),
    ("1**(10**9)", 1),
    ("(-1)**(10**9 + 1)", -1),
    ("7 // 2 + 7 % 4", 6),
    ("1_000 + 0x10", 1016),
    ("+e - e + tau / (2*pi)", 1.0),
    ("factorial(20)", math.factorial(20)),
    ("comb(5, 2) + perm(5, 2) + comb(10**6, 2)", 30 + 499999500000),
    ("gcd(12, 18) + lcm(4, 6) + isqrt(17)", 22),
    ("sum(k**2 for k in range(1, 11) if k % 2 == 0)", 220),
    ("[i*j for i in range(1, 3) for j in range(1, 3)]", [1, 2, 2, 4]),
    ("[k for k in np.array([1, 2])]", [1.0, 2.0]),
    ("sum([sum(j for j in range(k)) for k in range(4)])", 4),
    ("[1, 2, 3, 4][::2]", [1, 3]),
    ("[1, 2, 3][-1] + (4, 5)[0]", 7),
    ("np.linspace(0, 1, num=5)[1]", 0.25),
    ("np.linspace(0, 1, 3)[1:]", [0.5, 1.0]),
    ("np.array([1, 2, 3]) * 2", [2.0, 4.0, 6.0]),
    ("-np.array([1, 2]) + +np.array([1, 1])", [0.0, -1.0]),
    ("arange(3) + arange(0, 3) + arange(0, 1.5, 0.5)", [0.0, 2.5, 5.0]),
    ("ones(2) + zeros(2)", [1.0, 1.0]),
    ("where(np.array([1, -1]) > 0, 10, 20)", [10.0, 20.0]),
    ("where(1 > 0, 10, 20)", 10),
    ("1 if 2 > 1 else 3", 1),
    ("5 if 2 < 1 else 3", 3),
    ("sum(1 if np.array([1, -1]) > 0 else 0)", 1.0),
    ("1 < 2 <= 2 < 3", 1),
    ("not (1 < 2 and 2 < 1) or 1/0", 1),
    ("2 > 1 or 0 > 1", 1),
    ("sum(np.array([1, -1]) > 0 or np.array([-1, -1]) > 0)", 1.0),
    ("sum(not (0 < np.array([1, -1]) < 2))", 1.0),
    ("all([1, 1]) + any([0, 0])", 1),
    ("max(1, 2, 3) + min([4, 5]) + max(np.array([1, 2]))", 9.0),
    ("mean([1, 2, 4]) + median([1, 2, 9])", 7 / 3 + 2),
    ("np.std([1, 2, 3, 4], ddof=1)**2 + var([1, 1])", 5 / 3),
    ("percentile([1, 2, 3], 50) + quantile([1, 2, 3], 0.5)", 4.0),
    ("prod([2, 3, 4]) + prod(np.array([2, 3]))", 30.0),
    ("dot([1, 2], [3, 4]) + norm([3, 4])", 16.0),
    ("cumsum([1, 2, 3]) + 0", [1.0, 3.0, 6.0]),
    ("diff([1, 4, 9]) + 0", [3.0, 5.0]),
    ("sorted([3, 1, 2])", [1, 2, 3]),
    ("np.sort(np.array([3, 1]))", [1.0, 3.0]),
    ("len([1, 2]) + int(2.9) + float(1)", 5.0),
    ("round(2.567, 2) + round(2.4)", 4.57),
    ("np.round(np.array([1.26]), 1)", [1.3]),
    ("floor(2.5) + ceil(2.5) + trunc(-2.5) + floor(3)", 6),
    ("floor(np.array([2.5]))", [2.0]),
    ("abs(-3) + fabs(-2.0)", 5.0),
    ("np.abs(np.array([-1]))", [1.0]),
    ("log(8, 2) + ln(e) + log2(4) + log10(10)", 7.0),
    ("atan2(0, 1) + hypot(3, 4) + fmod(7, 4) + mod(7, 4)", 11.0),
    ("maximum(np.array([1, 5]), 3)", [3.0, 5.0]),
    ("clip(5, 0, 2) + power(2, 3) + pow(2, 2)", 14.0),
    ("gamma(5) + erf(0) + erfc(0) + lgamma(1)", 25.0),
    ("erf(np.array([0]))", [0.0]),
    ("10**300 * 10**300 // 10**590", 10**10),
    ("where(1 > 2, -np.inf, 3) + min(inf, 4) + 1/math.inf + exp(-inf)", 7.0),
    ("where(np.array([1, -1]) > 0, 2, inf)[0]", 2.0),
]


@pytest.mark.parametrize(("expression", "value"), KNOWN, ids=[text for text, _ in KNOWN])
async def test_an_expression_has_its_known_value(expression: str, value: Any) -> None:
    """TOOL-08, TOOL-11: whole numbers are exact, and np., math. and no prefix mean the same."""
    found = (await ask("calculate", expression=expression)).unwrap()
    assert found == pytest.approx(value, rel=1e-12)
    assert isinstance(found, list) == isinstance(value, list)
    if isinstance(value, int) and not isinstance(found, float):
        assert found == value


_OVER = 2**53 + 1
"""No float is that number."""
WHOLE: list[tuple[str, Any]] = [
    ("[percentile(range(101), k) for k in range(101)]", list(range(101))),
    ("percentile(range(1001), 0.5)", 5),
    ("square(94906267)", 94906267**2),
    ("maximum(2**53 + 1, 1) + minimum(2**53 + 1, 2**60)", 2 * _OVER),
    ("max(1, 2**53 + 1, 0.5) + min([2**53 + 1, 2**60])", 2 * _OVER),
    ("diff([2**53, 2**53 + 1])", [1]),
    ("diff([0.5, 2**53 + 1, 2**53 + 2])[1]", 1),
    ("cumsum([2**53, 1, 1])", [2**53, _OVER, 2**53 + 2]),
    ("clip(2**53 + 1, 0, 2**60)", _OVER),
    ("clip([2**53 + 1, -3, 2**70], 0, 2**60)", [_OVER, 0, 2**60]),
    ("where([1, 0], [2**53 + 1, 2], [3, 4])", [_OVER, 4]),
    ("where([0, 1], 2**53 + 1, 2**60 + 1)", [2**60 + 1, _OVER]),
    ("2**53 + 1 if np.array([1])[0] else 0", _OVER),
    ("maximum([1, 2**2000], [2**53 + 1, 3])", [_OVER, 2**2000]),
    ("abs([-2**53 - 1])", [_OVER]),
    ("square([94906267])", [94906267**2]),
    ("sign(-2**2000) + sign([2**2000, 0, -0.5])", [0, -1, -2]),
    ("fmod(-2**53 - 1, 2) + fmod(2**53 + 1, -2) + fmod(5.5, 2)", 1.5),
    ("floor([2**53 + 1, 0.5])", [_OVER, 0]),
    ("round([2**53 + 1, 2.6])", [_OVER, 3]),
    ("round(2**2000) - int(2**2000) + trunc(2**53 + 1)", _OVER),
    ("dot([2**53 + 1, 1], [1, 2**70])", _OVER + 2**70),
    ("mean([2**53, 2**53 + 2, 2**53 + 1])", _OVER),
    ("mean([2**53 + 1, 2**53 + 4])", 2**53 + 2.5),
    ("median([2**53 + 1, 2**60 + 1, 0])", _OVER),
    ("median([2**53 + 1, 2**53 + 3])", 2**53 + 2),
    ("quantile([0, 2**53 + 1], 0.25)", _OVER / 4),
    ("var([2**53, 2**53 + 2]) + std([2**53, 2**53 + 2])", 2.0),
    ("all([2**2000, 0]) + any([0, 2**2000])", 1),
    ("sorted([2**53 + 1, 2**53])", [2**53, _OVER]),
    ("maximum([1, 2], 3) * 2 + diff([1, 2**52, 2**52 + 2])", [2**52 + 5, 8]),
]


@pytest.mark.parametrize(("expression", "value"), WHOLE, ids=[text for text, _ in WHOLE])
async def test_whole_numbers_are_exact_in_functions_too(expression: str, value: Any) -> None:
    """TOOL-11: numbers and lists are computed as they are; only arrays are of floats."""
    assert (await ask("calculate", expression=expression)).unwrap() == value


async def test_what_is_not_a_number_stays_that_wherever_it_stands() -> None:
    for expression in ("max(1, sqrt(-1))", "maximum(1, sqrt(-1))", "min([1, sqrt(-1)])", "clip(1, sqrt(-1), 2)"):
        assert "no real number" in await refusal("calculate", expression=expression)
    for expression in ("fmod(1, 0)", "fmod(inf, 2)", "sign(sqrt(-1))"):
        assert "no real number" in await refusal("calculate", expression=expression)
    assert (await ask("calculate", expression="sorted([3, sqrt(-1), 1])[:2]")).unwrap() == [1, 3]


@pytest.mark.parametrize(
    "expression",
    [
        "5 if sqrt(-1) else 3",
        "any([sqrt(-1)])",
        "any([1, sqrt(-1)])",
        "all(np.array([0, -1])**0.5)",
        "not sqrt(-1)",
        "sqrt(-1) and 0",
        "where(sqrt(-1), 1, 2)",
        "where([sqrt(-1), 1], 1, 2)",
        "where(np.array([-1, 1])**0.5, 1, 2)",
        "[k for k in range(3) if sqrt(-1)]",
    ],
)
async def test_what_is_no_number_is_neither_true_nor_false(expression: str) -> None:
    assert "tests what is no real number" in await refusal("calculate", expression=expression)


async def test_a_comparison_with_what_is_no_number_is_false() -> None:
    """Densities ask of any x whether log(x) is large."""
    for expression in ("sqrt(-1) > 0", "sqrt(-1) <= 0", "sqrt(-1) == sqrt(-1)", "sum(np.array([-1, -4])**0.5 > 0)"):
        assert (await ask("calculate", expression=expression)).unwrap() == 0
    assert (await ask("calculate", expression="sqrt(-1) != sqrt(-1)")).unwrap() == 1


async def test_a_sum_is_rounded_once_in_formulas_and_statistics_alike() -> None:
    """Python adds floats in another way from one version to the next."""
    for numbers in ([0.1, 0.2, 0.3], [1e16, 1, -1e16], [1e308, 1e308, -1e308], [0.1] * 10):
        total = math.fsum(numbers) if max(numbers) < 1e308 else 1e308
        for expression in (f"sum({numbers})", f"sum(np.array({numbers}))", f"dot({numbers}, {[1] * len(numbers)})"):
            assert (await ask("calculate", expression=expression)).unwrap() == total
        assert (await ask("statistics", data=numbers, metrics=["sum"])).unwrap() == {"sum": total}
    assert "infinite" in await refusal("calculate", expression="sum([inf, 1.5])")
    assert "no real number" in await refusal("calculate", expression="sum([inf, -inf])")


NOT_COMPUTED: list[tuple[str, str]] = [
    ("std([1, 2, 3], ddof=-1)", "ddof of std must not be negative"),
    ("var(np.array([1, 2]), ddof=-2)", "ddof of var must not be negative"),
    ("[k for k in range(3) if np.array([1, 2])]", "tests an array in a loop; write all(…) or any(…) of it"),
    ("1 / 0", "divides by zero"),
    ("0 ** -1", "divides by zero"),
    ("(-8) ** (1/3)", "negative"),
    ("sqrt(-1)", "no real number"),
    ("gamma(-1) + gamma(1000)", "no real number"),
    ("1e308 * 10", "the result is too large for a float, which ends at 1.8e308"),
    ("[1, log(0)]", "infinite as log(0) is"),
    ("-np.inf", "infinite"),
    ("inf - math.inf", "no real number"),
    ("1 / 1e400", "too large for a float, which ends at 1.8e308; make it smaller, or write inf"),
    ("range(inf)", "whole number"),
    ("linspace(0, inf, 3)", "the result is"),
    ("[inf for inf in [1]]", "no plain name"),
    ("infinity", "did you mean inf?"),
    ("10.0 ** 400", "too large for a float"),
    ("sin(10**400)", "too large for a float"),
    ("int(1e308 * 10)", "finite"),
    ("round(1e308 * 10)", "too large for a float"),
    ("[1, 2] * 2", "np.array"),
    ("np.array([1, 2]) + np.array([1, 2, 3])", "2 and 3 items"),
    ("maximum([1, 2], [1, 2, 3])", "2 and 3 items"),
    ("hypot([1, 2], [1, 2, 3])", "2 and 3 items"),
    ("square(2**4000)", "4096 bits"),
    ("maximum([2**53 + 1], 0) * 2", "np.array"),
    ("dot([1], [1, 2])", "one length"),
    ("where(np.array([1, 2]) > 0, np.array([1, 2, 3]), 0)", "one length"),
    ("[[1], [2]]", "one number"),
    ("[np.array([1]) for k in range(2)]", "one number"),
    ("[1, 2][5]", "item 5 of a list of 2"),
    ("[1, 2][0.5]", "whole number"),
    ("[1, 2][::0]", "must not be 0"),
    ("3[0]", "needs a list"),
    ("[k for k in 3]", "needs a list"),
    ("len(3)", "takes a list"),
    ("sum(3)", "takes a list"),
    ("max(3)", "takes a list"),
    ("mean([])", "at least one"),
    ("std([1], ddof=1)", "ddof"),
    ("factorial(-1)", "negative"),
    ("factorial(2.5)", "whole number"),
    ("quantile([1], 2)", "between 0 and 1"),
    ("range(0, 1, 0)", "step of range"),
    ("arange(0, 1, 0)", "not 0"),
    ("round(1.5, 10**6)", "too many"),
    ("", "empty"),
    ("1 +", "cannot be read"),
    ("2x", "cannot be read"),
    ("1j", "no real number"),
    ("sin", "write sin(…)"),
    ("x + 1", "not known"),
    ("foo(1)", "not known"),
    ("np.linalg(1)", "not known"),
    ("sin(1, 2)", "takes 1"),
    ("clip(1)", "takes 3"),
    ("arange()", "takes 1 to 3"),
    ("sum(x=1)", "by name"),
    ("1 in [1]", "`in`"),
    ("1 << 2", "operator LShift"),
    ("2**3000 * 2**3000", "4096 bits"),
    ("comb(10**9, 10**8)", "too long"),
    ("perm(10**9, 10**8)", "too long"),
    ("factorial(501)", "goes to 500"),
    ("range(10**40)", "over 100000 items"),
    ("pi.real", "attribute real"),
    ("sin(1)(2)", "no name of a function"),
    ("1 @ 2", "not in the language"),
    ("~1", "not in the language"),
    ("(lambda: 1)", "lambda"),
    ("[k for [k] in [1]]", "no plain name"),
    ("[sin for sin in [1]]", "no plain name"),
]


@pytest.mark.parametrize(("expression", "said"), NOT_COMPUTED, ids=[text or "empty" for text, _ in NOT_COMPUTED])
async def test_what_has_no_value_says_why(expression: str, said: str) -> None:
    assert said in await refusal("calculate", expression=expression)


def test_every_name_that_is_read_has_a_function() -> None:
    assert set(ARITIES) == set(FUNCTIONS)
    assert set(ALIASES.values()) <= set(ARITIES)
    assert not set(ALIASES) & set(ARITIES)


def test_a_tree_tells_its_variables_and_not_those_of_its_loops() -> None:
    read = reading.read("a*x + sum(k for k in range(3))", None)
    assert read.names == {"a", "x"}


async def test_statistics_of_a_list() -> None:
    """TOOL-11."""
    figures = (await ask("statistics", data=[1, 2, 3, 4])).unwrap()
    assert figures == pytest.approx(
        {"mean": 2.5, "std": math.sqrt(1.25), "min": 1, "max": 4, "median": 2.5, "count": 4}
    )
    more = (await ask("statistics", data=[1, 2, 3, 4], metrics=["sum", "var", "q25", "q75", "iqr", "count"])).unwrap()
    assert more == {"sum": 10, "var": 1.25, "q25": 1.75, "q75": 3.25, "iqr": 1.5, "count": 4}
    assert list((await ask("statistics", data=[7], metrics=["max"])).unwrap()) == ["max"]
    mixed = (await ask("statistics", data=[2**53 + 1, 0.5], metrics=["max", "min", "sum"])).unwrap()
    assert mixed == {"max": _OVER, "min": 0.5, "sum": 2.0**53 + 2}


async def test_statistics_of_whole_numbers_are_in_the_data_and_tell_neighbours_apart() -> None:
    """TOOL-11."""
    near = [2**53 + 1, 2**53 + 2, 2**53 + 3]
    figures = (
        await ask("statistics", data=near, metrics=["min", "max", "median", "mean", "sum", "iqr", "var"])
    ).unwrap()
    assert figures == {"min": near[0], "max": near[2], "median": near[1], "mean": near[1], "sum": sum(near)} | {
        "iqr": 1,
        "var": pytest.approx(2 / 3),
    }


async def test_statistics_takes_as_many_numbers_as_arguments_hold() -> None:
    assert (await ask("statistics", data=[1] * 524_000, metrics=["count"])).unwrap() == {"count": 524_000}


async def test_statistics_of_nothing_too_much_or_by_an_unknown_name_are_input_errors() -> None:
    """TOOL-11: the statistics of [] are an input error."""
    assert "data is empty" in await refusal("statistics", data=[])
    assert "too large for var" in await refusal("statistics", data=[-1.7e308, 1.7e308, 1.7e308], metrics=["var"])
    assert "too large for sum" in await refusal("statistics", data=[1e308, 1e308], metrics=["sum"])
    assert "metrics" in await refusal("statistics", data=[1], metrics=["mode"])


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        await run_examples(gate, *[tool.name for tool in gate.tools() if tool.name != "symbolic_solve"])
