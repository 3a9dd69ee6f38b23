"""Hints: a JSON Schema as the Python type an author would write. What cannot be said is `Any`, never narrower."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from callgate.model.shapes import as_mapping

_DEEPEST = 6
_MOST = 30
_MOST_PARTS = 500
"""Of the schemas of one tool: parts that refer to one another could be followed without end."""
_LONGEST_CHOICE = 300
_SIMPLE = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_ANY = "Any"


class Hints:
    """The types of one tool's schemas. Once it has looked at many parts, all the rest is `Any`."""

    def __init__(self, definitions: Mapping[Any, Any], *, parts: int = _MOST_PARTS) -> None:
        self._definitions = definitions
        self._left = parts

    def hint(self, schema: Any, *, depth: int = 0) -> str:
        """The type of the values a schema admits, or a wider one."""
        body = as_mapping(schema)
        self._left -= 1
        if body is None or depth > _DEEPEST or self._left < 0:
            return _ANY
        if "$ref" in body:
            name = str(body["$ref"]).removeprefix("#/$defs/")
            return self.hint(self._definitions.get(name), depth=depth + 1)
        if "enum" in body or "const" in body:
            return _choice(body.get("enum", [body.get("const")]))
        for union in ("anyOf", "oneOf"):
            if union in body:
                return _union(self.hint(each, depth=depth + 1) for each in _list(body[union]))
        kind = body.get("type")
        if isinstance(kind, list):
            return _union(self._typed(each, body, depth=depth) for each in _list(kind))
        return self._typed(kind, body, depth=depth)

    def _typed(self, kind: Any, body: Mapping[Any, Any], *, depth: int) -> str:
        if kind == "array":
            return f"list[{self.hint(body.get('items'), depth=depth + 1)}]"
        if kind == "object":
            return f"dict[str, {_ANY}]"
        return _SIMPLE.get(str(kind), _ANY)


def _choice(values: Any) -> str:
    listed = _list(values)
    if not listed or len(listed) > _MOST or not all(_is_short(each) for each in listed):
        return _ANY
    return f"Literal[{', '.join(repr(each) for each in listed)}]"


def _is_short(choice: Any) -> bool:
    if isinstance(choice, str):
        return len(choice) <= _LONGEST_CHOICE
    return choice is None or (isinstance(choice, int) and choice.bit_length() <= _LONGEST_CHOICE)


def _union(hints: Iterator[str]) -> str:
    named: dict[str, None] = {}
    for each in hints:
        if each == _ANY or len(named) > _MOST:
            return _ANY
        named[each] = None
    return " | ".join(named) if 0 < len(named) <= _MOST else _ANY


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - anyone's schema
