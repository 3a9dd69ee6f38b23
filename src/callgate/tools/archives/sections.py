"""Sections: where in a text a line stands, by the headings above it.

Strangers wrote these texts: a line costs what it is long, whatever stands in it, and only the beginning of a long one
can be a heading.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

BINARY = b"\0"
_DEEPEST = 6
_LONGEST = 1000


def text_of(data: bytes | bytearray) -> str | None:
    """What is in a document, if it is text."""
    if BINARY in data:
        return None
    try:
        return bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def count_sections(text: str) -> int:
    """How many sections a text has; one, if it has no headings."""
    return max(1, sum(heading_of(line) is not None for line in _lines(text)))


def _lines(text: str) -> Iterator[str]:
    # One at a time: a list of millions of short lines takes many times the memory of the text.
    return (line.removesuffix("\n") for line in io.StringIO(text, newline=None))


def heading_of(line: str) -> str | None:
    """What a line says as a heading; None if it is none."""
    start = line[:_LONGEST]
    title = start.lstrip("#")
    if not 1 <= len(start) - len(title) <= _DEEPEST or not title.startswith(" "):
        return None
    return title.lstrip(" ").rstrip(" #")
