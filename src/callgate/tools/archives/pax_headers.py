"""Pax headers: what a tar says of its members in records, looked at before the standard library searches through it.

On some Pythons its search takes the square of the digits that follow each other (CVE-2024-6232), and lets no other
thread run meanwhile: a few hundred packed bytes would stop everything for minutes, whatever the time limit.
"""

from __future__ import annotations

import contextlib
import re
from tarfile import BLOCKSIZE, SOLARIS_XHDTYPE, XGLTYPE, XHDTYPE, HeaderError, TarFile, TarInfo
from typing import Protocol, Self, cast

from callgate.tools.archives.limits import Hostile

_KINDS = frozenset({XHDTYPE, XGLTYPE, SOLARIS_XHDTYPE})
_LENGTH = re.compile(rb"([0-9]{1,20}) ")
_DIGITS = re.compile(rb"[0-9]+")
_MOST_STEPS = 1 << 26
"""Of that search, each run of digits taken by its square: a tenth of a second or two."""


class Peekable(Protocol):
    """A stream that can be looked into without reading on."""

    def peek(self, size: int) -> bytes:
        """So many bytes of what is read next, or fewer at its end."""
        ...


class CheckedInfo(TarInfo):
    """A header of a tar; its records were looked at."""

    @classmethod
    def fromtarfile(cls, tarfile: TarFile) -> Self:
        stream = cast("Peekable", tarfile.fileobj)
        with contextlib.suppress(HeaderError):  # it is told by who reads it in earnest
            head = cls.frombuf(stream.peek(BLOCKSIZE), tarfile.encoding or "utf-8", tarfile.errors or "strict")
            if head.type in _KINDS:
                blocks = 1 - (-head.size // BLOCKSIZE)
                _refuse_odd(stream.peek(blocks * BLOCKSIZE)[BLOCKSIZE:])
        return super().fromtarfile(tarfile)


def _refuse_odd(body: bytes) -> None:
    """Refuse what would take long to search, and what the repaired Pythons refuse.

    Raises:
        Hostile: It is no list of records, or has too many digits on end.
    """
    if sum(len(run[0]) ** 2 for run in _DIGITS.finditer(body)) > _MOST_STEPS:
        raise Hostile("the tar archive has a header with too many digits on end")
    at = 0
    while at < len(body) and body[at]:
        at = _end_of_record(body, at)


def _end_of_record(body: bytes, at: int) -> int:
    length = _LENGTH.match(body, at)
    end = at + int(length[1]) if length else at
    if length is None or not length.end() < end <= len(body):
        raise Hostile("the tar archive has a header whose records are not as long as they say")
    keyword, equals, _ = body[length.end() : end].partition(b"=")
    if not keyword or not equals or body[end - 1 : end] != b"\n":
        raise Hostile("the tar archive has a header with a record that says nothing")
    return end
