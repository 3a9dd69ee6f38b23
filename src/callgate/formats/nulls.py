"""Nulls that stand for nothing: a strict provider's way to leave a parameter out, taken back by the tool's own schema.

Only a parameter that may be left out and may not be null is taken out; every other null is what the model said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

Schema = Mapping[str, Any]
_LOCAL = re.compile(r"#/(\$defs|definitions)/([^/~%]+)")
_DEEPEST = 64
_SAYS_WHAT = frozenset({"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"})


def without_nulls(arguments: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """The arguments without the nulls that only stand for a parameter left out."""
    return _object(arguments, schema, root=schema, depth=_DEEPEST)


def _object(value: Mapping[str, Any], schema: Schema, *, root: Schema, depth: int) -> dict[str, Any]:
    properties = _mapping(schema.get("properties"))
    required = schema.get("required", ())
    kept: dict[str, Any] = {}
    for name, item in value.items():
        part = properties.get(name)
        if item is None and name in properties and name not in required and not _admits_null(part, root, depth=depth):
            continue
        kept[name] = item if part is None else _inside(item, part, root=root, depth=depth - 1)
    return kept


def _inside(value: Any, schema: Any, *, root: Schema, depth: int) -> Any:
    if isinstance(value, dict):
        part = _the_one(schema, root, depth=depth, wanted="object")
        body = cast("dict[str, Any]", value)
        return body if part is None else _object(body, part, root=root, depth=depth)
    if isinstance(value, list):
        part = _the_one(schema, root, depth=depth, wanted="array")
        items = cast("list[Any]", value)
        return items if part is None else [_inside(e, part.get("items"), root=root, depth=depth - 1) for e in items]
    return value


def _the_one(schema: Any, root: Schema, *, depth: int, wanted: str) -> Schema | None:
    """The part that speaks for such a value; None where several could, because then none can be picked."""
    part = _mapping(schema)
    if depth <= 0:
        return None
    if "$ref" in part:
        return _the_one(_referred(part, root), root, depth=depth - 1, wanted=wanted)
    kind = part.get("type")
    if kind == wanted or (isinstance(kind, list) and wanted in kind):
        return part
    choices = [choice for word in ("anyOf", "oneOf", "allOf") for choice in part.get(word, ())]
    found = [one for each in choices if (one := _the_one(each, root, depth=depth - 1, wanted=wanted)) is not None]
    return found[0] if len(found) == 1 else None


def _admits_null(schema: Any, root: Schema, *, depth: int) -> bool:
    """Whether null itself may be meant; also where that cannot be told."""
    part = _mapping(schema)
    if depth <= 0 or not _SAYS_WHAT & part.keys():
        return schema is not False
    if "$ref" in part:
        return _admits_null(_referred(part, root), root, depth=depth - 1)
    kind, admits = part.get("type"), True
    if kind is not None:
        admits = kind == "null" or (isinstance(kind, list) and "null" in kind)
    if "enum" in part:
        admits = admits and None in part["enum"]
    if "const" in part:
        admits = admits and part["const"] is None
    for word in ("anyOf", "oneOf"):
        if word in part:
            admits = admits and any(_admits_null(choice, root, depth=depth - 1) for choice in part[word])
    return admits and all(_admits_null(each, root, depth=depth - 1) for each in part.get("allOf", ()))


def _referred(schema: Schema, root: Schema) -> Any:
    match = _LOCAL.fullmatch(str(schema["$ref"]))
    return None if match is None else _mapping(root.get(match[1])).get(match[2])


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
