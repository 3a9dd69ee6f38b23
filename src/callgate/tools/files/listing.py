"""list_directory and list_dir: what lies in a directory. One tool under the two names that models know."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from operator import attrgetter
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Confined, Held, inside
from callgate.tools.files.arguments import DirectoryPath
from callgate.tools.files.unread import is_unread
from callgate.tools.moments import moment

MOST = 1000
"""Entries of one listing."""
_MOST_SEEN = 50_000
"""So many names are looked at."""
_DEEPEST = 64
_ANY_DEPTH = "**"
_CHOICE = re.compile(r"(?<!\[)\{[^{}]*,[^{}]*\}")
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
        "note": {
            "type": "string",
            "description": "Why it could not be looked at, or into if it had to be; at the last entry: how many more.",
        },
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

    Where there are more, the last entry has a note that says how many.

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
    if len(found) > MOST:
        left_out = f"not listed: {len(found) - MOST} more; narrow the pattern, or name a directory further down"
        last = found[MOST - 1]
        last["note"] = f"{last['note']}; {left_out}" if "note" in last else left_out
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
    refused: Callable[[str, os.stat_result | None], str | None]
    wanted: _Wanted
    ctx: ToolContext
    found: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seen: int = 0

    def look(self, folder: Held, reached: _Reached, *, depth: int) -> None:
        """Take in what lies in a directory that is held, and then what lies below as far as the pattern leads there."""
        below: list[_Next] = []
        for name, status in self._entries(folder, reached):
            further = self.wanted.follow(reached, name)
            entry = self._entry(folder, name, status=status) if self.wanted.ends_at(further) else None
            if entry is not None:
                self.found.append(entry)
            if stat.S_ISDIR(status.st_mode) and self.wanted.goes_on_from(further):
                below.append(_Next(name, further, status, entry))
        for each in sorted(below, key=attrgetter("name")):
            why_not = self._look_into(folder, each, depth=depth + 1)
            if why_not is not None:
                self._note(folder, each, note=f"not looked into: {why_not}")

    def _look_into(self, folder: Held, below: _Next, *, depth: int) -> str | None:
        """Go on in a directory; or why that could not be, where it is there and not closed to tools."""
        if depth > _DEEPEST:
            return f"more than {_DEEPEST} levels down"
        try:
            with self.confined.directory_at(folder, below.name) as held:
                self.look(held, below.reached, depth=depth)
        except TimeoutError:
            raise
        except OSError as error:  # gone, closed to us, or a link by now: it is left out as a link is
            return error.strerror if is_unread(error) else None
        return None

    def _note(self, folder: Held, below: _Next, *, note: str) -> None:
        """Tell it at the directory, also where that is not like what is asked for: in it there may be such."""
        entry = below.entry
        if entry is None:
            entry = self._entry(folder, below.name, status=below.status)
            self.found.append(entry)
        entry["note"] = note

    def _entries(self, folder: Held, reached: _Reached) -> Iterator[tuple[str, os.stat_result]]:
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
                except OSError as error:
                    self._note_unknown(folder, entry, reached=reached, error=error)
                    continue
                if self.refused(inside(folder.place, entry.name), status) is None:
                    yield entry.name, status

    def _note_unknown(self, folder: Held, entry: os.DirEntry[str], *, reached: _Reached, error: OSError) -> None:
        """Tell what the system knows nothing of but its name, as a mount whose other side is gone.

        Raises:
            OSError: It is the directory that nobody may look into.
        """
        if not os.access(".", os.X_OK, dir_fd=folder.fd):
            raise error
        place = inside(folder.place, entry.name)
        further = self.wanted.follow(reached, entry.name)
        is_directory = entry.is_dir(follow_symlinks=False)
        asked_for = self.wanted.ends_at(further) or (is_directory and self.wanted.goes_on_from(further))
        if asked_for and self.refused(place, None) is None:
            told = {"name": _shown(entry.name), "path": _shown(self.confined.show(place))}
            kind = "dir" if is_directory else "other"
            note = f"could not be looked at: {error.strerror}"
            self.found.append({**told, "type": kind, "size": 0, "modified": "unknown", "note": note})

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


class _Next(NamedTuple):
    """A directory in which something like this may be."""

    name: str
    reached: _Reached
    status: os.stat_result
    entry: dict[str, Any] | None
    """How it is told, if it is like this itself."""


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
    if _CHOICE.search(pattern):
        raise ValueError("pattern knows no {a,b}; list for each of them by itself, or write [{] for a brace")
    *above, last = [part for part in pattern.split("/") if part not in {"", "."}] or ["*"]
    if last == _ANY_DEPTH:
        above, last = [*above, *((_ANY_DEPTH,) if "/" in pattern else ())], "*"
    names = [*above, *((_ANY_DEPTH,) if recursive else ()), last]
    return _Wanted(tuple(None if name == _ANY_DEPTH else re.compile(translate(name)) for name in names))
