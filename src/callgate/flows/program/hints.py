"""Hints: a JSON Schema as the Python type an author would write. What cannot be said is `Any`, never narrower."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.model.shapes import as_mapping

_DEEPEST = 6
_MOST = 30
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_ANY = "Any"


def hint(schema: Any, definitions: Mapping[Any, Any], *, depth: int = 0) -> str:
    """The type of the values a schema admits, or a wider one."""
    body = as_mapping(schema)
    if body is None or depth > _DEEPEST:
        return _ANY
    if "$ref" in body:
        name = str(body["$ref"]).removeprefix("#/$defs/")
        return hint(definitions.get(name), definitions, depth=depth + 1)
    if "enum" in body or "const" in body:
        return _choice(body.get("enum", [body.get("const")]))
    for union in ("anyOf", "oneOf"):
        if union in body:
            return _union(hint(each, definitions, depth=depth + 1) for each in _list(body[union]))
    kind = body.get("type")
    if isinstance(kind, list):
        return _union(_typed({**body, "type": each}, definitions, depth=depth) for each in _list(kind))
    return _typed(body, definitions, depth=depth)


def _typed(body: Mapping[Any, Any], definitions: Mapping[Any, Any], *, depth: int) -> str:
    kind = body.get("type")
    if kind == "array":
        return f"list[{hint(body.get('items'), definitions, depth=depth + 1)}]"
    if kind == "object":
        return f"dict[str, {_ANY}]"
    return _SIMPLE.get(str(kind), _ANY)


def _choice(values: Any) -> str:
    listed = _list(values)
    plain = all(each is None or isinstance(each, str | int) for each in listed)
    return f"Literal[{', '.join(repr(each) for each in listed)}]" if listed and plain and len(listed) <= _MOST else _ANY


def _union(hints: Any) -> str:
    named = list(dict.fromkeys(hints))
    return _ANY if not named or _ANY in named or len(named) > _MOST else " | ".join(named)


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - anyone's schema
