"""read_file: lines of a text file, bounded in lines and bytes."""

from __future__ import annotations

import codecs
import hashlib
import io
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Confined, Held, read_all
from callgate.tools.file_facts import digest_of, what_was_seen
from callgate.tools.files.arguments import FilePath
from callgate.tools.moments import moment

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

USUAL_LINES = 2000
_MOST_BYTES = 10_000_000
_WHOLE = 16 * 1024 * 1024
"""A file up to this size is read as a whole."""
_DIGESTED = 256 * 1024 * 1024
"""A file up to this size has a digest."""
_FURTHEST = 1024 * 1024 * 1024
"""So far into a larger file lines are looked for."""
_CHUNK = 64 * 1024
_PIECE = 1024 * 1024
_NOT_FOR_FILES = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})

Line = Annotated[int, Field(ge=1)]

_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "content": {"type": "string"},
        "size": {"type": "integer", "description": "Of the whole file, in bytes."},
        "modified": {"type": "string"},
        "offset": {"type": "integer", "description": "The line that the content begins with."},
        "lines_returned": {"type": "integer"},
        "total_lines": {"type": ["integer", "null"], "description": "null where the end was not reached."},
        "truncated": {"type": "boolean", "description": "Whether more of the file follows."},
        "digest": {"type": ["string", "null"], "description": "SHA-256 of the whole file, up to 256 MiB."},
    },
    "additionalProperties": False,
}
_OUTPUT["required"] = list(_OUTPUT["properties"])


@tool(
    effects="read_only",
    scopes=["fs:read"],
    concurrency_safe=True,
    output_schema=_OUTPUT,
    reads=what_was_seen,
    examples=[{"path": "README.md"}, {"path": "README.md", "offset": 1, "limit": 20, "line_numbers": True}],
)
def read_file(  # noqa: PLR0913 - three documents named the same things differently
    ctx: ToolContext,
    *,
    path: FilePath | None = None,
    file_path: FilePath | None = None,
    offset: Line | None = None,
    limit: Line | None = None,
    encoding: str = "utf-8",
    max_bytes: Annotated[int, Field(ge=1, le=_MOST_BYTES)] = 1_000_000,
    line_numbers: bool = False,
    start_line: Line | None = None,
    end_line: Line | None = None,
) -> dict[str, Any]:
    """Read a text file, from a line on, bounded in lines and bytes.

    Args:
        path: The file.
        file_path: The same as path; give one of them.
        offset: The first line, counted from 1.
        limit: How many lines; 2000 when nothing is said.
        encoding: How the text is encoded: utf-8, latin-1, utf-16, …
        max_bytes: At most so many bytes of text are returned, in whole lines; a first line that is longer is cut.
        line_numbers: Put its number and a tab before each line.
        start_line: The same as offset.
        end_line: The last line, instead of limit.
        ctx: Where it may go.
    """
    span = _span(offset=offset, limit=limit, start_line=start_line, end_line=end_line)
    codec = _codec(encoding)
    with Confined(ctx.grounds()).file(_one_of(path, file_path)) as held:
        source, digest = _source(held, lambda: _refuse_too_long(ctx))
        taken = _Taken(span, max_bytes, numbered=line_numbers)
        try:
            taken.read(io.TextIOWrapper(source, encoding=codec, newline="\n"))
        except _TooFar:
            if not taken.lines:
                raise ValueError(f"line {span.start} lies further than {_FURTHEST} bytes into the file") from None
            taken.truncated = True
        except UnicodeError:
            raise ValueError(f"{held.place} is no {codec} text; name its encoding, or it is no text at all") from None
        return {
            "path": held.place,
            "content": "".join(taken.lines),
            "size": held.status.st_size,
            "modified": moment(held.status.st_mtime),
            "offset": span.start,
            "lines_returned": len(taken.lines),
            "total_lines": taken.total,
            "truncated": taken.truncated,
            "digest": digest,
        }


def _one_of(path: str | None, file_path: str | None) -> str:
    if path is not None and file_path is not None and path != file_path:
        raise ValueError("path and file_path are the same argument; give one of them")
    named = file_path if path is None else path
    if named is None:
        raise ValueError("path is missing: name the file to read")
    return named


def _span(*, offset: int | None, limit: int | None, start_line: int | None, end_line: int | None) -> range:
    if offset is not None and start_line is not None and offset != start_line:
        raise ValueError("offset and start_line are the same argument; give one of them")
    if limit is not None and end_line is not None:
        raise ValueError("limit and end_line exclude each other; give one of them")
    first = offset or start_line or 1
    if end_line is None:
        return range(first, first + (limit or USUAL_LINES))
    if end_line < first:
        raise ValueError(f"end_line {end_line} lies before the first line {first}")
    return range(first, end_line + 1)


def _codec(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name.replace("_", "-")
        io.TextIOWrapper(io.BytesIO(), encoding=name)  # refuses codecs that are none for text
    except (LookupError, ValueError):
        name = "undefined"
    if name in _NOT_FOR_FILES:
        raise ValueError(f"encoding {encoding!r} is not known; use utf-8, latin-1, utf-16 or another text encoding")
    return name


def _source(held: Held, check: Callable[[], None]) -> tuple[BinaryIO, str | None]:
    """The bytes to read, and the digest of all of them where the file is not too large for it."""
    content = b"" if held.status.st_size > _WHOLE else read_all(held.fd, _WHOLE + 1)
    if held.status.st_size <= _WHOLE and len(content) <= _WHOLE:
        return io.BufferedReader(_Checked(io.BytesIO(content), check)), digest_of(content)
    # The size was told, or it grew since, or was never true.
    digest = None if held.status.st_size > _DIGESTED else _digest_of_open(held.fd, check)
    return io.BufferedReader(_Checked(io.FileIO(held.fd, closefd=False), check)), digest


def _digest_of_open(fd: int, check: Callable[[], None]) -> str | None:
    """The digest of an open file, unless it is too large for one. Between its pieces `check` may end it."""
    digest, at = hashlib.sha256(), 0
    while piece := os.pread(fd, _PIECE, at):
        check()
        at += len(piece)
        if at > _DIGESTED:
            return None
        digest.update(piece)
    return digest.hexdigest()


def _refuse_too_long(ctx: ToolContext) -> None:
    """A thread cannot be stopped, and lines have to be counted from the beginning: so the reading stops itself."""
    if ctx.closed or ctx.remaining(time.monotonic()) == 0:
        raise TimeoutError("reading took too long; ask for lines nearer to the beginning, or allow more time")


class _Checked(io.RawIOBase):
    """Bytes of a file; before each few thousand of them it is asked whether to go on, and how far that would be."""

    def __init__(self, source: io.BytesIO | io.FileIO, check: Callable[[], None]) -> None:
        self._source = source
        self._check = check
        self._read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: WriteableBuffer) -> int | None:
        self._check()
        if self._read >= _FURTHEST:
            raise _TooFar
        count = self._source.readinto(into)
        self._read += count or 0
        return count


class _TooFar(Exception):
    """As many bytes of a file were read as one call reads."""


@dataclass(slots=True)
class _Taken:
    """The lines of a span, as far as the bytes go."""

    span: range
    most: int
    numbered: bool
    lines: list[str] = field(default_factory=list[str])
    total: int | None = None
    truncated: bool = False

    def read(self, text: io.TextIOWrapper) -> None:
        number = 0
        for number, piece, ends in _pieces(text, whole=self.span, room=self.most):
            if number >= self.span.stop or not self._take(number, piece, ends=ends):
                self.truncated = True
                return
        self.total = number
        if self.span.start > max(self.total, 1):
            raise ValueError(f"offset {self.span.start} lies behind the end: the file has {self.total} lines")

    def _take(self, number: int, piece: str, *, ends: bool) -> bool:
        """Whether there is room for more."""
        if number < self.span.start:
            return True
        shown = f"{number}\t{piece}" if self.numbered else piece
        data = shown.encode()  # halves of characters, which some encodings let through, are no text
        fits = ends and len(data) <= self.most
        # Half a line would count as read: whoever goes on behind it would miss the rest. Only a single one is cut.
        kept = shown if fits else "" if self.lines else data[: self.most].decode("utf-8", "ignore")
        self.most -= len(data)
        if kept:
            self.lines.append(kept)
        return fits


def _pieces(text: io.TextIOWrapper, *, whole: range, room: int) -> Iterator[tuple[int, str, bool]]:
    """(number of the line, a piece of it, whether the line ends with it); none is larger than is wanted."""
    number = 1
    while True:
        most = room + 2 if number in whole else _CHUNK
        piece = text.readline(most)
        if not piece:
            return
        ends = piece.endswith("\n") or len(piece) < most
        yield number, piece, ends
        number += ends
