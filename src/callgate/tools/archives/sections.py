"""Sections: where in a text a line stands, by the headings above it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_HEADING = re.compile(r"#{1,6} +(.*?)[ #]*$")
_BINARY = b"\0"


def text_of(data: bytes | bytearray) -> str | None:
    """What is in a document, if it is text."""
    if _BINARY in data:
        return None
    try:
        return bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def lines_with_sections(text: str) -> Iterator[tuple[int, str, str]]:
    """(number, the heading it stands under, the line); the heading is empty before the first one."""
    section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        heading = _HEADING.match(line)
        if heading is not None:
            section = heading[1]
        yield number, section, line


def count_sections(text: str) -> int:
    """How many sections a text has; one, if it has no headings."""
    return max(1, sum(_HEADING.match(line) is not None for line in text.splitlines()))
