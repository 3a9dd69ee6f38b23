"""Searching: a text in the lines of a document, while it comes piece by piece; however long it or a line of it is.

A text in another encoding than UTF-8 is searched for what all of them have in common; what has a NUL is no text.
"""

from __future__ import annotations

import codecs
import io
from bisect import bisect_left
from typing import Any

from callgate.tools.archives.members import Member
from callgate.tools.archives.pouring import Sink
from callgate.tools.archives.sections import BINARY, heading_of

_SHOWN = 300
"""Characters of a line."""
_STEP = 4096
_LONGEST = 4 * 1024 * 1024
"""Characters of a line that are held at a time; of a longer one so many are searched, and then the next."""


class Searched(Sink):
    """Notes the lines with a text, and gives them away in the end, if the document was one of text."""

    def __init__(self, member: Member, wanted: str, *, hits: list[dict[str, Any]], most: int) -> None:
        super().__init__(member)
        self._wanted = wanted.casefold()
        self._all = hits
        self._room = most - len(hits)
        self._hits: list[dict[str, Any]] = []
        decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=True)
        self._number, self._section = 1, ""
        self._pending: list[str] = []
        """The beginning of a line whose end has not come yet."""
        self._held = 0
        self._begun = self._found = False
        """Whether a part of that line was searched before, and whether the text was in it."""
        self._is_text = True

    def take(self, data: bytes) -> None:
        self._is_text = self._is_text and BINARY not in data
        self._read(data)

    def end(self) -> None:
        super().end()
        self._read(b"", final=True)
        if self._pending:
            self._look("".join(self._pending))
        self._pending = []
        if self._is_text:
            self._all += self._hits

    def _read(self, data: bytes, *, final: bool = False) -> None:
        if not self._is_text:
            return
        *ended, rest = self._decoder.decode(data, final=final).split("\n")
        for line in ended:
            self._look("".join((*self._pending, line)))
            self._pending, self._held, self._begun, self._found = [], 0, False, False
            self._number += 1
        if rest:
            self._pending.append(rest)
            self._held += len(rest)
        if self._held > _LONGEST:
            self._look(line := "".join(self._pending))
            self._pending = [line[-len(self._wanted) :]]
            self._held, self._begun = len(self._wanted), True

    def _look(self, line: str) -> None:
        if not self._begun:
            heading = heading_of(line)
            self._section = self._section if heading is None else heading
        if self._found or len(self._hits) >= self._room:
            return
        at = line.casefold().find(self._wanted)
        if at >= 0:
            self._found = True
            match = _around(line, _unfolded(line, at), length=len(self._wanted))
            told = {"file": self.member.name, "line": self._number, "section": self._section[:_SHOWN], "match": match}
            self._hits.append(told)


def _around(line: str, at: int, *, length: int) -> str:
    """What a long line has around its match."""
    begin = max(0, at - _SHOWN // 2) if at + length > _SHOWN else 0
    return line[begin : begin + _SHOWN].strip()


def _unfolded(line: str, at: int) -> int:
    """Where a line has what its folded text has there: some letters are two or three when they are folded."""
    begin = 0
    while (length := len(line[begin : begin + _STEP].casefold())) <= at:
        at -= length
        begin += _STEP
    return begin + bisect_left(range(_STEP), at, key=lambda letters: len(line[begin : begin + letters].casefold()))
