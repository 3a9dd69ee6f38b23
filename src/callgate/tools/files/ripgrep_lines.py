"""What ripgrep says, line by line, without holding one that is too long.

Each is `path NUL number : column : offset : line`. Names may have anything in them but a NUL, and lines anything but
their own end. It also remarks on binary files, in lines of their own.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

FORMAT = (
    "--color=never",
    "--no-heading",
    "--with-filename",
    "--null",
    "--line-number",
    "--column",
    "--byte-offset",
)
"""How it is asked to say it."""
_LONGEST = 256 * 1024
"""Bytes of a line that is taken whole."""
_BEGINNING = 64 * 1024
_LONGEST_PATH = 4096
_new = tuple[Any, ...].__new__  # a third of what calling the class takes, for each of thousands of lines
_REMARK = re.compile(rb'\(found ".*" byte around offset \d+\)$')


class Hit(NamedTuple):
    """A line that ripgrep says matches."""

    path: str
    """From the directory it was started in."""
    offset: int
    """Where the line begins in the file."""
    number: int
    line: bytes
    """The line with its end, of which ripgrep makes one (LF or CRLF) where the file is over; or the beginning of it."""
    column: int
    """Where the first match begins in the line."""


class Lines:
    """Reads pieces of what ripgrep says, and gives the hits as soon as they are known."""

    def __init__(self) -> None:
        self._rest = b""
        self._skips = False
        """Whether the end of a line is not wanted that was too long."""
        self._above = b""
        """What was said that has no NUL: the lines of a name that has several."""
        self._name = b""
        self._path = ""

    def read(self, piece: bytes) -> list[Hit]:
        """The hits that are complete with this piece."""
        if self._skips:
            _, end, piece = piece.partition(b"\n")
            if not end:
                return []
            self._skips = False
        *lines, self._rest = (self._rest + piece).split(b"\n")
        hits: list[Hit] = []
        for line in lines:
            name, null, said = line.partition(b"\0")
            if null:
                # Lines of one file come together.
                path = self._path if name == self._name and not self._above else self._turn_to(name)
                number, column, offset, text = said.split(b":", 3)
                hits.append(_new(Hit, (path, int(offset), int(number), text + b"\n", int(column) - 1)))
            else:
                self._go_on(line)
        if len(self._rest) > _LONGEST:
            hits += self._begun()
        return hits

    def _turn_to(self, name: bytes) -> str:
        self._name, self._above = self._above + name, b""
        self._path = self._name.removeprefix(b"./").decode("utf-8", "surrogateescape")
        return self._path

    def _go_on(self, line: bytes) -> None:
        """A name goes on in the next line, unless this was no name."""
        above = self._above + line + b"\n"
        self._above = b"" if _REMARK.search(line) or len(above) > _LONGEST_PATH else above

    def _begun(self) -> list[Hit]:
        """The hit whose line does not end; what comes of it is not held."""
        hits = self.read(b"\n")
        self._skips = True
        return [hit._replace(line=hit.line[:_BEGINNING]) for hit in hits]
