"""search_files: lines that match a regular expression, found by ripgrep and read again by handle.

Ripgrep walks by name, so a directory that becomes a link meanwhile may lead it astray. It therefore only says where to
look: a line is given when the file, opened by handle and judged, has these bytes in that place (of a line that is
very long, those of its beginning), and what is shown is read from there.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Generator, Iterable, Iterator
from itertools import groupby
from operator import attrgetter
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.grounds import Grounds
from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Below, Confined, Held, kind_of
from callgate.tools.files.arguments import DirectoryPath
from callgate.tools.files.ripgrep import Search, find, program_of
from callgate.tools.files.ripgrep_messages import Hit

_MOST = 1000
_SHOWN = 300
"""Characters of a line."""
_CHUNK = 1024 * 1024
_IGNORING = ".gitignore"
_LARGEST_IGNORING = 1024 * 1024

_OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string"},
        "matches": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "path": {"type": "string"},
                    "line": {"type": "integer"},
                    "text": {"type": "string"},
                },
                "required": ["path", "line", "text"],
                "additionalProperties": False,
            },
        },
        "count": {"type": "integer"},
        "truncated": {"type": "boolean", "description": "Whether there are more."},
    },
    "required": ["pattern", "matches", "count", "truncated"],
    "additionalProperties": False,
}


@tool(
    effects="read_only",
    scopes=["fs:read"],
    concurrency_safe=True,
    timeout=30,
    output_schema=_OUTPUT,
    examples=[{"pattern": "TODO"}, {"pattern": r"def \w+\(", "glob": "*.py", "path": ".", "limit": 20}],
)
def search_files(
    pattern: Annotated[str, Field(min_length=1, max_length=4096, json_schema_extra={"format": "regex"})],
    glob: Annotated[str, Field(min_length=1, max_length=1000, json_schema_extra={"format": "glob"})] | None = None,
    *,
    path: DirectoryPath = ".",
    limit: Annotated[int, Field(ge=1, le=_MOST)] = 100,
    ctx: ToolContext,
) -> dict[str, Any]:
    """Find the lines of text files that match a regular expression, by path and line.

    Left out are hidden files, what the .gitignore of the working directory names, binary files and those over 64 MiB.

    Args:
        pattern: A regular expression, in the syntax of ripgrep (Rust); matched line by line.
        glob: Only files like this: *.py, or docs/**/*.md; with ! before it, all others.
        path: The directory or file to search.
        limit: At most so many lines.
        ctx: Where it may go.
    """
    grounds = ctx.grounds()
    confined = Confined(grounds)

    def stop() -> bool:
        return ctx.closed or ctx.remaining(time.monotonic()) == 0

    with _start(confined, path, grounds=grounds) as (base, target), _ignoring(confined, base) as ignored:
        search = Search(
            pattern=pattern,
            target=target,
            glob=glob,
            most_in_a_file=limit + 1,
            excluded=[_below(base.place, place) for place in grounds.closed if _is_below(base.place, place)],
        )
        hits, cut = find(
            search,
            program=program_of(grounds),
            folder=base.fd,
            ignored=None if ignored is None else ignored.fd,
            stop=stop,
        )
        found: list[dict[str, Any]] = []
        for match in _proven(confined, base, hits=hits):
            found.append(match)
            if len(found) > limit or stop():
                break
    return {
        "pattern": pattern,
        "matches": found[:limit],
        "count": len(found[:limit]),
        "truncated": cut or len(found) > limit,
    }


@contextlib.contextmanager
def _start(confined: Confined, path: str, *, grounds: Grounds) -> Generator[tuple[Held, str]]:
    """The directory to search from, held, and what to search in it: the working directory where that is around it."""
    place = confined.locate(path)
    confined.refuse(place, None)
    status = os.stat(place, follow_symlinks=False)  # noqa: PTH116 - a text all along
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        raise PermissionError(f"{path} is {kind_of(status)}, and no file or directory")  # ripgrep waits at a pipe
    base = place
    if _is_below(grounds.directory, place) and grounds.path_refused(grounds.directory, None) is None:
        base = grounds.directory
    elif stat.S_ISREG(status.st_mode):
        base = os.path.dirname(place)  # noqa: PTH120
    with confined.directory(base) as held:
        yield held, "" if base == place else _below(base, place)


@contextlib.contextmanager
def _ignoring(confined: Confined, base: Held) -> Generator[Held | None]:
    """What git leaves out there; nothing where that is no plain file."""
    try:
        opened = confined.file_at(base, _IGNORING)
        held = opened.__enter__()
    except OSError:
        yield None
        return
    try:
        yield held if held.status.st_size <= _LARGEST_IGNORING else None
    finally:
        opened.__exit__(None, None, None)


def _proven(confined: Confined, base: Held, *, hits: Iterable[Hit]) -> Iterator[dict[str, Any]]:
    """The hits that are there, in files that may be read."""
    with Below(confined, base) as opener:
        for path, among in groupby(hits, key=attrgetter("path")):
            # Gone, changed, or never to be read: it is as if it had not been found.
            with contextlib.suppress(OSError, ValueError), opener.file(path) as held:
                proof = _Proof(held)
                shown = os.fsencode(confined.show(held.place)).decode("utf-8", "backslashreplace")
                yield from (_match(shown, hit, fd=held.fd) for hit in among if proof.holds(hit))


class _Proof:
    """Whether a file has the lines that somebody says it has; asked from its beginning to its end."""

    def __init__(self, held: Held) -> None:
        self._fd = held.fd
        self._at = 0
        self._number = 1

    def holds(self, hit: Hit) -> bool:
        while self._at < hit.offset:
            piece = os.pread(self._fd, min(_CHUNK, hit.offset - self._at), self._at)
            if not piece:
                return False
            self._at += len(piece)
            self._number += piece.count(b"\n")
        return self._number == hit.number and os.pread(self._fd, len(hit.line), hit.offset) == hit.line


def _match(path: str, hit: Hit, *, fd: int) -> dict[str, Any]:
    start = max(0, hit.column - _SHOWN // 2) if hit.column > _SHOWN else 0
    # Only one line: a match may be shown far behind what was told of it.
    line, _, _ = os.pread(fd, 4 * _SHOWN, hit.offset + start).partition(b"\n")
    text = line.decode("utf-8", "replace").rstrip("\r")[:_SHOWN]
    return {"path": path, "line": hit.number, "text": text}


def _is_below(folder: str, place: str) -> bool:
    return place != folder and place.startswith(folder.rstrip("/") + "/")


def _below(folder: str, place: str) -> str:
    return place[len(folder.rstrip("/")) + 1 :]
