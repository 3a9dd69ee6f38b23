"""The parameters of an entry as a JSON Schema: names with their types, as the registries write them, or a schema."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, cast

from callgate.adapters.parameters import NONE, read_parameters
from callgate.adapters.target import find_target
from callgate.errors import ConfigurationError
from callgate.model.visible import brief

_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")
_ALSO = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "list": "array",
    "dict": "object",
}
Schema = dict[str, Any]


def input_schema(parameters: Any) -> Schema | None:
    """The schema that parameters stand for; None when an entry has none.

    A parameter is required unless it says `required: false` or has a default; others than those named are refused.

    Raises:
        ConfigurationError: They are not parameters.
    """
    if parameters is None:
        return None
    if not isinstance(parameters, Mapping):
        raise ConfigurationError("must be parameters by name, or a JSON Schema", key="parameters")
    named = cast("Mapping[Any, Any]", parameters)
    if named.get("type") == "object" and isinstance(named.get("properties", {}), Mapping):
        return dict(named)
    properties: Schema = {}
    required: list[str] = []
    for key, value in named.items():
        name = str(key)
        spec: Mapping[str, Any] = {"type": value} if isinstance(value, str) else value
        properties[name] = _property(name, spec)
        if _is_required(name, spec):
            required.append(name)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def disagreement(function: Any, schema: Schema) -> str | None:
    """Why a function cannot be called with what a schema lets through; None when it can."""
    found = find_target(function)
    taken = {parameter.name: parameter.default is NONE for parameter in read_parameters(found).fillable}
    properties: Mapping[str, Any] = schema.get("properties", {})
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(function).parameters.values())
    for name in properties:
        if name not in taken and not takes_any:
            return f"its function takes no {brief(name)!r}, which its parameters name"
    sure = {*schema.get("required", ()), *(name for name, spec in properties.items() if _has_default(spec))}
    for name, needed in taken.items():
        if needed and name not in sure:
            return f"its function needs {brief(name)!r}, which its parameters do not require"
    return None


def _property(name: str, spec: Any) -> Schema:
    if not isinstance(spec, Mapping):
        raise ConfigurationError(f"{brief(name)!r} must be a type, or fields such as type and description")
    body = {key: value for key, value in cast("Mapping[str, Any]", spec).items() if not _is_our_required(key, value)}
    kind = body.get("type")
    if isinstance(kind, str):
        body["type"] = _ALSO.get(kind, kind)
        if body["type"] not in _TYPES:
            raise ConfigurationError(f"{brief(name)!r} has the unknown type {brief(kind)!r}; use {', '.join(_TYPES)}")
    return body


def _is_our_required(key: str, value: Any) -> bool:
    """`required` as true or false is said of the parameter; as a list it belongs to an object's own schema."""
    return key == "required" and not isinstance(value, list)


def _is_required(name: str, spec: Mapping[str, Any]) -> bool:
    said: Any = spec.get("required", True)
    if not isinstance(said, (bool, list)):
        raise ConfigurationError(f"{brief(name)!r}: required must be true or false")
    return said is not False and "default" not in spec


def _has_default(spec: Any) -> bool:
    return isinstance(spec, Mapping) and "default" in spec
