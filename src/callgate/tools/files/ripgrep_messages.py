"""What ripgrep says, message by message, without holding one that is too long.

It tells a line that matches whole, and every place in it: of a file that is one line of a megabyte it may say a
hundred. Of such a message only the beginning is kept, and three numbers that stand further on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

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


class Hit(NamedTuple):
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

    def read(self, piece: bytes) -> list[Hit]:
        """The hits that are complete with this piece."""
        hits: list[Hit] = []
        if self._long is not None:
            part, end, piece = piece.partition(b"\n")
            hits += self._long.add(part)
            if not end:
                return hits
        *messages, self._rest = (self._rest + piece).split(b"\n")
        for message in messages:
            if message.startswith(_MATCH):
                hits += (_whole(message),) if len(message) <= _LONGEST else _Long(message).add(message)
        self._long = None
        if len(self._rest) > _LONGEST:
            self._long, said, self._rest = _Long(self._rest), self._rest, b""
            hits += self._long.add(said)
        return hits


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
    lines: dict[str, str] = data["lines"]
    return Hit(
        _path(data["path"]),
        data["absolute_offset"],
        data["line_number"],
        lines["text"].encode() if "text" in lines else base64.b64decode(lines["bytes"]),
        matches[0]["start"] if matches else 0,
    )


def _path(value: dict[str, str]) -> str:
    """As ripgrep writes it: as such, or in base64 where it is no UTF-8."""
    path = value["text"] if "text" in value else base64.b64decode(value["bytes"]).decode("utf-8", "surrogateescape")
    return path.removeprefix("./")
