"""Characters that a reader does not see, made visible: what a person reviews is what a model reads."""

from __future__ import annotations

import unicodedata

_KEPT = frozenset("\n\t")
_CATEGORIES = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_FILLERS = frozenset({0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0})
_SELECTORS = frozenset(range(0xFE00, 0xFE10)) | frozenset(range(0xE0100, 0xE01F0))
_INVISIBLE = _FILLERS | _SELECTORS
"""Letters and marks that draw nothing: fillers and variation selectors, which can carry a text of their own."""
_EMOJI_GLUE = frozenset("\ufe0f\u200d")
_EMOJI = frozenset({"So", "Sk"})


def visible(text: str) -> str:
    """The text with every hidden character written as `<U+200B>`; emoji stay whole."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_show(text, index) for index in range(len(text)))


def has_hidden(text: str) -> bool:
    """Whether anything in the text would not be seen."""
    return visible(text) != text


def _show(text: str, index: int) -> str:
    character = text[index]
    if character in _KEPT or not _hides(character) or _glues_emoji(text, index):
        return character
    return f"<U+{ord(character):04X}>"


def _hides(character: str) -> bool:
    return unicodedata.category(character) in _CATEGORIES or ord(character) in _INVISIBLE


def _glues_emoji(text: str, index: int) -> bool:
    """One joiner or selector right behind a symbol belongs to it; a second one would be a message."""
    if text[index] not in _EMOJI_GLUE or index == 0:
        return False
    before = text[index - 1]
    if text[index] == "\u200d" and before == "\ufe0f" and index > 1:
        before = text[index - 2]
    return unicodedata.category(before) in _EMOJI
