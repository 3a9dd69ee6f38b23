"""Prose: a note's text with its code blanked out, letter for letter, so that what is found in it stands in the note.

What is code is told as CommonMark has it: by the quotations and list items that a line stands in, by what stands open
in them, and by the table it is a row of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from callgate.tools.vault.blocks import Blocks, Kind

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_TICKS = re.compile(r"`+")
_CELL = re.compile(r"(?:[^|\\]|\\.)+|[|\\]", re.DOTALL)
_LETTER = re.compile(r"[^\r\n]")


def without_code(text: str) -> str:
    """The text with blanks in the place of blocks and spans of code; line breaks stay."""
    if "`" not in text and "~~~" not in text and "    " not in text and "\t" not in text:
        return text
    return "".join(_blank(piece) if kind is Kind.CODE else _without_spans(piece) for piece, kind in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, Kind]]:
    """What belongs together: a paragraph, a heading, a cell of a table, a line of code."""
    blocks = Blocks()
    lines: list[str] = []
    for line in _LINE.findall(text):
        kind = blocks.take(line)
        if kind is Kind.MORE:
            lines.append(line)
            continue
        header = lines.pop() if kind is Kind.TABLE and lines else ""
        if lines:
            yield "".join(lines), Kind.TEXT
        lines = []
        if kind is Kind.TEXT:
            lines = [line]
        elif kind is Kind.CODE:
            yield line, kind
        else:
            yield from ((cell, Kind.TEXT) for row in (header, line) for cell in _CELL.findall(row))
    if lines:
        yield "".join(lines), Kind.TEXT


def _without_spans(text: str) -> str:
    """A paragraph without what stands between equal runs of backticks."""
    if "`" not in text:
        return text
    runs = [(found.start(), found.end()) for found in _TICKS.finditer(text)]
    places: dict[int, list[int]] = {}
    for at, (start, end) in enumerate(runs):
        places.setdefault(end - start, []).append(at)
    for ends in places.values():
        ends.reverse()
    pieces: list[str] = []
    done = at = 0
    while at < len(runs):
        start, end = runs[at]
        start += is_escaped(text, start)
        closing = _next_after(places.get(end - start, []), at)
        if closing is None:
            at += 1
            continue
        pieces += (text[done:start], _blank(text[start : runs[closing][1]]))
        done, at = runs[closing][1], closing + 1
    return "".join((*pieces, text[done:]))


def is_escaped(text: str, at: int) -> bool:
    """Whether an odd number of backslashes stands before a place."""
    start = at
    while start and text[start - 1] == "\\":
        start -= 1
    return (at - start) % 2 == 1


def _next_after(places: list[int], at: int) -> int | None:
    """The next run of this length; what lies behind is let go, so that all of them together cost one walk."""
    while places and places[-1] <= at:
        places.pop()
    return places[-1] if places else None


def _blank(text: str) -> str:
    return _LETTER.sub(" ", text)
