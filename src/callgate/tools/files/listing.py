"""list_directory and list_dir: what lies in a directory. One tool under the two names that models know."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import translate
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.confined import Confined, Held, inside
from callgate.tools.file_facts import moment
from callgate.tools.files.arguments import DirectoryPath

MOST = 1000
"""Entries of one listing."""
_MOST_SEEN = 50_000
"""So many names are looked at."""
_DEEPEST = 64

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
        pattern: Only names like this: *.py; with a slash, paths from the directory like this: src/*.py.
        recursive: Also what lies in the directories below.
        ctx: Where it may go.
    """
    grounds = ctx.grounds()
    confined = Confined(grounds)
    with confined.directory(path) as held:
        listing = _Listing(confined, grounds.path_refused, _matcher(pattern), recursive=recursive, ctx=ctx)
        listing.look(held, "", depth=0)
    found = sorted(listing.found, key=lambda entry: (entry["type"] != "dir", entry["path"]))
    return found[:MOST]


@tool(**_DECLARED)
def list_dir(
    path: DirectoryPath, pattern: Pattern = "*", *, recursive: bool = False, ctx: ToolContext
) -> list[dict[str, Any]]:
    """List what lies in a directory: the same as list_directory.

    Args:
        path: The directory.
        pattern: Only names like this: *.py; with a slash, paths from the directory like this: src/*.py.
        recursive: Also what lies in the directories below.
        ctx: Where it may go.
    """
    return list_directory(path, pattern, recursive=recursive, ctx=ctx)


@dataclass(slots=True)
class _Listing:
    """Entries found so far, and how many names were looked at for them."""

    confined: Confined
    refused: Callable[[str, os.stat_result], str | None]
    wanted: re.Pattern[str]
    recursive: bool
    ctx: ToolContext
    found: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seen: int = 0

    def look(self, folder: Held, above: str, *, depth: int) -> None:
        """Take in what lies in a directory that is held, and then what lies below."""
        below: list[str] = []
        for name, status in self._entries(folder):
            path = f"{above}{name}"
            if self.wanted.fullmatch(path if "/" in self.wanted.pattern else name):
                self.found.append(self._entry(folder, name, status=status))
            if stat.S_ISDIR(status.st_mode):
                below.append(name)
        if not self.recursive or depth >= _DEEPEST:
            return
        for name in sorted(below):
            try:
                with self.confined.directory_at(folder, name) as held:
                    self.look(held, f"{above}{name}/", depth=depth + 1)
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


def _matcher(pattern: str) -> re.Pattern[str]:
    if ".." in pattern.split("/") or pattern.startswith("/"):
        raise ValueError("pattern is matched inside of path, and neither climbs nor begins with a slash")
    return re.compile(translate(pattern))
