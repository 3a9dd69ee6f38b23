"""Properties: the two validators agree on plain types, defaults are applied, and nothing but a refusal comes out."""

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callgate.adapters.convert import convert
from callgate.adapters.json_schema import compile_schema
from callgate.errors import InvalidArguments
from callgate.model.canonical import dumps, loads
from callgate.model.tool import Tool, Validator

LIMIT = 1024 * 1024
NAMES = ("a", "b", "c")

scalars = st.sampled_from(
    [str, int, float, bool, None, Any, Literal["x", "y"], Literal[1, 2], Literal[0, True], Literal["x", 1, True, 0]]
)
hints = st.recursive(
    scalars,
    lambda inner: st.one_of(
        inner.map(lambda hint: list[hint]),
        inner.map(lambda hint: dict[str, hint]),
        inner.map(lambda hint: hint | None if hint is not None and hint is not Any else hint),
        st.tuples(inner, inner).map(
            lambda pair: pair[0] | pair[1] if Any not in pair and None not in pair else pair[0]
        ),
    ),
    max_leaves=4,
)
leaves = st.one_of(
    st.none(), st.booleans(), st.integers(-5, 5), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["x", "y", "1", "", "true"]), st.text(max_size=5),
    st.sampled_from([1.0, 2.0, 0.0, -0.0, 1e300, 2**70]),
)  # fmt: skip
values = st.recursive(
    leaves,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
)
arguments = st.dictionaries(st.sampled_from([*NAMES, "z"]), values, max_size=4)


def make_tool(chosen: dict[str, Any], defaults: dict[str, Any]) -> Tool:
    ordered = sorted(chosen, key=lambda name: name in defaults)
    listed = ", ".join(f"{name}=_defaults[{name!r}]" if name in defaults else name for name in ordered)
    place: dict[str, Any] = {"_defaults": defaults}
    exec(f"def f({listed}): return dict({', '.join(f'{name}={name}' for name in ordered)})", place)
    place["f"].__annotations__.update(chosen)
    return convert(place["f"], effects="read_only")[0]


def answer(validate: Validator, given_arguments: Any) -> dict[str, Any] | None:
    try:
        return validate(given_arguments)
    except InvalidArguments:
        return None


def whole(value: Any) -> Any:
    """The value with 1.0 as 1: one number in JSON, which hints may ask for as a float."""
    if isinstance(value, dict):
        return {key: whole(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [whole(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@settings(max_examples=100)
@given(data=st.data(), chosen=st.dictionaries(st.sampled_from(NAMES), hints, max_size=2))
def test_both_validators_accept_and_refuse_the_same(data: st.DataObject, chosen: dict[str, Any]):
    tool = make_tool(chosen, {})
    foreign = compile_schema(tool.input_schema, limit=LIMIT).validator
    filled = st.fixed_dictionaries(dict.fromkeys(chosen, values))
    for case in data.draw(st.lists(st.one_of(filled, filled, arguments), min_size=1, max_size=5)):
        ours, theirs = answer(tool.validator, case), answer(foreign, case)
        assert (ours is None) == (theirs is None), (chosen, case, ours, theirs)
        if ours is not None:
            assert dumps(whole(ours)) == dumps(whole(theirs))
            assert tool.validator(ours) == ours
            assert loads(dumps(ours)) == ours


@pytest.mark.requirement("SCH-10")
@settings(max_examples=100)
@given(data=st.data(), hint=hints)
def test_defaults_are_applied_by_both_validators_alike(data: st.DataObject, hint: Any):
    default = data.draw(values)
    tool = make_tool({"a": hint, "b": str}, {"a": default})
    final = answer(tool.validator, {"b": "x"})
    assert final is not None
    foreign = compile_schema(tool.input_schema, limit=LIMIT).validator
    assert answer(foreign, {"b": "x"}) == final
    assert tool.handler is not None
    assert tool.handler(final, None)["a"] == default
    assert ("a" in final) == ("default" in tool.input_schema["properties"]["a"])


anything = st.recursive(
    st.one_of(
        leaves,
        st.floats(),
        st.binary(max_size=3),
        st.complex_numbers(),
        st.text(st.characters(codec=None), max_size=3),
        st.builds(object),
        st.integers(10**300, 10**320),
        st.dates(),
        st.uuids(),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.frozensets(st.integers(), max_size=2),
        st.dictionaries(st.one_of(st.text(max_size=3), st.integers(), st.none()), inner, max_size=3),
    ),
)


@settings(max_examples=100)
@given(chosen=st.dictionaries(st.sampled_from(NAMES), hints, max_size=3), thing=anything)
def test_whatever_is_given_a_validator_answers_or_refuses(chosen: dict[str, Any], thing: Any):
    tool = make_tool(chosen, {})
    foreign = compile_schema(tool.input_schema, limit=LIMIT).validator
    for validate in (tool.validator, foreign):
        for case in (thing, {"a": thing}):
            final = answer(validate, case)
            if final is not None:
                assert loads(dumps(final)) == final
