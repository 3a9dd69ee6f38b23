"""Stand-ins: a value of the shape a tool declares for its output, for a dry run that has no real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.flows.program.handed import Handing, NotPlain
from callgate.model.shapes import as_mapping, as_sequence

_DEEPEST = 8
_MOST_BYTES = 64 * 1024
_MOST_PARTS = 2_000
"""Parts of a schema that refer to one another could be followed without end."""
_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "null": None}


def stand_in(schema: Mapping[str, Any] | None) -> Any:
    """The emptiest value that has the declared shape; None where nothing is declared, or too much."""
    return None if schema is None else _StandIn(as_mapping(schema.get("$defs")) or {}).of(schema)


class _StandIn:
    def __init__(self, definitions: Mapping[Any, Any]) -> None:
        self._definitions = definitions
        self._left = _MOST_PARTS
        self._handing = Handing(_MOST_BYTES)

    def of(self, schema: Any, *, depth: int = 0) -> Any:
        body = as_mapping(schema)
        self._left -= 1
        if body is None or depth > _DEEPEST or self._left < 0:
            return None
        if "$ref" in body:
            name = str(body["$ref"]).removeprefix("#/$defs/")
            return self.of(self._definitions.get(name), depth=depth + 1)
        for given in ("const", "default"):
            if given in body:
                return self._given(body[given])
        for choices in ("enum", "anyOf", "oneOf"):
            listed = as_sequence(body.get(choices))
            if listed:
                return self._given(listed[0]) if choices == "enum" else self.of(listed[0], depth=depth + 1)
        return self._typed(body, depth=depth)

    def _given(self, value: Any) -> Any:
        try:
            return self._handing.plain(value)
        except NotPlain:
            return None

    def _typed(self, body: Mapping[Any, Any], *, depth: int) -> Any:
        kinds = as_sequence(body.get("type"))
        kind: Any = kinds[0] if kinds else body.get("type")
        if kind == "object":
            properties = as_mapping(body.get("properties")) or {}
            return {str(name): self.of(each, depth=depth + 1) for name, each in properties.items() if self._left > 0}
        if kind == "array":
            return []
        return _EMPTY.get(str(kind))
