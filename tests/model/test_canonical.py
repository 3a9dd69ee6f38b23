"""One byte string per value, whoever wrote it; and nothing that two readers could read differently."""

from __future__ import annotations

import enum
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.model.canonical import NotCanonical, dumps, loads

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner), max_leaves=25)


def shuffled(value: Any, order: int) -> Any:
    """The same value with its keys in another order."""
    if isinstance(value, dict):
        items: list[Any] = list(value.items())  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        turn = order % (len(items) or 1)
        return {key: shuffled(item, order + 1) for key, item in reversed(items[turn:] + items[:turn])}
    if isinstance(value, list):
        return [shuffled(item, order + 1) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


@given(VALUES, st.integers(0, 5))
def test_the_order_of_keys_does_not_matter(value: Any, order: int) -> None:
    assert dumps(value) == dumps(shuffled(value, order))


@given(VALUES)
def test_what_was_written_reads_back_equal_and_writes_the_same(value: Any) -> None:
    text = dumps(value)
    assert loads(text) == value
    assert dumps(loads(text)) == text


@given(VALUES)
def test_it_is_json_that_any_reader_reads(value: Any) -> None:
    assert json.loads(dumps(value)) == value


@given(VALUES, VALUES)
def test_values_that_differ_have_bytes_that_differ(one: Any, other: Any) -> None:
    if dumps(one) == dumps(other):
        assert one == other
        assert json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@given(st.integers(min_value=2**53))
def test_integers_of_any_size_keep_every_digit(number: int) -> None:
    assert dumps({"amount": number, "other": -number}) == f'{{"amount":{number},"other":{-number}}}'.encode()
    assert dumps([number + 1]) != dumps([number])


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_read_back_to_the_very_same_bits(number: float) -> None:
    back = loads(dumps(number))
    assert isinstance(back, float)
    assert math.copysign(1, back) == math.copysign(1, number)
    assert back == number


def test_an_integer_and_a_float_are_not_the_same_value() -> None:
    assert dumps(1) != dumps(1.0)
    assert dumps(True) != dumps(1)
    # The careful way, taken beside an integer beyond 64 bits, writes the same as the quick one.
    assert dumps([1.0, 1e16, "é", {"b": 1, "a": None}])[1:-1] in dumps([1.0, 1e16, "é", {"b": 1, "a": None}, 2**70])


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("shape", ["alone", "in a list", "deep", "behind a word", "the careful way"])
def test_what_is_no_number_is_refused(number: float, shape: str) -> None:
    shapes = {
        "alone": number,
        "in a list": [number],
        "deep": {"a": [None, number]},
        "behind a word": {"a": "null and (null)", "null": number},
        "the careful way": [2**80, number],
    }
    with pytest.raises(NotCanonical):
        dumps(shapes[shape])


NUMBERS = st.recursive(
    st.none() | st.floats() | st.sampled_from(["null", ":null", "a,null", 1, True]),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(TEXT, inner),
    max_leaves=25,
)


def has_what_is_no_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    inside: Any = value.values() if isinstance(value, dict) else value  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return isinstance(value, dict | list | tuple) and any(map(has_what_is_no_number, inside))


@given(NUMBERS)
def test_what_is_no_number_is_found_among_any_nulls(value: Any) -> None:
    if has_what_is_no_number(value):
        with pytest.raises(NotCanonical):
            dumps(value)
    else:
        assert json.loads(dumps(value)) == json.loads(json.dumps(value))


@pytest.mark.parametrize("value", ["\ud800", ["a\udfff"], {"\udc00": 1}, [2**80, "\ud800"]])
def test_half_a_character_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        dumps(value)


@pytest.mark.parametrize("value", [{1: "a"}, {None: 1}, {"a": {1, 2}}, b"x", object(), {"a": 1j}, {("a",): 1}])
def test_what_is_not_json_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        dumps(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        "[NaN]",
        "[Infinity]",
        "[-Infinity]",
        '["\\ud800"]',
        "{",
        "",
        "[1,]",
        b"\xff",
    ],
)
def test_text_with_more_than_one_reading_is_refused(text: str | bytes) -> None:
    with pytest.raises(NotCanonical):
        loads(text)


def test_what_contains_itself_or_is_bottomless_is_refused() -> None:
    knot: list[Any] = []
    knot.append(knot)
    with pytest.raises(NotCanonical):
        dumps(knot)
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(NotCanonical):
        dumps(deep)
    with pytest.raises(NotCanonical):
        loads("[" * 100_000 + "]" * 100_000)


class Odd(enum.Enum):
    NAN = float("nan")
    LISTED = (float("inf"),)
    NONE = None


@pytest.mark.parametrize("value", [Odd.NAN, {"a": Odd.LISTED}, [Odd.NAN]], ids=["alone", "in a list", "inside"])
def test_a_member_of_an_enum_is_refused_for_what_its_value_is(value: object):
    with pytest.raises(NotCanonical):
        dumps(value)
    assert dumps([Odd.NONE]) == b"[null]"
