"""The parts of a JSON Schema: which of its keys hold schemas, and where a reference inside it leads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast
from urllib.parse import unquote

Schema = dict[str, Any]

_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies"})
_LISTED = frozenset({"anyOf", "oneOf", "allOf", "prefixItems", "items"})
_SINGLE = frozenset(
    {
        "items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains",
        "propertyNames", "not", "if", "then", "else", "contentSchema",
    }
)  # fmt: skip


def subschemas(schema: Schema) -> Iterator[tuple[str, Schema]]:
    """Every schema directly inside this one, with its pointer from here (`/properties/name`)."""
    for key, value in schema.items():
        for step, part in _held(key, value):
            if isinstance(part, dict):
                yield f"/{key}{step}", cast("Schema", part)


def _held(key: str, value: Any) -> list[tuple[str, Any]]:
    if key in _NAMED and isinstance(value, dict):
        return [(f"/{_escape(name)}", part) for name, part in cast("Schema", value).items()]
    if key in _LISTED and isinstance(value, list):
        return [(f"/{index}", part) for index, part in enumerate(cast("list[Any]", value))]
    return [("", value)] if key in _SINGLE else []


def walk(root: Schema) -> Iterator[tuple[str, Schema]]:
    """The schema and every schema inside it, with pointers from the root."""
    pending = [("", root)]
    while pending:
        pointer, schema = pending.pop()
        yield pointer, schema
        pending.extend((pointer + step, part) for step, part in subschemas(schema))


class Places:
    """Where the references of one document lead."""

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._anchors: dict[str, tuple[str, Schema]] = {}
        self.ids: set[str] = set()
        """The names of the document and of those embedded in it."""
        for pointer, schema in walk(root):
            self._note(pointer, schema)

    def find(self, reference: Any) -> tuple[str, Schema] | None:
        """The pointer and schema a reference leads to; None when it leads elsewhere or nowhere."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        pointer = unquote(reference[1:])
        if pointer and not pointer.startswith("/"):
            return self._anchors.get(pointer)
        place: Any = self._root
        for step in pointer.split("/")[1:]:
            place = _step(place, step.replace("~1", "/").replace("~0", "~"))
        return (pointer, cast("Schema", place)) if isinstance(place, dict) else None

    def _note(self, pointer: str, schema: Schema) -> None:
        name = schema.get("$id")
        if isinstance(name, str) and not name.startswith("#"):
            self.ids.add(name)
        for anchor in (schema.get("$anchor"), schema.get("$dynamicAnchor"), name):
            if isinstance(anchor, str):
                self._anchors.setdefault(anchor.removeprefix("#"), (pointer, schema))


def _step(place: Any, key: str) -> Any:
    if isinstance(place, dict):
        return cast("Schema", place).get(key)
    if isinstance(place, list) and key.isdecimal():
        items = cast("list[Any]", place)
        return items[int(key)] if int(key) < len(items) else None
    return None


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
