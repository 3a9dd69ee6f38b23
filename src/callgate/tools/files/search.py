"""search_files: lines that match a regular expression, found by ripgrep and read again by handle.

Ripgrep walks by name, so a directory that becomes a link meanwhile may lead it astray. It therefore only says where to
look, and what it says is looked at while it goes on (`proving`).
"""

from __future__ import annotations

import codecs
import contextlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from functools import partial
from typing import IO, Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.grounds import Grounds
from callgate.model.tool_context import ToolContext
from callgate.policy.mounted import mounted
from callgate.policy.ways import is_inside
from callgate.tools.confined import Below, Confined, Held, inside, kind_of
from callgate.tools.files.arguments import DirectoryPath
from callgate.tools.files.globs import names_again
from callgate.tools.files.proving import Proving
from callgate.tools.files.ripgrep import Looked, Search, find, program_of

_MOST = 1000
_IGNORING = ".gitignore"
_LARGEST_IGNORING = 1024 * 1024
_HIDDEN_TOO = b"\n.*\n"
"""The last line that matches counts: ripgrep would show what an ignore file takes back (`!.env.example`), if hidden."""
_BRACE = re.compile(r"((?<!\\)(?:\\\\)*)([{}])")
_NO_UTF_8 = re.compile("[\udc80-\udcff]")
_UNREAD = (
    "not everything could be searched: there are files or directories that cannot be read, or paths that are too long"
)
_BINARY = (
    "the file is no plain text (it has a NUL byte, as binary files do, or begins as UTF-16 does): at most what lies "
    "before was searched"
)
_NAMED_AGAIN = "nothing was found, perhaps as glob counts from path: leave out of it what path names already"
_NONE_LIKE_IT = "no file that could be searched is like glob: *.py is one, *.{py,md} two, and docs/** all in docs"
_NOT_FOR_A_FILE = "path is a file, which was searched whether it is like glob or not"
_PIECE = 1024 * 1024
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""ripgrep reads on in UTF-16 from these, also where no NUL follows."""

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
                    "text": {
                        "type": "string",
                        "description": "At most 300 characters; of a long line those around where it first matches.",
                    },
                },
                "required": ["path", "line", "text"],
                "additionalProperties": False,
            },
        },
        "count": {"type": "integer"},
        "truncated": {"type": "boolean", "description": "Whether there are more."},
        "note": {
            "type": ["string", "null"],
            "description": "Where not everything could be searched, or perhaps not what was meant.",
        },
    },
    "required": ["pattern", "matches", "count", "truncated", "note"],
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

    Left out are hidden files unless the glob has a part that begins with a dot, what the .gitignore of the working
    directory names unless the glob fits it, binary files and those over 64 MiB. To look into a directory that is hidden
    or that it names, write it out in glob (build/**) or give it as path.

    Args:
        pattern: A regular expression, in the syntax of ripgrep (Rust); matched line by line. To it a CR ends a line,
            unless it names one.
        glob: Only files like this: *.py; with a slash, paths from path like this: docs/**/*.md; with ! before it, all
            others.
        path: The directory to search; or a file, whether it is like glob or not.
        limit: At most so many lines.
        ctx: Where it may go.
    """
    grounds = ctx.grounds()
    confined = Confined(grounds)

    def stop() -> bool:
        return ctx.closed or ctx.remaining(time.monotonic()) == 0

    with (
        _start(confined, path, grounds=grounds) as (base, target, is_file),
        _ignoring(confined, base) as ignored,
        Below(confined, base) as below,
        Proving(confined, below, most=limit + 1) as proving,
    ):
        start = inside(base.place, target) if target else base.place
        search = Search(
            pattern=pattern,
            target=target,
            is_file=is_file,
            glob=glob,
            most_in_a_file=limit + 1,
            excluded=_excluded(grounds, base.place, start=start, glob=glob),
        )
        look = partial(find, program=program_of(grounds), folder=base.fd, ignored=ignored)
        looked = look(search, take=proving.take, stop=stop)
        unread = looked is Looked.NOT_AT_EVERYTHING
        if unread:
            _refuse_unreadable(below, search, named=path)
        cut = is_file and _is_no_text(below, target, stop=stop)
        found = proving.firsts()
        note = _UNREAD if unread or proving.unread else _BINARY if cut else _of_glob(search, nothing=not found)
        if not found and note is None and glob is not None:
            with Proving(confined, below, most=1) as like_it:
                note = None if _is_any(like_it, search, look=look, stop=stop) else _NONE_LIKE_IT
    return {
        "pattern": pattern,
        "matches": [line for _, line in found[:limit]],
        "count": len(found[:limit]),
        "truncated": looked is Looked.UNTIL_ENOUGH or len(found) > limit,
        "note": note,
    }


def _of_glob(search: Search, *, nothing: bool) -> str | None:
    if search.glob is None:
        return None
    if search.is_file:
        return _NOT_FOR_A_FILE
    return _NAMED_AGAIN if nothing and names_again(search.glob, at=search.target) else None


def _is_any(like_it: Proving, search: Search, *, look: Callable[..., Looked], stop: Callable[[], bool]) -> bool:
    """Whether any file with text is like the glob; yes where that is not known."""
    anything = replace(search, pattern="", most_in_a_file=1)
    try:
        look(anything, take=like_it.take, stop=lambda: bool(like_it.firsts()) or stop())
    except OSError:  # stopped, since there is one, or there is no time left
        return True
    return bool(like_it.firsts())


@contextlib.contextmanager
def _start(confined: Confined, path: str, *, grounds: Grounds) -> Generator[tuple[Held, str, bool]]:
    """The directory to search from, held, and what to search in it: the working directory where that is around it."""
    place = confined.locate(path)
    confined.refuse(place, None)
    status = os.stat(place, follow_symlinks=False)  # noqa: PTH116 - a text all along
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        raise PermissionError(f"{path} is {kind_of(status)}, and no file or directory")  # ripgrep waits at a pipe
    base = place
    if (
        place != grounds.directory
        and is_inside(place, grounds.directory)
        and grounds.path_refused(grounds.directory, None) is None
    ):
        base = grounds.directory
    elif stat.S_ISREG(status.st_mode):
        base = os.path.dirname(place)  # noqa: PTH120
    with confined.directory(base) as held:
        yield held, "" if base == place else _below(base, place), stat.S_ISREG(status.st_mode)


def _refuse_unreadable(below: Below, search: Search, *, named: str) -> None:
    """Of what somebody named it is an error that it cannot be read, and no remark; the system says why.

    Raises:
        OSError: It cannot be read.
    """
    if search.is_file:
        with below.file(search.target):
            raise OSError(f"{named} could not be read to its end")
    if search.target:
        below.at(inside(search.target, "anything"))


def _is_no_text(below: Below, target: str, *, stop: Callable[[], bool]) -> bool:
    """Of a file that somebody named, not found must not mean not searched; among others it is left out."""
    at = 0
    with below.file(target) as held:
        while not stop() and (piece := os.pread(held.fd, _PIECE, at)):
            if b"\0" in piece or (at == 0 and piece.startswith(_UTF_16)):
                return True
            at += len(piece)
    return False


@contextlib.contextmanager
def _ignoring(confined: Confined, base: Held) -> Generator[int | None]:
    """What git leaves out there, in an open file; nothing where that is no plain file."""
    try:
        with confined.file_at(base, _IGNORING) as held:
            patterns = b"" if held.status.st_size > _LARGEST_IGNORING else os.read(held.fd, _LARGEST_IGNORING)
    except OSError:
        patterns = b""
    if not patterns:
        yield None
        return
    with _unnamed() as file:
        file.write(_readable(patterns) + _HIDDEN_TOO)
        file.seek(0)
        yield file.fileno()


def _readable(patterns: bytes) -> bytes:
    """As git reads them: a brace is a sign like others, and a line may be no UTF-8, where ripgrep would stop.

    For each byte that is none stands a ?, which fits it, whichever it is.
    """
    text = patterns.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    return _BRACE.sub(r"\1\\\2", _NO_UTF_8.sub("?", text)).encode()


def _unnamed() -> IO[bytes]:
    """A file without a name, in memory where the system has such."""
    if hasattr(os, "memfd_create"):  # pragma: no branch - not everywhere
        return open(os.memfd_create(_IGNORING), "w+b", buffering=0)  # noqa: PTH123 - no path
    return tempfile.TemporaryFile(buffering=0)  # pragma: no cover - where the above is missing


def _excluded(grounds: Grounds, base: str, *, start: str, glob: str | None) -> list[str]:
    """Closed places below the start that ripgrep would come to; it would look for each of them at every name.

    To what is hidden it only comes by a glob. One that is made meanwhile is not opened (`proving`).
    """
    places = (*grounds.closed, *mounted().process_points)
    closed = [place for place in places if place != start and is_inside(place, start)]
    return [
        _below(base, place)
        for place in closed
        if (glob is not None or "/." not in place[len(start.rstrip("/")) :])
        and not any(other != place and is_inside(place, other) for other in closed)
        and os.path.lexists(place)
    ]


def _below(folder: str, place: str) -> str:
    return place[len(folder.rstrip("/")) + 1 :]
