"""A form from a JSON Schema: a field for every argument that has a simple kind, JSON for the others. And back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from callgate.model.canonical import NotCanonical, loads
from callgate.model.shapes import as_mapping, as_sequence

PREFIX = "argument:"
"""Before the names of arguments, so that none of them is a name of ours."""
_LONG = ("text", "content", "body", "query", "code", "message", "note")
_LOCAL = "#/"
_DEPTH = 8


@dataclass(frozen=True, slots=True)
class Field:
    """One argument, as a form asks for it."""

    name: str
    kind: str
    """`text`, `long`, `whole`, `number`, `truth`, `choice` or `json`."""
    needed: bool
    description: str
    choices: tuple[str, ...]
    """Of a choice: each value as JSON."""
    value: str
    """What stands in it at first: the default, or what was typed."""


def fields_of(schema: Mapping[str, Any], typed: Mapping[str, str] | None = None) -> list[Field]:
    """The fields of a schema, in its order; with what was typed before, where the form is shown again."""
    return list(_fields(schema, typed))


def _fields(schema: Mapping[str, Any], typed: Mapping[str, str] | None) -> Iterator[Field]:
    needed = as_sequence(schema.get("required")) or []
    for name, given in (as_mapping(schema.get("properties")) or {}).items():
        about = _meant(as_mapping(given) or {}, schema)
        kind = _kind(str(name), about)
        value = _default(about, kind) if typed is None else typed.get(str(name), "")
        yield Field(
            name=str(name),
            kind=kind,
            needed=name in needed,
            description=str(about.get("description", "")),
            choices=tuple(json.dumps(each, ensure_ascii=False) for each in _choices(about)),
            value=value,
        )


def arguments_of(schema: Mapping[str, Any], typed: Callable[[str], str]) -> dict[str, Any]:
    """The arguments that a form gives; what is left empty and not needed is left out.

    Raises:
        ValueError: A field cannot be read as what it is; the message names it.
    """
    found: dict[str, Any] = {}
    for field in fields_of(schema):
        text = typed(PREFIX + field.name)
        if text == "" and not (field.needed and field.kind in {"text", "long"}):
            continue
        try:
            found[field.name] = text if field.kind in {"text", "long"} else loads(text)
        except (NotCanonical, ValueError):
            message = f"{field.name}: {text} is not {_SAID.get(field.kind, 'JSON')}"
            raise ValueError(message) from None
    return found


_SAID = {"whole": "a whole number", "number": "a number", "truth": "true or false"}


def _meant(about: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A property with its local references followed, and without the null that makes it optional."""
    found = dict(about)
    for _ in range(_DEPTH):
        reference = found.get("$ref")
        if isinstance(reference, str) and reference.startswith(_LOCAL):
            inner = _pointed(schema, reference)
            found = {**inner, **{name: value for name, value in found.items() if name != "$ref"}}
            continue
        choices = as_sequence(found.get("anyOf")) or []
        kept = [as_mapping(each) or {} for each in choices if (as_mapping(each) or {}).get("type") != "null"]
        if len(kept) != 1:
            return found
        found = {**kept[0], **{name: value for name, value in found.items() if name != "anyOf"}}
    return found


def _pointed(schema: Mapping[str, Any], reference: str) -> Mapping[str, Any]:
    found: Any = schema
    for part in reference.removeprefix(_LOCAL).split("/"):
        found = (as_mapping(found) or {}).get(part.replace("~1", "/").replace("~0", "~"))
    return as_mapping(found) or {}


def _kind(name: str, about: Mapping[str, Any]) -> str:
    if _choices(about):
        return "choice"
    named = about.get("type")
    if named == "string":
        return "long" if name in _LONG or about.get("maxLength", 0) > 200 else "text"  # noqa: PLR2004 - what fits a line
    return {"integer": "whole", "number": "number", "boolean": "truth"}.get(str(named), "json")


def _choices(about: Mapping[str, Any]) -> list[Any]:
    return [about["const"]] if "const" in about else (as_sequence(about.get("enum")) or [])


def _default(about: Mapping[str, Any], kind: str) -> str:
    if "default" not in about or about["default"] is None:
        return ""
    value = about["default"]
    return value if isinstance(value, str) and kind in {"text", "long"} else json.dumps(value, ensure_ascii=False)
