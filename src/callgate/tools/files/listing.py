"""list_directory and list_dir: what lies in a directory. One tool under the two names that models know."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from operator import itemgetter
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Confined, Held, inside
from callgate.tools.files.arguments import DirectoryPath
from callgate.tools.moments import moment

MOST = 1000
"""Entries of one listing."""
_MOST_SEEN = 50_000
"""So many names are looked at."""
_DEEPEST = 64
_ANY_DEPTH = "**"
_NOTHING = re.compile(r"(?!)")

_Reached = frozenset[int]
"""How many parts of a pattern may be behind a path."""

Pattern = Annotated[str, Field(max_length=1000, json_schema_extra={"format": "glob"})]

_ENTRY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "path": {"type": "string"},
        "type": {"enum": ["file", "dir", "link", "other"]},
        "size": {"type": "integer"},
        "modified": {"type": "string"},
    },
    "required": ["name", "path", "type", "size", "modified"],
    "additionalProperties": False,
}
_DECLARED: Any = {
    "effects": "read_only",
    "scopes": ["fs:read"],
    "concurrency_safe": True,
    "output_schema": {"type": "array", "items": _ENTRY, "maxItems": MOST},
    "examples": [{"path": "."}, {"path": ".", "pattern": "*.md", "recursive": True}],
}


@tool(**_DECLARED)
def list_directory(
    path: DirectoryPath, pattern: Pattern = "*", *, recursive: bool = False, ctx: ToolContext
) -> list[dict[str, Any]]:
    """List what lies in a directory, directories first, then by name; at most 1000 entries. Links are not followed.

    Args:
        path: The directory.
        pattern: Only names like this: *.py; with a slash, paths from the directory like this: src/*.py, src/**/*.py.
        recursive: Also what lies in the directories below.
        ctx: Where it may go.
    """
    grounds = ctx.grounds()
    confined = Confined(grounds)
    with confined.directory(path) as held:
        listing = _Listing(confined, grounds.path_refused, _wanted(pattern, recursive=recursive), ctx)
        listing.look(held, listing.wanted.begin(), depth=0)
    found = sorted(listing.found, key=lambda entry: (entry["type"] != "dir", entry["path"]))
    return found[:MOST]


@tool(**_DECLARED)
def list_dir(
    path: DirectoryPath, pattern: Pattern = "*", *, recursive: bool = False, ctx: ToolContext
) -> list[dict[str, Any]]:
    """List what lies in a directory: the same as list_directory.

    Args:
        path: The directory.
        pattern: Only names like this: *.py; with a slash, paths from the directory like this: src/*.py, src/**/*.py.
        recursive: Also what lies in the directories below.
        ctx: Where it may go.
    """
    return list_directory(path, pattern, recursive=recursive, ctx=ctx)


@dataclass(slots=True)
class _Listing:
    """Entries found so far, and how many names were looked at for them."""

    confined: Confined
    refused: Callable[[str, os.stat_result], str | None]
    wanted: _Wanted
    ctx: ToolContext
    found: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seen: int = 0

    def look(self, folder: Held, reached: _Reached, *, depth: int) -> None:
        """Take in what lies in a directory that is held, and then what lies below as far as the pattern leads there."""
        below: list[tuple[str, _Reached]] = []
        for name, status in self._entries(folder):
            further = self.wanted.follow(reached, name)
            if self.wanted.ends_at(further):
                self.found.append(self._entry(folder, name, status=status))
            if stat.S_ISDIR(status.st_mode) and self.wanted.goes_on_from(further):
                below.append((name, further))
        if depth >= _DEEPEST:
            return
        for name, further in sorted(below, key=itemgetter(0)):
            try:
                with self.confined.directory_at(folder, name) as held:
                    self.look(held, further, depth=depth + 1)
            except TimeoutError:
                raise
            except OSError:  # gone, closed to us, or a link by now: it is left out as a link is
                continue

    def _entries(self, folder: Held) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(folder.fd) as entries:
            for entry in entries:
                self.seen += 1
                if self.seen > _MOST_SEEN:
                    raise ValueError(f"path holds more than {_MOST_SEEN} entries; name a directory further down")
                self._refuse_too_long()
                try:
                    status = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if self.refused(inside(folder.place, entry.name), status) is None:
                    yield entry.name, status

    def _refuse_too_long(self) -> None:
        if self.ctx.closed or self.ctx.remaining(time.monotonic()) == 0:
            raise TimeoutError("the listing took too long; name a directory further down")

    def _entry(self, folder: Held, name: str, *, status: os.stat_result) -> dict[str, Any]:
        return {
            "name": _shown(name),
            "path": _shown(self.confined.show(inside(folder.place, name))),
            "type": _type(status),
            "size": status.st_size,
            "modified": moment(status.st_mtime),
        }


def _type(status: os.stat_result) -> str:
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "link"}
    return kinds.get(stat.S_IFMT(status.st_mode), "other")


def _shown(name: str) -> str:
    """A name that is no UTF-8 as one that can be written down."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A pattern, name by name of a path: what a name has to look like, or None for any directories, also for none."""

    parts: tuple[re.Pattern[str] | None, ...]

    def begin(self) -> _Reached:
        """In the directory that is listed."""
        return self._over_none({0})

    def follow(self, reached: _Reached, name: str) -> _Reached:
        """How far into the pattern a path is when this name comes next."""
        further: set[int] = set()
        for at in reached:
            part = self.parts[at] if at < len(self.parts) else _NOTHING
            if part is None:
                further.add(at)
            elif part.fullmatch(name):
                further.add(at + 1)
        return self._over_none(further)

    def ends_at(self, reached: _Reached) -> bool:
        """Whether a path that came so far is one like this."""
        return len(self.parts) in reached

    def goes_on_from(self, reached: _Reached) -> bool:
        """Whether something below could be."""
        return any(at < len(self.parts) for at in reached)

    def _over_none(self, reached: set[int]) -> _Reached:
        for at, part in enumerate(self.parts):
            if part is None and at in reached:
                reached.add(at + 1)
        return frozenset(reached)


def _wanted(pattern: str, *, recursive: bool) -> _Wanted:
    if ".." in pattern.split("/") or pattern.startswith("/"):
        raise ValueError("pattern is matched inside of path, and neither climbs nor begins with a slash")
    *above, last = [part for part in pattern.split("/") if part not in {"", "."}] or ["*"]
    if last == _ANY_DEPTH:
        above, last = [*above, *((_ANY_DEPTH,) if "/" in pattern else ())], "*"
    names = [*above, *((_ANY_DEPTH,) if recursive else ()), last]
    return _Wanted(tuple(None if name == _ANY_DEPTH else re.compile(translate(name)) for name in names))
