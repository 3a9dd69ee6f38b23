"""Schemas as providers take them, and arguments back as the tool means them."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.adapters.schema_walk import walk
from callgate.formats.nulls import without_nulls
from callgate.formats.strict import ANTHROPIC, OPENAI, Dialect, strict_schema
from callgate.formats.top_level import plain_object, rename_arguments, rename_properties
from callgate.model.canonical import NotCanonical
from callgate.model.shapes import as_mapping, as_sequence

Schema = dict[str, Any]
LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "default": 3},
        {"type": ["integer", "null"]},
        {"enum": ["a", "b"]},
        {"const": 4},
        {"anyOf": [{"type": "string"}, {"type": "integer"}], "description": "Either."},
        {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        {"$ref": "#/$defs/point"},
    ]
)
POINT: Schema = {
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
    "required": ["x"],
}


def _object(properties: Schema, required: list[str]) -> Schema:
    return {"type": "object", "properties": properties, "required": [name for name in required if name in properties]}


def _nest(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    names = st.sampled_from(["a", "b", "c"])
    objects = st.builds(_object, st.dictionaries(names, inner, min_size=1), st.lists(names, unique=True))
    return st.one_of(objects, st.builds(_array, inner))


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _top(properties: Schema, required: list[str]) -> Schema:
    return _object(properties, required) | {"$defs": {"point": POINT}}


TOPS = st.builds(
    _top,
    st.dictionaries(st.sampled_from(["a", "b", "c"]), st.recursive(LEAVES, _nest, max_leaves=6)),
    st.lists(st.sampled_from(["a", "b", "c"]), unique=True),
)


def some_value(schema: Schema, draw: st.DrawFn) -> Any:
    """A value that fits, with optional properties there or not."""
    if "$ref" in schema:
        return some_value(POINT, draw)
    for word, pick in (("enum", lambda: draw(st.sampled_from(schema["enum"]))), ("const", lambda: schema["const"])):
        if word in schema:
            return pick()
    if "anyOf" in schema:
        return some_value(draw(st.sampled_from(schema["anyOf"])), draw)
    kinds = as_sequence(schema["type"]) or [schema["type"]]
    kind = draw(st.sampled_from(kinds))
    if kind == "object":
        present = [name for name in schema["properties"] if name in schema["required"] or draw(st.booleans())]
        return {name: some_value(schema["properties"][name], draw) for name in present}
    if kind == "array":
        return [some_value(schema["items"], draw) for _ in range(draw(st.integers(0, 2)))]
    return {"string": "s", "integer": 1, "boolean": True, "null": None}[kind]


def filled(value: Any, schema: Schema) -> Any:
    """As a strict provider writes it: every property there, null for those left out."""
    part = POINT if "$ref" in schema else schema
    body, items = as_mapping(value), as_sequence(value)
    if body is not None:
        return {name: filled(body.get(name), inner) for name, inner in part["properties"].items()}
    return value if items is None else [filled(item, part["items"]) for item in items]


@st.composite
def schema_and_arguments(draw: st.DrawFn) -> tuple[Schema, Schema]:
    schema = draw(TOPS)
    return schema, some_value(schema, draw)


def _said(value: Any, schema: Schema) -> bool:
    """Whether a property is left out that may also be null: then null and nothing cannot be told apart."""
    if "$ref" in schema:
        return False
    body = as_mapping(value)
    if body is not None:
        left = [part for name, part in schema["properties"].items() if name not in body]
        unsure = any("null" in str(part.get("type")) or {"type": "null"} in part.get("anyOf", ()) for part in left)
        return unsure or any(_said(body[name], schema["properties"][name]) for name in body)
    return any(_said(item, schema["items"]) for item in as_sequence(value) or ())


@given(schema_and_arguments())
def test_what_a_strict_provider_writes_fits_its_schema_and_comes_back_as_it_was(made: tuple[Schema, Schema]):
    schema, arguments = made
    strict = strict_schema(schema, OPENAI)
    assert strict is not None
    written = filled(arguments, schema)
    jsonschema_rs.validator_for(strict).validate(written)
    back = without_nulls(written, schema)
    jsonschema_rs.validator_for(schema).validate(back)
    if not _said(arguments, schema):
        assert back == arguments


@given(TOPS, st.sampled_from([OPENAI, ANTHROPIC]))
def test_every_object_of_a_strict_schema_is_closed_and_for_openai_all_is_required(schema: Schema, dialect: Dialect):
    for _, part in walk(strict_schema(schema, dialect) or {}):
        if "properties" in part:
            assert part["additionalProperties"] is False
            assert dialect is ANTHROPIC or part["required"] == list(part["properties"])


@pytest.mark.parametrize(
    "part",
    [
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True},
        {"type": "array"},
        {"type": "array", "prefixItems": [{"type": "string"}]},
        {"type": "object", "properties": {}, "patternProperties": {"a": {}}},
        {"not": {"type": "string"}},
        {"enum": [{"a": 1}]},
        {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]},
        {"allOf": [{"type": "string"}, {"minLength": 3}]},
        {"$ref": "#/$defs/nowhere"},
        {"$ref": "https://example.com/schema"},
        {},
        True,
    ],
)
def test_what_cannot_be_strict_is_left_as_it_is(part: Any):
    schema = {"type": "object", "properties": {"a": part}, "required": ["a"]}
    assert strict_schema(schema, OPENAI) is None
    assert strict_schema(schema, ANTHROPIC) is None


def test_a_schema_that_goes_in_circles_is_strict_for_one_dialect_only():
    node: Schema = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}},
        "required": ["next"],
    }
    schema = {"type": "object", "properties": {"first": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    assert strict_schema(schema, OPENAI) is not None
    assert strict_schema(schema, ANTHROPIC) is None
    assert without_nulls({"first": {"next": {"next": None}}}, schema) == {"first": {"next": {"next": None}}}


def test_strict_keeps_words_and_leaves_out_what_is_not_known():
    schema: Schema = {
        "type": "object",
        "title": "Pay",
        "properties": {
            "to": {"allOf": [{"type": "string", "format": "email", "minLength": 3}], "description": "x"},
            "amount": {"type": "integer", "minimum": 1, "default": 5, "description": "How much."},
        },
        "required": ["to"],
    }
    assert strict_schema(schema, OPENAI) == {
        "type": "object",
        "title": "Pay",
        "properties": {
            "to": {"type": "string", "format": "email"},
            "amount": {"type": ["integer", "null"], "minimum": 1, "description": "How much. Default: 5."},
        },
        "required": ["to", "amount"],
        "additionalProperties": False,
    }
    bound = strict_schema(schema, ANTHROPIC)
    assert bound is not None
    assert bound["properties"]["amount"] == {"type": "integer", "default": 5, "description": "How much."}


def test_too_deep_a_schema_is_not_strict():
    schema: Schema = {"type": "string"}
    for _ in range(12):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    assert strict_schema(schema, OPENAI) is None
    assert strict_schema(schema, ANTHROPIC) is not None


def test_only_a_null_that_cannot_be_meant_is_taken_out():
    schema: Schema = {
        "type": "object",
        "properties": {
            "plain": {"type": "string"},
            "nullable": {"type": ["string", "null"]},
            "any": {},
            "needed": {"type": "string"},
            "listed": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            "choice": {"oneOf": [{"type": "object", "properties": {"y": {"type": "integer"}}}, {"type": "string"}]},
            "several": {"anyOf": [{"type": "object", "properties": {"z": {"enum": [1]}}}, {"type": "object"}]},
            "strict_enum": {"type": ["string", "null"], "enum": ["a"]},
            "all": {"allOf": [{"const": 1}]},
        },
        "required": ["needed"],
    }
    given_in = {
        "plain": None,
        "nullable": None,
        "any": None,
        "needed": None,
        "listed": [{"x": None}, None, {"x": 1, "more": None}],
        "choice": {"y": None},
        "several": {"z": None},
        "strict_enum": None,
        "all": None,
        "unknown": None,
    }
    assert without_nulls(given_in, schema) == {
        "nullable": None,
        "any": None,
        "needed": None,
        "listed": [{}, None, {"x": 1, "more": None}],
        "choice": {},
        "several": {"z": None},
        "unknown": None,
    }


def test_references_that_lead_nowhere_or_round_and_round_take_nothing_out():
    loop = {"$ref": "#/$defs/loop"}
    schema = {"type": "object", "properties": {"a": loop, "b": {"$ref": "#/x"}}, "$defs": {"loop": loop}}
    arguments: Schema = {"a": None, "b": {"c": None}}
    assert without_nulls(arguments, schema) == arguments
    assert without_nulls({"a": {"c": None}}, schema) == {"a": {"c": None}}


def test_alternatives_at_the_top_are_gathered_into_one_object():
    schema: Schema = {
        "anyOf": [
            {"properties": {"id": {"type": "string"}, "x": {"type": "string"}}, "required": ["id", "x"]},
            {"properties": {"id": {"type": "integer"}, "y": {"type": "string"}}, "required": ["id", "y"]},
            {"$ref": "#/$defs/third"},
            {"properties": {"id": {"type": "boolean"}}, "required": ["id"]},
        ],
        "allOf": [{"properties": {"z": {"type": "string"}}, "required": ["z"]}],
        "additionalProperties": False,
        "$defs": {"third": {"properties": {"id": {"type": "string"}}, "required": ["id"]}},
    }
    told = plain_object(schema)
    assert told == {
        "type": "object",
        "properties": {
            "z": {"type": "string"},
            "id": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]},
            "x": {"type": "string"},
            "y": {"type": "string"},
        },
        "required": ["id", "z"],
        "$defs": schema["$defs"],
    }


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({}, []),
        ({"type": "object"}, []),
        ({"type": ["object", "null"], "properties": {"a": True}}, ["a"]),
        ({"$ref": "#/definitions/x", "definitions": {"x": {"properties": {"b": {}}}}}, ["b"]),
        ({"$ref": "#/definitions/x", "definitions": {"x": {"$ref": "#/definitions/x"}}}, []),
        ({"$ref": "elsewhere", "properties": {"c": {}}}, ["c"]),
        ({"$ref": 3, "anyOf": "odd", "oneOf": [True, 3], "properties": []}, []),
    ],
)
def test_every_top_becomes_an_object_with_properties(schema: Schema, names: list[str]):
    told = plain_object(schema)
    assert told["type"] == "object"
    assert list(told["properties"]) == names


def test_properties_are_not_renamed_where_the_schema_refers_to_them():
    schema: Schema = {
        "type": "object",
        "properties": {"a b": {"type": "string"}, "c": {"$ref": "#/properties/a b"}},
    }
    assert rename_properties(schema, {"a b": "a_b", "c": "c"}) is schema
    plain: Schema = {"type": "object", "properties": {"a b": {"type": "string"}}}
    assert rename_properties(plain, {"a b": "a_b"}) == {"type": "object", "properties": {"a_b": {"type": "string"}}}


def test_a_parameter_given_under_both_of_its_names_is_refused():
    assert rename_arguments({"a_b": 1, "c": 2}, {"a_b": "a b"}) == {"a b": 1, "c": 2}
    with pytest.raises(NotCanonical, match="given twice"):
        rename_arguments({"a_b": 1, "a b": 2}, {"a_b": "a b"})
