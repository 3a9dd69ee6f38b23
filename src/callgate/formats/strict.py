"""Strict schemas: what a provider that binds its model to a schema accepts, or None where a tool's cannot be that.

Leaves out what such a provider does not know (the gate holds the arguments to the whole schema), and gives up where the
rest would forbid what the tool takes: free-form objects, tuples, conditions. Knows the providers only as dialects.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

Schema = dict[str, Any]
_LOCAL = re.compile(r"#/(\$defs|definitions)/([^/~%]+)")
_PLACES = ("$defs", "definitions")
_NEVER = frozenset(
    {"not", "if", "then", "else", "patternProperties", "prefixItems", "dependentRequired", "dependentSchemas"}
    | {"dependencies", "unevaluatedItems", "contains", "propertyNames", "$dynamicRef", "$recursiveRef"}
)
_SAYS_WHAT = frozenset({"anyOf", "enum", "const"})
_WORDS = frozenset({"type", "description", "title", "enum", "const"})
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one provider's strict mode takes."""

    keeps: frozenset[str]
    """Keywords besides the structure."""
    all_required: bool
    """Whether every property must be required, so that leaving one out is said by null."""
    recursive: bool
    deepest: int


OPENAI = Dialect(
    keeps=_WORDS
    | {"pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems"},
    all_required=True,
    recursive=True,
    deepest=10,
)
ANTHROPIC = Dialect(keeps=_WORDS | {"default"}, all_required=False, recursive=False, deepest=64)


class _CannotBe(Exception):
    """The schema has no strict form."""


def strict_schema(schema: Schema, dialect: Dialect) -> Schema | None:
    """The schema as this dialect takes it; None where it has no strict form."""
    try:
        places = [place for place in _PLACES if place in schema]
        rest = {key: value for key, value in schema.items() if key not in _PLACES}
        body = _part(rest, dialect, depth=0, top=True)
        for place in places:
            body[place] = {name: _part(part, dialect, depth=1) for name, part in _mapping(schema[place]).items()}
        _check_references(schema, dialect)
    except _CannotBe:
        return None
    return body


def _part(schema: Any, dialect: Dialect, *, depth: int, top: bool = False) -> Schema:
    if not isinstance(schema, dict) or _NEVER & schema.keys() or depth > dialect.deepest:
        raise _CannotBe
    given = cast("Schema", schema)
    if "$ref" in given:
        return {"$ref": _reference(given)}
    if "allOf" in given:
        return _only(given, dialect, depth=depth)
    kinds, body = _kinds(given), _words(given, dialect)
    choices = given.get("anyOf", given.get("oneOf"))
    if choices is not None:
        body["anyOf"] = [_part(part, dialect, depth=depth) for part in choices]
    if {"anyOf", "oneOf"} <= given.keys() or not (kinds or _SAYS_WHAT & body.keys()):
        raise _CannotBe
    if "object" in kinds:
        body |= _object(given, dialect, depth=depth, top=top)
    if "array" in kinds:
        body["items"] = _part(given.get("items"), dialect, depth=depth + 1)
    return body


def _words(given: Schema, dialect: Dialect) -> Schema:
    """What this dialect keeps besides the structure."""
    if any(isinstance(value, dict | list) for value in (*given.get("enum", ()), given.get("const"))):
        raise _CannotBe
    body = {key: value for key, value in given.items() if key in dialect.keeps}
    return body | {"format": given["format"]} if given.get("format") in _FORMATS else body


def _only(given: Schema, dialect: Dialect, *, depth: int) -> Schema:
    """A list of one part, which is how some writers put words beside a reference."""
    parts = given["allOf"]
    structure = {"type", "properties", "anyOf", "oneOf", "items", "enum", "const"}
    if not isinstance(parts, list) or len(cast("list[Any]", parts)) != 1 or structure & given.keys():
        raise _CannotBe
    return _part(parts[0], dialect, depth=depth)


def _object(given: Schema, dialect: Dialect, *, depth: int, top: bool) -> Schema:
    properties = _mapping(given.get("properties"))
    others = given.get("additionalProperties")
    if others not in (None, False) or (not properties and others is None and not top):
        raise _CannotBe
    required = [name for name in given.get("required", ()) if name in properties]
    body: Schema = {name: _part(part, dialect, depth=depth + 1) for name, part in properties.items()}
    if dialect.all_required:
        body = {
            name: part if name in required else _or_null(_with_default(part, properties[name]))
            for name, part in body.items()
        }
        required = list(body)
    return {"properties": body, "required": required, "additionalProperties": False}


def _with_default(part: Schema, given: Schema) -> Schema:
    """Null stands for leaving it out; the model is told what that means."""
    default = given.get("default")
    if default is None or "$ref" in part:
        return part
    words = (part.get("description", ""), f"Default: {json.dumps(default, ensure_ascii=False)}.")
    return part | {"description": " ".join(word for word in words if word)}


def _or_null(part: Schema) -> Schema:
    kinds = _kinds(part)
    if "null" in kinds or {"type": "null"} in part.get("anyOf", ()):
        return part
    if kinds and not {"enum", "const", "anyOf"} & part.keys():
        return part | {"type": [*kinds, "null"]}
    described = {"description": part["description"]} if "description" in part else {}
    rest = {key: value for key, value in part.items() if key != "description"}
    choices = rest["anyOf"] if set(rest) == {"anyOf"} else [rest]
    return {"anyOf": [*choices, {"type": "null"}]} | described


def _kinds(schema: Schema) -> list[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return [kind]
    return [each for each in cast("list[Any]", kind) if isinstance(each, str)] if isinstance(kind, list) else []


def _reference(schema: Schema) -> str:
    reference = schema["$ref"]
    if not isinstance(reference, str) or _LOCAL.fullmatch(reference) is None:
        raise _CannotBe
    return reference


def _check_references(schema: Schema, dialect: Dialect) -> None:
    """Every reference leads somewhere, and in a circle only where the dialect bears that."""
    graph: dict[str, set[str]] = {}
    for place in _PLACES:
        for name, part in _mapping(schema.get(place)).items():
            graph[f"#/{place}/{name}"] = _references(part)
    rest = {key: value for key, value in schema.items() if key not in _PLACES}
    if not _references(rest).union(*graph.values()) <= graph.keys():
        raise _CannotBe
    while graph and not dialect.recursive:
        leaves = {name for name, onward in graph.items() if not onward & graph.keys()}
        if not leaves:
            raise _CannotBe
        graph = {name: onward for name, onward in graph.items() if name not in leaves}


def _references(value: Any) -> set[str]:
    if isinstance(value, dict):
        body = cast("Schema", value)
        own = {body["$ref"]} if isinstance(body.get("$ref"), str) else set[str]()
        return own.union(*(_references(part) for part in body.values()))
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return set[str]().union(*(_references(item) for item in items))


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Schema", value) if isinstance(value, dict) else {}
