"""Templates: `${bb.key}` in a leaf's arguments, filled from the blackboard. What is filled in is not read again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from callgate.model.canonical import NotCanonical, dumps
from callgate.model.shapes import as_mapping

_OPENING = "${bb."
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_SLOT = re.compile(rf"\$\{{bb\.(?P<path>{_NAME}(?:\.[A-Za-z0-9_]+)*)\s*(?:\|\s*default:(?P<default>[^}}]*))?\}}")
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_DECIMAL = re.compile(r"[+-]?\d{1,18}\.\d{1,18}")
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "null": None, "none": None}
_QUOTES = ('"', "'")

Read = Callable[[str], Any]
"""The value of a blackboard key.

Raises:
    KeyError: It has none.
"""


class Missing(LookupError):
    """A template names something that the blackboard has not, and no default."""


def check(template: Any) -> None:
    """Look for slots that would be taken as text although somebody meant them to be filled.

    Raises:
        ValueError: One begins like a slot and is none.
    """
    for text in _texts(template):
        if text.count(_OPENING) != len(_SLOT.findall(text)):
            message = f"{text!r} has a slot that cannot be read; write ${{bb.key}} or ${{bb.key | default:value}}"
            raise ValueError(message)


def keys_of(template: Any) -> set[str]:
    """The blackboard keys that a template reads."""
    slots = (slot for text in _texts(template) for slot in _SLOT.finditer(text))
    return {slot["path"].partition(".")[0] for slot in slots}


def fill(template: Any, read: Read) -> Any:
    """The template with its slots filled: alone, a value with its type; inside text, text.

    Raises:
        Missing: Something it names is not there, and it has no default; or it has no text form.
    """
    if isinstance(template, str):
        return _fill_text(template, read)
    mapping = as_mapping(template)
    if mapping is not None:
        return {key: fill(value, read) for key, value in mapping.items()}
    if isinstance(template, list | tuple):
        return [fill(item, read) for item in cast("list[Any]", template)]
    return template


def _fill_text(text: str, read: Read) -> Any:
    alone = _SLOT.fullmatch(text)
    if alone is not None:
        return _value(alone, read)
    return _SLOT.sub(lambda slot: _as_text(slot, _value(slot, read)), text)


def _value(slot: re.Match[str], read: Read) -> Any:
    key, *rest = slot["path"].split(".")
    try:
        value = read(key)
        for part in rest:
            value = _inside(value, part)
    except (KeyError, IndexError):
        if slot["default"] is not None:
            return _parse(slot["default"].strip())
        message = f"the blackboard has no {slot['path']}"
        raise Missing(message) from None
    return value


def _inside(value: Any, part: str) -> Any:
    """One step down. Only into JSON: the attributes of objects are no business of a template."""
    mapping = as_mapping(value)
    if mapping is not None:
        return mapping[part]
    if isinstance(value, list | tuple) and part.isdecimal():
        return cast("list[Any]", value)[int(part)]
    raise KeyError(part)


def _as_text(slot: re.Match[str], value: Any) -> str:
    if isinstance(value, str):
        return value
    try:
        return dumps(value).decode()
    except NotCanonical:
        message = f"{slot['path']} on the blackboard has no text form ({type(value).__name__})"
        raise Missing(message) from None


def _parse(text: str) -> Any:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text):
        return float(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in _QUOTES
    return text[1:-1] if quoted else text


def _texts(template: Any) -> Iterator[str]:
    if isinstance(template, str):
        yield template
    mapping = as_mapping(template)
    if mapping is not None:
        for value in mapping.values():
            yield from _texts(value)
    elif isinstance(template, list | tuple):
        for item in cast("list[Any]", template):
            yield from _texts(item)
