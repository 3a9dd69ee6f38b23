"""Stand-ins: a value of the shape a tool declares for its output, for a dry run that has no real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.model.shapes import as_mapping, as_sequence

_DEEPEST = 8
_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "null": None}


def stand_in(schema: Mapping[str, Any] | None) -> Any:
    """The emptiest value that has the declared shape; None where nothing is declared."""
    return None if schema is None else _of(schema, as_mapping(schema.get("$defs")) or {}, depth=0)


def _of(schema: Any, definitions: Mapping[Any, Any], *, depth: int) -> Any:
    body = as_mapping(schema)
    if body is None or depth > _DEEPEST:
        return None
    if "$ref" in body:
        return _of(definitions.get(str(body["$ref"]).removeprefix("#/$defs/")), definitions, depth=depth + 1)
    for given in ("const", "default"):
        if given in body:
            return body[given]
    for choices in ("enum", "anyOf", "oneOf"):
        listed = as_sequence(body.get(choices))
        if listed:
            return listed[0] if choices == "enum" else _of(listed[0], definitions, depth=depth + 1)
    return _typed(body, definitions, depth=depth)


def _typed(body: Mapping[Any, Any], definitions: Mapping[Any, Any], *, depth: int) -> Any:
    kinds = as_sequence(body.get("type"))
    kind: Any = kinds[0] if kinds else body.get("type")
    if kind == "object":
        properties = as_mapping(body.get("properties")) or {}
        return {str(name): _of(each, definitions, depth=depth + 1) for name, each in properties.items()}
    if kind == "array":
        return []
    return _EMPTY.get(str(kind))
