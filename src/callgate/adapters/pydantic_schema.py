"""The JSON Schema of type hints, as models read it best: no titles made from names, enums in place, nothing extra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaWarningKind
from typing_extensions import override

from callgate.adapters.schema_walk import Places, Schema, walk
from callgate.errors import ConfigurationError
from callgate.model.canonical import NotCanonical, dumps


class _Generator(GenerateJsonSchema):
    """Pydantic's generator without titles and without warnings about defaults that JSON cannot say."""

    ignored_warning_kinds: ClassVar[set[JsonSchemaWarningKind]] = {"skipped-choice", "non-serializable-default"}  # pyright: ignore[reportIncompatibleVariableOverride]

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def make_schema(adapter: TypeAdapter[Any], *, mode: JsonSchemaMode = "validation") -> Schema:
    """The schema of a type, JSON Schema 2020-12.

    Raises:
        ConfigurationError: Something an author put in is no JSON.
    """
    schema = adapter.json_schema(schema_generator=_Generator, mode=mode)
    _place_enums(schema)
    for _, part in walk(schema):
        if "default" in part and not _is_json(part["default"]):
            del part["default"]
    if not _is_json(schema):
        raise ConfigurationError("the schema made from the type hints is not JSON")
    return schema


def describe(schema: Schema, descriptions: Mapping[str, str]) -> None:
    """Add what the docstring says where the hints say nothing."""
    schema.pop("title", None)
    properties: dict[str, Schema] = schema.setdefault("properties", {})
    for name, words in descriptions.items():
        if name in properties:
            properties[name].setdefault("description", words)


def close(schema: Schema) -> bool:
    """Refuse unknown properties in nested objects too; False, and nothing changed, where an author lets them in."""
    objects = [part for _, part in walk(schema) if "properties" in part]
    if any(part.get("additionalProperties") not in (None, False) for part in objects):
        return False
    for part in objects:
        part["additionalProperties"] = False
    return True


def _is_json(value: Any) -> bool:
    try:
        dumps(value)
    except NotCanonical:
        return False
    return True


def _place_enums(schema: Schema) -> None:
    """Put enums where they are used: a model reads choices better than references."""
    places = Places(schema)
    for _, part in list(walk(schema)):
        found = places.find(part.get("$ref"))
        if found is not None and "enum" in found[1]:
            del part["$ref"]
            part.update({key: value for key, value in found[1].items() if key not in part})
    definitions: dict[str, Schema] = schema.get("$defs", {})
    for name in [name for name, part in definitions.items() if "enum" in part]:
        del definitions[name]
    if not definitions:
        schema.pop("$defs", None)
