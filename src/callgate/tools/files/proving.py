"""Proving what ripgrep says: a line is taken when the file, opened by handle and judged, has these bytes in that place.

What is shown is read from there, and of a line that is very long its beginning is compared. A file is held while its
lines come one after the other, and read from its beginning to its end once.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, Self

from callgate.tools.confined import Below, Confined, Held
from callgate.tools.files.ripgrep_lines import Hit
from callgate.tools.files.unread import is_unread

_SHOWN = 300
"""Characters of a line."""
_MOST_BYTES = 4 * _SHOWN
_CHUNK = 1024 * 1024
_PATH = itemgetter(0)


Found = tuple[str, dict[str, Any]]
"""A line that is there: its path from the directory that is searched, and as it is told."""


class Proving:
    """Takes hits as they come, and keeps those that are there: the first ones by path and line, and no more.

    Args:
        confined: What may be opened.
        below: Opens files of the directory that is searched.
        most: How many are kept.
    """

    def __init__(self, confined: Confined, below: Below, *, most: int) -> None:
        self._confined = confined
        self._below = below
        self._most = most
        self._kept: list[Found] = []
        self._last: str | None = None
        """What comes behind this path is not among the first ones any more."""
        self._path: str | None = None
        self._file: _File | None = None
        self.unread = False
        """Whether a file that was found could not be read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def take(self, hits: Iterable[Hit]) -> None:
        """Look whether they are there; those of one file come together, from its beginning to its end."""
        kept = self._kept
        for path, some in groupby(hits, _PATH):
            if path != self._path:
                self._turn_to(path)
            file = self._file
            if file is None:
                continue
            try:
                file.prove(some, kept)
            except OSError as error:
                self.unread |= is_unread(error)
                self._leave()
        if len(kept) > self._most * 9 // 8:
            self._last = self.firsts()[-1][0]

    def firsts(self) -> list[Found]:
        """Those that are kept, in order."""
        self._kept.sort(key=_PATH)  # those of one file came in order
        del self._kept[self._most :]
        return self._kept

    def _turn_to(self, path: str) -> None:
        self._leave()
        self._path = path
        if self._last is None or path <= self._last:
            try:
                held = self._below.file(path).held
                self._file = _File(held, path, shown=_shown(self._confined, held))
            except (OSError, ValueError) as error:
                self._file = None  # gone, changed, or never to be read: it is as if it had not been found
                self.unread |= is_unread(error)

    def _leave(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class _File:
    """A file that is held, of which one piece after the other is in memory: all of it, where it is small."""

    __slots__ = ("_at", "_begin", "_clear", "_end", "_held", "_number", "_path", "_piece", "_seen", "_shown")

    def __init__(self, held: Held, path: str, *, shown: str) -> None:
        self._held = held
        self._path = path
        self._shown = shown
        self._begin = 0
        """Where its text begins: ripgrep does not count the mark that says UTF-8."""
        self._piece = b""
        self._at = 0
        """Where the piece begins."""
        self._clear = -1
        """Where its first NUL is, or else its end: behind a NUL no line is told."""
        self._end = False
        """Whether nothing is told of what comes behind it."""
        self._seen = 0
        """How far lines were counted."""
        self._number = 1

    def close(self) -> None:
        os.close(self._held.fd)

    def prove(self, hits: Iterable[Hit], kept: list[Found]) -> None:
        """Keep those that are there; they come from the beginning to the end.

        Raises:
            OSError: The file cannot be read any more.
        """
        if self._clear < 0:
            self._read(0)
            self._begin = len(BOM_UTF8) if self._piece.startswith(BOM_UTF8) else 0
        path, shown, begin = self._path, self._shown, self._begin
        piece, at, clear = self._piece, self._at, self._clear
        for _, counted, number, line, column in hits:
            offset = counted + begin
            if offset < self._seen:
                continue
            if offset > clear:
                if not self._reaches(offset):
                    continue
                piece, at, clear = self._piece, self._at, self._clear
            start, length = offset - at, len(line)
            self._number += piece.count(b"\n", self._seen - at, start)
            self._seen = offset
            plain = offset + length <= clear and piece.startswith(line, start)
            if self._number != number or not (plain or self._has(offset, line)):
                continue
            told = self._around(offset, column) if column > _SHOWN or length > _MOST_BYTES else line
            text = told.rstrip(b"\r\n").decode("utf-8", "replace")[:_SHOWN]
            kept.append((path, {"path": shown, "line": number, "text": text}))

    def _reaches(self, offset: int) -> bool:
        """Go on to the piece that has this place, and count the lines on the way; no where the file ends before."""
        while offset > self._clear:
            self._number += self._piece.count(b"\n", self._seen - self._at)
            self._seen = self._at + len(self._piece)
            if self._end or not self._read(self._seen):
                return False
        return True

    def _read(self, start: int) -> bool:
        """Take the next piece; whether there is one."""
        left = self._held.status.st_size - start
        # One more than there was shows the end of it, and of a file that grew since nobody knows where it ends.
        wanted = _CHUNK if left < 0 else min(_CHUNK, left + 1)
        self._piece, self._at = os.pread(self._held.fd, wanted, start), start
        nul = self._piece.find(b"\0")
        self._clear = start + (len(self._piece) if nul < 0 else nul)
        self._end = nul >= 0 or len(self._piece) < wanted
        return bool(self._piece)

    def _has(self, offset: int, line: bytes) -> bool:
        """Whether a line is there that goes beyond the piece, or is the last and has no end."""
        found = self._bytes(offset, len(line))
        ended = (found, found + b"\n", found + b"\r\n") if found else (found,)
        return b"\0" not in found and line in ended

    def _around(self, offset: int, column: int) -> bytes:
        """What a long line has around its match, which may lie far behind what was told of it."""
        begin = max(0, column - _SHOWN // 2) if column > _SHOWN else 0
        return self._bytes(offset + begin, _MOST_BYTES).partition(b"\n")[0]

    def _bytes(self, start: int, length: int) -> bytes:
        return os.pread(self._held.fd, length, start)


def _shown(confined: Confined, held: Held) -> str:
    shown = confined.show(held.place)
    return shown if shown.isascii() else os.fsencode(shown).decode("utf-8", "backslashreplace")
