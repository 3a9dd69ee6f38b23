"""Proving what ripgrep says: a line is taken when the file, opened by handle and judged, has these bytes in that place.

What is shown is read from there, and of a line that is very long its beginning is compared. A file is held while its
lines come one after the other, and read from its beginning to its end once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple, Self

from callgate.tools.confined import Below, Confined, Held
from callgate.tools.files.ripgrep_messages import Hit

_SHOWN = 300
"""Characters of a line."""
_MOST_BYTES = 4 * _SHOWN
_CHUNK = 1024 * 1024


class Found(NamedTuple):
    """A line that is there."""

    path: str
    """From the directory that is searched."""
    number: int
    shown: str
    """The path for people."""
    text: str

    def to_json(self) -> dict[str, Any]:
        """As the tool gives it."""
        return {"path": self.shown, "line": self.number, "text": self.text}


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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._leave()

    def take(self, hits: Iterable[Hit]) -> None:
        """Look whether they are there; those of one file come together, from its beginning to its end."""
        for hit in hits:
            if hit.path != self._path:
                self._turn_to(hit.path)
            file = self._file
            if file is None:
                continue
            try:
                text = file.line(hit)
            except OSError:
                self._leave()
                continue
            if text is not None:
                self._kept.append(Found(hit.path, hit.number, file.shown, text))
        if len(self._kept) >= 2 * self._most:
            self._last = self.firsts()[-1].path

    def firsts(self) -> list[Found]:
        """Those that are kept, in order."""
        self._kept.sort(key=itemgetter(0))  # those of one file came in order
        del self._kept[self._most :]
        return self._kept

    def _turn_to(self, path: str) -> None:
        self._leave()
        self._path = path
        if self._last is None or path <= self._last:
            try:
                held = self._below.file(path).held
                self._file = _File(held, _shown(self._confined, held))
            except (OSError, ValueError):
                self._file = None  # gone, changed, or never to be read: it is as if it had not been found

    def _leave(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()


class _File:
    """A file that is held, of which one piece after the other is in memory: all of it, where it is small."""

    __slots__ = ("_at", "_end", "_held", "_number", "_piece", "_seen", "shown")

    def __init__(self, held: Held, shown: str) -> None:
        self._held = held
        self.shown = shown
        self._piece = b""
        self._at = 0
        """Where the piece begins."""
        self._end = False
        """Whether the file ends with it."""
        self._seen = 0
        """How far lines were counted."""
        self._number = 1

    def close(self) -> None:
        os.close(self._held.fd)

    def line(self, hit: Hit) -> str | None:
        """The line as it is shown; None where the file has no such one, or a later one was asked for already."""
        _, offset, number, line, column = hit
        if offset < self._seen or not self._reaches(offset):
            return None
        start = offset - self._at
        self._number += self._piece.count(b"\n", self._seen - self._at, start)
        self._seen = offset
        if self._number != number:
            return None
        if not self._piece.startswith(line, start) and self._bytes(offset, len(line)) != line:
            return None
        if column > _SHOWN or len(line) > _MOST_BYTES:
            begin = max(0, column - _SHOWN // 2) if column > _SHOWN else 0
            line = self._bytes(offset + begin, _MOST_BYTES)
        # Only one line: a match may be shown far behind what was told of it.
        return line.partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")[:_SHOWN]

    def _reaches(self, offset: int) -> bool:
        """Go on to the piece that has this place, and count the lines on the way; no where the file ends before."""
        while offset > (end := self._at + len(self._piece)) or not self._piece:
            self._number += self._piece.count(b"\n", self._seen - self._at)
            self._seen = end
            if self._end or not self._read(end):
                return False
        return True

    def _read(self, start: int) -> bool:
        """Take the next piece; whether there is one."""
        left = self._held.status.st_size - start
        # One more than there was shows the end of it, and of a file that grew since nobody knows where it ends.
        wanted = _CHUNK if left < 0 else min(_CHUNK, left + 1)
        self._piece, self._at = os.pread(self._held.fd, wanted, start), start
        self._end = len(self._piece) < wanted
        return bool(self._piece)

    def _bytes(self, start: int, length: int) -> bytes:
        return os.pread(self._held.fd, length, start)


def _shown(confined: Confined, held: Held) -> str:
    shown = confined.show(held.place)
    return shown if shown.isascii() else os.fsencode(shown).decode("utf-8", "backslashreplace")
