"""What providers refuse in the schemas of tools, for the stub servers; after their public documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from tests.frameworks.stub_server import Body, refuse_unless

_TOP = ("oneOf", "anyOf", "allOf", "enum", "not")
_SCHEMAS = ("items", "additionalProperties", "not", "if", "then", "else")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_TABLES = ("properties", "$defs", "definitions", "patternProperties")
_NOT_OPENAI = frozenset(
    {"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties"}
    | {"default", "minLength", "maxLength", "prefixItems", "uniqueItems", "contains", "propertyNames"}
)
_NOT_ANTHROPIC = frozenset(
    {"oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "patternProperties"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"}
    | {"maxItems", "prefixItems", "uniqueItems", "contains", "propertyNames"}
)
_DEEPEST = 10


def check_name(name: Any, *, longest: int) -> None:
    """Refuse a tool's name that the provider does not take."""
    fits = isinstance(name, str) and re.fullmatch(rf"[a-zA-Z0-9_-]{{1,{longest}}}", name)
    refuse_unless(fits, f"tool name {name!r} does not fit ^[a-zA-Z0-9_-]{{1,{longest}}}$")


def check_plain(schema: Any, where: str) -> None:
    """Refuse what no tool may have, strict or not."""
    refuse_unless(isinstance(schema, dict), f"{where}: the schema is no object")
    body = cast("Body", schema)
    refuse_unless(body.get("type") == "object", f"{where}: the schema must be of type object")
    for word in _TOP:
        refuse_unless(word not in body, f"{where}: {word} may not stand at the top of a schema")
    for name in body.get("properties", {}):
        refuse_unless(re.fullmatch(r"[a-zA-Z0-9_.-]{1,64}", name), f"{where}: the property {name!r} has a bad name")
    for part, _ in _parts(body):
        listed = "array" in _kinds(part)
        refuse_unless(not listed or isinstance(part.get("items"), dict | bool), f"{where}: an array has no items")


def check_strict(schema: Body, where: str, *, openai: bool) -> None:
    """Refuse what a strict tool may not have."""
    unknown = _NOT_OPENAI if openai else _NOT_ANTHROPIC
    for part, depth in _parts(schema):
        found = sorted(unknown & part.keys())
        refuse_unless(not found, f"{where}: strict mode does not know {', '.join(found)}")
        refuse_unless(depth <= _DEEPEST or not openai, f"{where}: more than {_DEEPEST} levels of nesting")
        if "object" in _kinds(part):
            refuse_unless(part.get("additionalProperties") is False, f"{where}: additionalProperties must be false")
            missing = set(part.get("properties", {})) - set(part.get("required", []))
            refuse_unless(not (openai and missing), f"{where}: not required are {', '.join(sorted(missing))}")


def _kinds(part: Body) -> list[Any]:
    kind = part.get("type")
    return cast("list[Any]", kind) if isinstance(kind, list) else [kind]


def _parts(schema: Body, depth: int = 0) -> Iterator[tuple[Body, int]]:
    """A schema and all schemas in it, each with its depth of nesting."""
    yield schema, depth
    inner: list[tuple[Any, int]] = [(schema.get(name), depth + 1) for name in _SCHEMAS]
    inner += [(part, depth) for name in _LISTS for part in schema.get(name, ())]
    inner += [(part, depth + 1) for name in _TABLES for part in schema.get(name, {}).values()]
    for part, level in inner:
        if isinstance(part, dict):
            yield from _parts(cast("Body", part), level)
