"""Whatever an expression says, it ends in a value or in words about the input, and in no fault of ours. TOOL-08."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.maths.expressions.names import ARITIES, KEYWORDS

NUMBERS = [
    "0",
    "1",
    "-1",
    "2",
    "-3",
    "0.5",
    "-2.5",
    "2**53 + 1",
    "2**2000",
    "-2**2000",
    "2**4000",
    "-2**4000",
    "10**-9",
]
FLOATS = ["1e308", "-1e308", "5e-324", "1e999", "-1e999", "(1e999 - 1e999)", "pi", "(1 > 0)"]
LISTS = [
    "[]",
    "[1]",
    "[3, 1, 2]",
    "[2**2000, 1]",
    "[2**53 + 1, 0.5, -1]",
    "[1e999, 1, 2]",
    "[1e999 - 1e999]",
    "range(3)",
]
ARRAYS = ["zeros(0)", "ones(1)", "np.array([3, 1, 2])", "np.array([1e308, -1e308])", "linspace(0, 1, 3)", "[[1], [2]]"]
VALUES = st.sampled_from([*NUMBERS, *FLOATS, *LISTS, *ARRAYS])
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", "and", "or"]


def calls(inside: st.SearchStrategy[str], names: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return names.flatmap(lambda name: _calls_of(name, inside))


def _calls_of(name: str, inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fewest, most = ARITIES[name]
    given_by_place = st.lists(inside, min_size=fewest, max_size=min(most, 4))
    named = st.tuples(st.sampled_from(sorted(KEYWORDS.get(name, ["ddof"]))), inside).map("=".join)
    given_by_name = st.lists(named, max_size=2) if name in KEYWORDS else st.just([])
    return st.tuples(given_by_place, given_by_name).map(lambda told: f"{name}({', '.join(told[0] + told[1])})")


def larger(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inside, st.sampled_from(OPERATORS), inside).map(lambda part: f"({part[0]}) {part[1]} ({part[2]})")
    three = st.tuples(inside, inside, inside)
    return st.one_of(
        two,
        calls(inside, st.sampled_from(sorted(ARITIES))),
        inside.map("-({})".format),
        three.map(lambda part: f"({part[0]}) if ({part[1]}) else ({part[2]})"),
        three.map(lambda part: f"({part[0]})[({part[1]}):({part[2]})]"),
        three.map(lambda part: f"({part[0]})[::({part[1]})]"),
        three.map(lambda part: f"({part[0]})[({part[1]})]"),
        three.map(lambda part: f"[({part[0]}) for k in ({part[1]}) if ({part[2]})]"),
    )


EXPRESSIONS = st.recursive(VALUES, larger, max_leaves=6)


@pytest.fixture
def asked() -> Iterator[Any]:
    """A gate to ask many times, on a loop of its own: hypothesis calls what does not wait."""
    with asyncio.Runner() as runner:
        gate = Callgate.open("memory://", builtin_tools=["maths"])
        opened = runner.run(gate.__aenter__())

        def ask(expression: str) -> Any:
            return runner.run(opened.call("calculate", {"expression": expression}))

        yield ask
        runner.run(gate.__aexit__(None, None, None))


def check(outcome: Any, expression: str) -> None:
    if not outcome.ok:
        assert outcome.error.category is Category.USER_INPUT, f"{expression}: {outcome}"


LIGHT = settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LONG = settings(LIGHT, max_examples=400)


@pytest.mark.parametrize("name", sorted(ARITIES))
@LIGHT
@given(data=st.data())
def test_a_function_takes_any_values_or_says_why_not(asked: Any, name: str, data: st.DataObject) -> None:
    expression = data.draw(_calls_of(name, VALUES))
    check(asked(expression), expression)


@LONG
@given(expression=EXPRESSIONS)
def test_any_expression_has_a_value_or_says_why_not(asked: Any, expression: str) -> None:
    check(asked(expression), expression)


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("linspace(0, 2**2000)", "linspace takes or makes a number too large"),
        ("sum([2**2000, 0.5])", "sum takes or makes a number too large"),
        ("clip(0.5, 0, 2**4000) + sin(2**2000)", "sin takes or makes a number too large"),
        ("round(1.7e308, -308)", "round takes or makes a number too large"),
        ("mean([2**4000, 1])", "mean takes or makes a number too large"),
        ("percentile([1], 2**4000)", "between 0 and 100"),
        ("linspace(0, 1, 3, num=4)", "num twice"),
        ("std([1, 2], ddof=1, ddof=0)", "ddof twice"),
    ],
)
def test_a_number_that_is_too_large_is_told_with_the_function_it_is_too_large_for(
    asked: Any, expression: str, said: str
) -> None:
    assert said in str(asked(expression))


@pytest.mark.parametrize(
    ("expression", "value"),
    [("int(2**2000)", 2**2000), ("arange(1e308, -1e308, 1)", []), ("clip(0.5, 0, 2**4000)", 0.5)],
)
def test_large_numbers_are_taken_where_there_is_an_answer(asked: Any, expression: str, value: Any) -> None:
    assert asked(expression).unwrap() == value
