"""How wide text is on a terminal, and cutting and folding it by that width. Knows no terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

ELLIPSIS = "…"
_WIDE = frozenset({"W", "F"})
_NO_WIDTH = frozenset({"Mn", "Me"})


def columns(text: str) -> int:
    """How many columns the text takes; hidden characters must have been made visible before."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """The text in at most so many columns; what is missing is marked."""
    if columns(text) <= width:
        return text
    if width < 1:
        return ""
    return _head(text, width - 1).rstrip() + ELLIPSIS


def pad(text: str, width: int) -> str:
    """The text with spaces behind it, so many columns wide."""
    return text + " " * (width - columns(text))


def fold(text: str, width: int) -> list[str]:
    """The text in lines of at most so many columns, broken between words where that is possible."""
    return [line for paragraph in text.split("\n") for line in _fold_line(paragraph, max(1, width))]


def _fold_line(text: str, width: int) -> Iterator[str]:
    if columns(text) <= width:
        yield text
        return
    # What is indented stays so, as lists and code are; text that is all indentation has nothing to align.
    indent = text[: len(text) - len(text.lstrip())] if text.strip() else ""
    if columns(indent) >= width // 2:
        indent = ""
    yield from list(_fill(text[len(indent) :], width - columns(indent), indent=indent)) or [""]


def _fill(text: str, width: int, *, indent: str) -> Iterator[str]:
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if columns(longer) <= width:
            line = longer
            continue
        if line:
            yield indent + line
        line = word
        while columns(line) > width:
            head = _head(line, width) or line[0]
            yield indent + head
            line = line[len(head) :]
    if line:
        yield indent + line


def _head(text: str, width: int) -> str:
    """As much of the beginning as fits; a mark stays with the character it stands on."""
    used = 0
    for place, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:place]
    return text


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
