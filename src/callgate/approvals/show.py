"""What a person sees of a call: the exact payload, with everything that could hide in it made visible."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Any

from callgate.model.canonical import dumps

_KEPT = frozenset("\n\t")
_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cn", "Cs", "Zl", "Zp"})
_ODD_SPACES = frozenset({"Zs"})


def visible(text: str) -> str:
    """The text with control, format, private and look-alike space characters written as `<U+200B>`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show(character) for character in text)


def _show(character: str) -> str:
    if character in _KEPT or character == " ":
        return character
    category = unicodedata.category(character)
    if category in _CATEGORIES or category in _ODD_SPACES:
        return f"<U+{ord(character):04X}>"
    return character


def payload(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call as one line per argument, in canonical JSON with hidden characters visible."""
    lines = [f"  {visible(name)}: {visible(dumps(value).decode())}" for name, value in sorted(arguments.items())]
    return "\n".join([visible(tool), *lines])
