"""Prose: a note's text with its code blanked out, letter for letter, so that what is found in it stands in the note."""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_INDENTED = re.compile(r" {4}| {0,3}\t")
_TICKS = re.compile(r"`+")


def without_code(text: str) -> str:
    """The text with blanks in the place of blocks and spans of code; line breaks stay."""
    if "`" not in text and "~~~" not in text and "    " not in text and "\t" not in text:
        return text
    return "".join(_without_spans(piece) if prose else _blank(piece) for piece, prose in _pieces(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Paragraphs, and blocks of code; whether it is prose."""
    reader = _Blocks()
    lines: list[str] = []
    prose = True
    for line in text.splitlines(keepends=True):
        is_prose = reader.is_prose(line)
        if is_prose != prose or not line.strip():
            if lines:
                yield "".join(lines), prose
            lines, prose = [], is_prose
        lines.append(line)
    if lines:
        yield "".join(lines), prose


class _Blocks:
    """Tells line by line whether it belongs to code."""

    def __init__(self) -> None:
        self._fence: str | None = None
        self._quoted = False
        self._in_list = False
        self._may_indent = True

    def is_prose(self, line: str) -> bool:
        if self._fence is not None:
            if not self._quoted or line.lstrip().startswith(">"):
                self._fence = None if _ends(self._fence, line) else self._fence
                return False
            self._fence = None  # the quotation ended, and its code with it
        if self._is_indented_code(line):
            return False
        opening = _FENCE.match(line)
        if opening is not None:
            self._fence, self._quoted = opening["fence"], ">" in opening.group()
        self._note(line)
        return opening is None

    def _is_indented_code(self, line: str) -> bool:
        return self._may_indent and not self._in_list and bool(line.strip()) and _INDENTED.match(line) is not None

    def _note(self, line: str) -> None:
        blank = not line.strip()
        if _ITEM.match(line):
            self._in_list = True
        elif not blank and self._may_indent and not line.startswith((" ", "\t")):
            self._in_list = False
        self._may_indent = blank


def _ends(fence: str, line: str) -> bool:
    bare = line.strip(" \t>\r\n")
    return len(bare) >= len(fence) and not bare.strip(fence[0])


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
        closing = _next_after(places[end - start], at)
        if closing is None:
            at += 1
            continue
        pieces += (text[done:start], _blank(text[start : runs[closing][1]]))
        done, at = runs[closing][1], closing + 1
    return "".join((*pieces, text[done:]))


def _next_after(places: list[int], at: int) -> int | None:
    """The next run of this length; what lies behind is let go, so that all of them together cost one walk."""
    while places and places[-1] <= at:
        places.pop()
    return places[-1] if places else None


def _blank(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)
