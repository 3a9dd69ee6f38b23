"""The top of an input schema as providers take it: one object with properties of acceptable names, and nothing beside.

Providers refuse alternatives, references and conditions at the top, and names of parameters with other characters.
What is told to a model may be wider than the tool's schema, never narrower: the gate holds the arguments to the whole.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

from callgate.model.canonical import NotCanonical, dumps

Schema = dict[str, Any]
_ALTERNATIVES = ("anyOf", "oneOf")
_REFUSED = frozenset(
    {"$ref", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const"}
    | {"dependentRequired", "dependentSchemas", "dependencies"}
)
_DEPTH = 16


def plain_object(schema: Schema) -> Schema:
    """A copy whose top is an object and no combination; the properties of combined parts are gathered."""
    if schema.get("type") == "object" and "properties" in schema and not _REFUSED & schema.keys():
        return copy.deepcopy(schema)
    properties, required = _gathered(schema, root=schema, depth=_DEPTH)
    body = {key: value for key, value in schema.items() if key not in _REFUSED}
    if len(properties) > len(body.get("properties", {})):
        # What forbids other names counted without the parts.
        body.pop("additionalProperties", None)
        body.pop("unevaluatedProperties", None)
    body |= {"type": "object", "properties": properties}
    if required:
        body["required"] = sorted(required)
    return copy.deepcopy(body)


def _gathered(schema: Schema, *, root: Schema, depth: int) -> tuple[Schema, set[str]]:
    """Every property that may be given, and those that must be."""
    properties = dict(_mapping(schema.get("properties")))
    required = {name for name in schema.get("required", ()) if isinstance(name, str)}
    if depth == 0:
        return properties, required
    parts = [*_schemas(schema.get("allOf")), *_referred(schema, root)]
    for part in parts:
        more, needed = _gathered(part, root=root, depth=depth - 1)
        _add(properties, more)
        required |= needed
    for word in _ALTERNATIVES:
        choices = [_gathered(part, root=root, depth=depth - 1) for part in _schemas(schema.get(word))]
        for more, _ in choices:
            _add(properties, more)
        if choices:
            required |= set[str].intersection(*(needed for _, needed in choices))
    return properties, required & properties.keys()


def _add(properties: Schema, more: Schema) -> None:
    """Where parts say different things of one property, either may hold."""
    for name, schema in more.items():
        known = properties.setdefault(name, schema)
        if known != schema:
            either: list[Any] = known["anyOf"] if _is_choice(known) else [known]
            properties[name] = {"anyOf": [*either, *([] if schema in either else [schema])]}


def _is_choice(schema: Any) -> bool:
    return isinstance(schema, dict) and set(cast("Schema", schema)) == {"anyOf"}


def _referred(schema: Schema, root: Schema) -> list[Schema]:
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return []
    for place in ("$defs", "definitions"):
        if reference.startswith(f"#/{place}/"):
            found = _mapping(root.get(place)).get(reference.removeprefix(f"#/{place}/"))
            return _schemas([found])
    return []


def _schemas(values: Any) -> list[Schema]:
    items = cast("list[Any]", values) if isinstance(values, list) else []
    return [cast("Schema", item) for item in items if isinstance(item, dict)]


def _mapping(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}


def rename_properties(schema: Schema, wires: Mapping[str, str]) -> Schema:
    """The schema with its top properties under the names that travel."""
    if all(name == wire for name, wire in wires.items()) or b'"#/properties/' in dumps(schema):
        return schema
    properties = {wires.get(name, name): part for name, part in _mapping(schema.get("properties")).items()}
    body = schema | {"properties": properties}
    if "required" in schema:
        body["required"] = [wires.get(name, name) for name in schema["required"]]
    return body


def rename_arguments(arguments: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The arguments under other names: those that travel, or from them back.

    Raises:
        NotCanonical: Two of them would be one.
    """
    renamed = {names.get(name, name): value for name, value in arguments.items()}
    if len(renamed) != len(arguments):
        raise NotCanonical("a parameter is given twice, under its own name and under the one it travels by")
    return renamed
