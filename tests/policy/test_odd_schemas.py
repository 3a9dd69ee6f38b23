"""However a schema says that an argument is there, what the argument names is found: what is not followed is open."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.adapters.json_schema import compile_schema
from callgate.errors import ConfigurationError, InvalidArguments
from callgate.model.levels import Origin
from callgate.policy.reach import reach_of
from callgate.policy.survey import Kind
from tests.policy.making import make

EVIL = "https://evil.example/"
OUTSIDE = "/etc/passwd"
DRAFTS = (None, "https://json-schema.org/draft/2019-09/schema", "http://json-schema.org/draft-07/schema#")
NAMES = {"url": EVIL, "path": OUTSIDE}
TEXT = {"type": "string"}


def schemas() -> st.SearchStrategy[Any]:
    names = st.sampled_from(["t", "url", "path"])
    leaves: list[Any] = [
        True, {}, {"description": "Anything."}, TEXT, {"type": ["string", "null"]}, {"type": "object"},
        {"type": "array"}, {"not": TEXT}, {"minLength": 2}, {"type": "integer"}, {"required": ["t"]}, False,
        {"format": "uuid"}, {"type": "string", "format": "uuid"}, {"type": "string", "format": "email"},
        {"const": "x"}, {"enum": [NAMES, 1]}, {"type": "object", "additionalProperties": False},
        *({key: at} for key in ("$ref", "$dynamicRef") for at in
          ("#", "#/$defs/x", "#/$defs/%78", "#x", "https://s.example/x", "#/properties/t")),
    ]  # fmt: skip

    def grow(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        several = st.lists(inner, min_size=1, max_size=2)
        return st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from(["object", "array", "string", ["object", "array"]]),
                "properties": st.dictionaries(names, inner, max_size=2),
                "additionalProperties": st.just(value=False) | inner,
                "unevaluatedProperties": st.just(value=False),
                "patternProperties": st.fixed_dictionaries({"^u": inner}),
                "propertyNames": st.just({"maxLength": 5}),
                "items": inner | several,
                "prefixItems": several,
                "additionalItems": st.just(value=False) | inner,
                "unevaluatedItems": st.just(value=False),
                "maxItems": st.sampled_from([1, 2]),
                "contains": inner,
                "allOf": several,
                "anyOf": several,
                "oneOf": several,
                "if": inner,
                "then": inner,
                "not": inner,
                "dependentSchemas": st.fixed_dictionaries({"t": inner}),
            },
        )

    return st.recursive(st.sampled_from(leaves), grow, max_leaves=6)


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    parts = st.just(value=True) | schemas().filter(lambda part: isinstance(part, dict))
    named = draw(schemas().filter(lambda part: isinstance(part, dict)))
    marks = draw(st.sampled_from([{}, {"$anchor": "x"}, {"$dynamicAnchor": "x"}, {"$id": "https://s.example/x"}]))
    root: dict[str, Any] = {"type": "object", "properties": {"t": draw(parts)}, "$defs": {"x": named | marks}}
    root |= draw(st.sampled_from([{"additionalProperties": False}, {"unevaluatedProperties": False}]))
    root |= draw(st.sampled_from([{}, {"anyOf": [draw(parts)]}, {"$ref": "#/$defs/x"}]))
    draft = draw(st.sampled_from(DRAFTS))
    return root if draft is None else root | {"$schema": draft}


def around(value: Any, depth: int) -> list[Any]:
    if depth == 0:
        return [value]
    inner = around(value, depth - 1)
    wraps = ("t", "uu", None)
    return inner + [[part] if name is None else {name: part} for name, part in product(wraps, inner)]


BAD = [{"t": value} for value in [*around(NAMES, 2), [1, NAMES]]]


@pytest.mark.parametrize("source", [Origin.FUNCTION, Origin.MCP])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(schema=documents())
def test_nothing_that_a_schema_lets_through_is_overlooked(source: Origin, schema: dict[str, Any]):
    try:
        compiled = compile_schema(schema, limit=10_000)
    except ConfigurationError:
        return
    reaches = reach_of(
        make("fetch", "network_access", input_schema=compiled.schema, scopes={"net:outbound"}, source=source)
    )
    for arguments in BAD:
        try:
            final = compiled.validator(arguments)
        except InvalidArguments:
            continue
        assert reaches is not None, arguments
        found = {(item.kind, item.text) for item in reaches.find(final)}
        assert (Kind.HOST, EVIL) in found, arguments
        assert {(Kind.PATH, OUTSIDE), (Kind.PLACE, OUTSIDE)} & found, arguments


OLD = {"$schema": DRAFTS[2]}


@pytest.mark.parametrize(
    ("part", "beside", "value"),
    [
        ({"$ref": "#/allOf/0/properties/t"}, {"allOf": [{"properties": {"t": {"type": "object"}}}]}, NAMES),
        ({"enum": [NAMES, 1]}, {}, NAMES),
        ({"const": [NAMES]}, {}, [NAMES]),
        ({"type": "array", "items": [{"type": "integer"}], "additionalItems": {"type": "object"}}, OLD, [1, NAMES]),
    ],
    ids=["a reference into a list", "one of some", "one alone", "the rest of a tuple"],
)
def test_what_is_said_in_a_rare_way_is_found(part: Any, beside: dict[str, Any], value: Any):
    schema = {"type": "object", "properties": {"t": part}, "additionalProperties": False, **beside}
    compiled = compile_schema(schema, limit=10_000)
    reaches = reach_of(make("fetch", "network_access", input_schema=compiled.schema, scopes={"net:outbound"}))
    assert reaches is not None
    found = {(item.kind, item.text) for item in reaches.find(compiled.validator({"t": value}))}
    assert (Kind.HOST, EVIL) in found
    assert {(Kind.PATH, OUTSIDE), (Kind.PLACE, OUTSIDE)} & found


def test_a_schema_that_is_followed_and_closed_needs_no_look():
    """So that what counts as open is not everything."""
    inner = {"type": "object", "properties": {"count": {"type": "integer"}}, "additionalProperties": False}
    pair = {"type": "array", "prefixItems": [{"type": "integer"}, inner], "maxItems": 2}
    choice = {"anyOf": [{"$ref": "#/$defs/inner"}, {"type": "null"}]}
    shape = {
        "type": "object",
        "properties": {"pair": pair, "choice": choice, "word": TEXT},
        "additionalProperties": False,
        "anyOf": [{"required": ["pair"]}, {"required": ["choice"]}],
        "$defs": {"inner": inner},
    }
    assert reach_of(make("send", "network_access", input_schema=shape, scopes={"net:outbound"})) is None
