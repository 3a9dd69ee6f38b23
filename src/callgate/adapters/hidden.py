"""Characters that a reader does not see, made visible: what a person reviews is what a model reads."""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("\n\t")
_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})
_FILLERS = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0})
_SELECTORS = frozenset(range(0xFE00, 0xFE10)) | frozenset(range(0xE0100, 0xE01F0))
_INVISIBLE = _FILLERS | _SELECTORS
"""Letters and marks that draw nothing: fillers and variation selectors, which can carry a text of their own."""
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Needed inside emoji and some scripts; hiding places anywhere else."""
_KEYCAPS = frozenset("0123456789#*")


def visible(text: str) -> str:
    """The text with every hidden character written as `<U+200B>`; emoji and scripts that join stay whole."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show(text, index) for index in range(len(text)))


def has_hidden(text: str) -> bool:
    """Whether anything in the text would not be seen."""
    return visible(text) != text


def _show(text: str, index: int) -> str:
    character = text[index]
    if character in _KEPT or not _hides(character) or _joins(text, index):
        return character
    return f"<U+{ord(character):04X}>"


def _hides(character: str) -> bool:
    return unicodedata.category(character) in _CATEGORIES or ord(character) in _INVISIBLE


def _joins(text: str, index: int) -> bool:
    """A joiner right behind a visible character belongs to it; a second one would be a message."""
    character, before = text[index], text[index - 1 : index]
    if character not in _JOINERS or not before:
        return False
    if before.isascii():
        return character == "\ufe0f" and before in _KEYCAPS
    if before == "\ufe0f" and character == "\u200d":
        return _joins(text, index - 1)
    return not _hides(before)
