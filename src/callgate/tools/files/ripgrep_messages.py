"""What ripgrep says, message by message, without holding one that is too long.

It tells a line that matches whole, and every place in it: of a file that is one line of a megabyte it may say a
hundred. Of such a message only the beginning is kept, and three numbers that stand further on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

_MATCH = b'{"type":"match"'
_LONGEST = 256 * 1024
"""Bytes of a message that is read whole."""
_BEGINNING = 64 * 1024
_OVERLAP = 64
"""What is looked for may lie across two pieces; it is shorter than this."""
# Inside of a text of JSON no quote stands without a backslash before it, so these are found only where they are meant.
_NUMBERS = {
    name: re.compile(rb',"%s":(\d+)[,}]' % name.encode()) for name in ("line_number", "absolute_offset", "start")
}
_OPENING = re.compile(rb'\{"type":"match","data":\{"path":(\{.*?\}),"lines":\{"(text|bytes)":"', re.DOTALL)
_LONGEST_SIGN = 12
"""Bytes of one character in a text of JSON, at most; it may be cut in the middle."""
_IN_BASE64 = 4


@dataclass(frozen=True, slots=True, order=True)
class Hit:
    """A line that ripgrep says matches."""

    path: str
    """From the directory it was started in."""
    offset: int
    """Where the line begins in the file."""
    number: int
    line: bytes
    """The line, or its beginning."""
    column: int
    """Where the first match begins in the line."""


class Messages:
    """Reads pieces of what ripgrep says, and gives the hits as soon as they are known."""

    def __init__(self) -> None:
        self._rest = b""
        self._long: _Long | None = None

    def read(self, piece: bytes) -> Iterator[Hit]:
        """The hits that are complete with this piece."""
        first, *more = piece.split(b"\n")
        yield from self._add(first)
        for part in more:
            yield from self._end()
            yield from self._add(part)

    def _add(self, part: bytes) -> Iterator[Hit]:
        if self._long is not None:
            yield from self._long.add(part)
            return
        self._rest += part
        if len(self._rest) > _LONGEST:
            self._long, said, self._rest = _Long(self._rest), self._rest, b""
            yield from self._long.add(said)

    def _end(self) -> Iterator[Hit]:
        said, self._rest, self._long = self._rest, b"", None
        if said.startswith(_MATCH):
            yield _whole(said)


class _Long:
    """A message that is not held."""

    def __init__(self, said: bytes) -> None:
        self._opening = _OPENING.match(said[:_BEGINNING])
        self._beginning = said[:_BEGINNING]
        self._numbers: dict[str, int] = {}
        self._tail = b""
        self._told = False

    def add(self, part: bytes) -> Iterator[Hit]:
        """Look through the next part of it, and give the hit when all is known."""
        if self._told or self._opening is None:
            return
        window = self._tail + part
        for name, pattern in _NUMBERS.items():
            if name not in self._numbers and (found := pattern.search(window)):
                self._numbers[name] = int(found[1])
        self._tail = window[-_OVERLAP:]
        if len(self._numbers) == len(_NUMBERS):
            self._told = True
            yield self._hit(self._opening)

    def _hit(self, opening: re.Match[bytes]) -> Hit:
        written = self._beginning[opening.end() :]
        line = _cut_text(written) if opening[2] == b"text" else _cut_base64(written)
        path = _path(orjson.loads(opening[1]))
        numbers = self._numbers
        return Hit(path, numbers["absolute_offset"], numbers["line_number"], line, numbers["start"])


def _cut_text(written: bytes) -> bytes:
    """The beginning of a text of which the end is missing."""
    for length in range(len(written), len(written) - _LONGEST_SIGN, -1):
        try:
            return orjson.loads(b'"%s"' % written[:length]).encode()
        except orjson.JSONDecodeError:
            continue
    return b""


def _cut_base64(written: bytes) -> bytes:
    return base64.b64decode(written[: len(written) // _IN_BASE64 * _IN_BASE64])


def _whole(message: bytes) -> Hit:
    data: dict[str, Any] = orjson.loads(message)["data"]
    matches: list[dict[str, int]] = data["submatches"]
    return Hit(
        path=_path(data["path"]),
        offset=data["absolute_offset"],
        number=data["line_number"],
        line=_bytes(data["lines"]),
        column=matches[0]["start"] if matches else 0,
    )


def _path(value: dict[str, str]) -> str:
    return _bytes(value).decode("utf-8", "surrogateescape").removeprefix("./")


def _bytes(value: dict[str, str]) -> bytes:
    """A text as ripgrep writes it: as such, or in base64 where it is no UTF-8."""
    return value["text"].encode() if "text" in value else base64.b64decode(value["bytes"])
