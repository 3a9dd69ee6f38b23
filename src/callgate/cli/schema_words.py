"""A JSON Schema in words for a person: the types of its fields and what bounds them. Exact is only the JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote

from callgate.model.shapes import MORE_PROPERTIES, as_mapping, as_sequence

_ANY = "any"
_DEEPEST = 6
_DEEPEST_SHAPE = 2
"""Objects further inside are just that: their fields would hide those of the outer one."""
_MOST_PARTS = 200
"""Of one field: parts that refer to one another could be followed without end."""
_MOST_FIELDS = 12
_MOST_CHOICES = 40
_LONGEST_PATTERN = 60
_NOT_BLANK = r"\S"
_FORMATS = frozenset({"date", "date-time", "time", "duration", "email", "uri", "uuid", "hostname", "ipv4", "ipv6"})
"""Those that everybody reads alike; others are a tool's own."""


class Field(NamedTuple):
    """One property of an object."""

    name: str
    type: str
    needed: bool
    about: Mapping[Any, Any]
    """What else is said of it, its references followed."""


class Words:
    """The words for the parts of one schema, whose references are followed."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._left = _MOST_PARTS

    def fields(self) -> list[Field] | None:
        """The properties on top; None where the schema is of no object that has some."""
        body = self._whole(self._schema)
        return list(self._fields(body)) if as_mapping(body.get("properties")) else None

    def unnamed(self) -> str | None:
        """What an object that names no properties takes, as far as words tell it; None where it takes nothing."""
        body = self._whole(self._schema)
        if body.get("maxProperties") == 0 or (
            body.get("additionalProperties") is False and not MORE_PROPERTIES & body.keys()
        ):
            return None
        self._left = _MOST_PARTS
        choices = as_sequence(body.get("anyOf")) or as_sequence(body.get("oneOf"))
        # That it is an object is said beside the choices, and would be all that is told.
        told = self._type({key: body[key] for key in body if key != "type"} if choices else body, depth=0)
        return "" if told in {_ANY, "object"} else told

    def type(self) -> str:
        """The type of the whole."""
        self._left = _MOST_PARTS
        return self._type(self._schema, depth=0)

    def _fields(self, body: Mapping[Any, Any]) -> Iterator[Field]:
        needed = as_sequence(body.get("required")) or []
        for name, given in (as_mapping(body.get("properties")) or {}).items():
            self._left = _MOST_PARTS
            yield Field(str(name), self._type(given, depth=0), name in needed, self._whole(given))

    def _whole(self, given: Any) -> Mapping[Any, Any]:
        """A part with what it refers to put in its place; what is said beside a reference counts more."""
        body = as_mapping(given) or {}
        for _ in range(_DEEPEST):
            found = self._referred(body.get("$ref"))
            parts = as_sequence(body.get("allOf")) or []
            if found is not None:
                body = {**found, **{key: value for key, value in body.items() if key != "$ref"}}
            elif len(parts) == 1:
                body = {**(as_mapping(parts[0]) or {}), **{key: body[key] for key in body if key != "allOf"}}
            else:
                break
        return body

    def _referred(self, reference: Any) -> Mapping[Any, Any] | None:
        """What a reference into the same schema leads to."""
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return None
        place: Any = self._schema
        for step in unquote(reference).split("/")[1:]:
            place = (as_mapping(place) or {}).get(step.replace("~1", "/").replace("~0", "~"))
        return as_mapping(place)

    def _type(self, given: Any, *, depth: int) -> str:
        self._left -= 1
        if depth > _DEEPEST or self._left < 0:
            return _ANY
        body = self._whole(given)
        if "enum" in body or "const" in body:
            return _one_of(as_sequence(body.get("enum")) or [body.get("const")])
        choices = as_sequence(body.get("anyOf")) or as_sequence(body.get("oneOf")) or []
        if choices and "type" not in body:
            return _either(self._type(choice, depth=depth + 1) for choice in choices)
        kinds = as_sequence(body.get("type")) or [body.get("type") or _guess(body)]
        return _either(self._kind(str(kind) or _ANY, body, depth=depth) for kind in kinds)

    def _kind(self, kind: str, body: Mapping[Any, Any], *, depth: int) -> str:
        if kind == "array":
            return ", ".join([self._list(body, depth=depth), *_bounds(kind, body)])
        if kind == "object":
            return ", ".join([self._object(body, depth=depth), *_bounds(kind, body)])
        return ", ".join([kind, *_bounds(kind, body)])

    def _list(self, body: Mapping[Any, Any], *, depth: int) -> str:
        first = as_sequence(body.get("prefixItems"))
        if first:
            return f"list of [{', '.join(self._type(each, depth=depth + 1) for each in first[:_MOST_FIELDS])}]"
        inner = self._type(body["items"], depth=depth + 1) if as_mapping(body.get("items")) else _ANY
        return "list" if inner == _ANY else f"list of {_together(inner)}"

    def _object(self, body: Mapping[Any, Any], *, depth: int) -> str:
        properties = as_mapping(body.get("properties")) or {}
        if properties and depth <= _DEEPEST_SHAPE:
            needed = as_sequence(body.get("required")) or []
            told = [
                f"{name}{'' if name in needed else '?'}: {_together(self._type(given, depth=depth + 1))}"
                for name, given in list(properties.items())[:_MOST_FIELDS]
            ]
            return f"{{{', '.join(told + ['…'] * (len(properties) > _MOST_FIELDS))}}}"
        if properties or not as_mapping(body.get("additionalProperties")):
            return "object"
        inner = self._type(body["additionalProperties"], depth=depth + 1)
        return "object" if inner == _ANY else f"object of {_together(inner)}"


def _guess(body: Mapping[Any, Any]) -> str:
    return "object" if "properties" in body else "array" if "items" in body else _ANY


def _one_of(values: list[Any]) -> str:
    told = [json.dumps(value, ensure_ascii=False, default=str) for value in values[:_MOST_CHOICES]]
    return " or ".join([*told, *([f"{len(values) - _MOST_CHOICES} more"] if len(values) > _MOST_CHOICES else [])])


def _either(words: Iterable[str]) -> str:
    """Types of which one has to fit; behind a bound a comma keeps the next one apart from it."""
    first, *others = dict.fromkeys(words)
    if _ANY in {first, *others}:
        return _ANY
    text = first
    for word in others:
        text += (", or " if ", " in text and text[-1] not in "]})" else " or ") + word
    return text


def _together(text: str) -> str:
    """A type inside another: in parentheses where its end could not be seen."""
    one_shape = text[0] + text[-1] == "{}" and "} or {" not in text
    return text if one_shape or not (", " in text or " or " in text) else f"({text})"


def _bounds(kind: str, body: Mapping[Any, Any]) -> Iterator[str]:
    """`1 to 1000`, `at most 64 characters`, each rule by itself."""
    if kind in {"integer", "number"}:
        yield from _range(body)
    elif kind == "string":
        yield from _count(body, "Length", noun="character")
        yield from _form(body)
    elif kind == "array":
        yield from _count(body, "Items", noun="item")
        yield from ["each once"] if body.get("uniqueItems") is True else []
    elif kind == "object":
        yield from _count(body, "Properties", noun="field")


def _range(body: Mapping[Any, Any]) -> Iterator[str]:
    least, most, above, below = (
        _number(body.get(key)) for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    )
    if least and most and not (above or below):
        yield f"{least} to {most}"
    else:
        words = {"above": above, "at least": least, "below": below, "at most": most}
        told = " and ".join(f"{word} {value}" for word, value in words.items() if value)
        yield from [told] if told else []
    step = _number(body.get("multipleOf"))
    yield from [f"a multiple of {step}"] if step else []


def _count(body: Mapping[Any, Any], of: str, *, noun: str) -> Iterator[str]:
    least, most = _number(body.get(f"min{of}")), _number(body.get(f"max{of}"))
    least = None if least == "0" else least
    if not least and not most:
        return
    told = f"exactly {most}" if least == most else f"{least} to {most}" if least and most else ""
    told = told or (f"at least {least}" if least else f"at most {most}")
    yield f"{told} {noun}{'' if told.endswith(' 1') else 's'}"


def _form(body: Mapping[Any, Any]) -> Iterator[str]:
    pattern, form = body.get("pattern"), body.get("format")
    if pattern == _NOT_BLANK:
        yield "not blank"
    elif isinstance(pattern, str) and 0 < len(pattern) <= _LONGEST_PATTERN:
        yield f"matching {pattern}"
    if isinstance(form, str) and form in _FORMATS:
        yield form


def _number(value: Any) -> str | None:
    """A bound as it is written; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return json.dumps(value).removesuffix(".0")
