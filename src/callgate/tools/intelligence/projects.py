"""Projects: the index of a call's project, in step with its files when the call looks at it.

There is one index for each working directory and each set of places that may be gone to: what one asker may not read
is not in the index that he searches.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path

from callgate.model.grounds import Grounds
from callgate.model.tool_context import ToolContext
from callgate.model.visible import cut
from callgate.secrets.strike import process_striker
from callgate.tools.confined import Below, Confined, Held, read_all
from callgate.tools.index_files import forget, is_broken
from callgate.tools.intelligence.apart import NotStarted
from callgate.tools.intelligence.index import Index, Known, open_index
from callgate.tools.intelligence.updating import Updating
from callgate.tools.intelligence.walking import LARGEST_SOURCE, Seen, Walk

_UNLIMITED = 600.0
"""Seconds for a call that has no limit."""
_KEPT_FOR_THE_ANSWER = 3.0
_LONGEST_LINE = 300


class Unindexed(OSError):
    """There is no index, and none can be made."""


@dataclass(slots=True, kw_only=True)
class Project:
    """One project, for the time of a call."""

    index: Index
    confined: Confined
    held: Held
    files: dict[str, Seen]
    """As they are now, by path from the project."""
    pending: int
    """How many of them the index does not know yet."""
    left_out: tuple[str, ...]
    """Directories that nobody would expect to be left out, with the reason."""
    closed: tuple[str, ...]
    """Callgate's own files."""
    left: Callable[[], float]
    """Seconds until an answer is to be given."""
    _texts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def lines(self, path: str) -> list[str]:
        """A file's lines as they are now, without secrets; none where it may not, or cannot, be read."""
        if path not in self._texts:
            try:
                with Below(self.confined, self.held) as below, below.file(path) as held:
                    text = read_all(held.fd, LARGEST_SOURCE).decode("utf-8", "replace")
            except (OSError, ValueError):
                text = ""
            self._texts[path] = _struck(text)
        return self._texts[path]

    def line(self, path: str, number: int) -> str:
        """One line, without the spaces around it."""
        lines = self.lines(path)
        return cut(lines[number - 1].strip(), _LONGEST_LINE) if 0 < number <= len(lines) else ""

    def within(self, scope: str | None) -> str:
        """A scope as the beginning of paths: a directory with a slash at its end, a file, or nothing for all.

        Raises:
            ValueError: It does not lie in the project.
        """
        if scope is None or scope.strip() in {"", ".", "./"}:
            return ""
        place, root = self.confined.locate(scope), self.held.place.rstrip("/") + "/"
        if place == self.held.place:
            return ""
        path = place.removeprefix(root)
        if not place.startswith(root):
            raise ValueError(f"scope {scope!r} does not lie in the project; name a file or directory in it")
        if path in self.files:
            return path
        if not any(each.startswith(path + "/") for each in self.files):
            raise ValueError(f"scope {scope!r} holds no file that is indexed; name a file or directory of the project")
        return path + "/"


class Projects:
    """Every project that calls of one gate ask about."""

    def __init__(self, indexes: Path | None, *, notes: Path | None = None) -> None:
        """Projects whose indexes lie in a folder, or in memory; the folder of notes is in none of them."""
        self._indexes = indexes
        self._notes = notes
        self._locks: dict[str, threading.Lock] = {}
        self._in_memory: dict[str, sqlite3.Connection] = {}
        self._looking = threading.Lock()
        weakref.finalize(self, _close, self._in_memory)

    @contextlib.contextmanager
    def of(self, ctx: ToolContext) -> Generator[Project]:
        """The project a call is about, its index in step as far as the call's time allows.

        Raises:
            Unindexed: There is no index, and none can be made.
            TimeoutError: Another call is at it, and the time is up.
        """
        grounds = ctx.grounds()
        confined, time_left = Confined(grounds), _TimeLeft(ctx)
        name = _name(grounds)
        with self._alone(name, time_left), confined.directory(".") as held, self._opened(name) as index:
            known = index.files()
            judged = {path: each.state for path, each in known.items() if each.digest}
            walk = Walk(confined, grounds, time_left.is_over, _identity(self._notes), judged)
            files = walk.take(held)
            updating = Updating(
                index=index,
                confined=confined,
                project=held,
                stop=time_left.is_over,
                left=time_left.seconds,
                tell=ctx.progress,
            )
            yield Project(
                index=index,
                confined=confined,
                held=held,
                files=files,
                pending=_updated(updating, files, known=known),
                left_out=tuple(walk.left_out),
                closed=grounds.closed,
                left=time_left.seconds,
            )

    @contextlib.contextmanager
    def unindexed(self, ctx: ToolContext) -> Generator[Project]:
        """The project a call is about without an index: its files, and an empty one."""
        grounds = ctx.grounds()
        confined, time_left = Confined(grounds), _TimeLeft(ctx)
        with confined.directory(".") as held, contextlib.closing(open_index(None)) as connection:
            walk = Walk(confined, grounds, time_left.is_over, _identity(self._notes))
            files = walk.take(held)
            yield Project(
                index=Index(connection),
                confined=confined,
                held=held,
                files=files,
                pending=len(files),
                left_out=tuple(walk.left_out),
                closed=grounds.closed,
                left=time_left.seconds,
            )

    @contextlib.contextmanager
    def _alone(self, name: str, time_left: _TimeLeft) -> Generator[None]:
        with self._looking:
            lock = self._locks.setdefault(name, threading.Lock())
        if not lock.acquire(timeout=time_left.seconds()):
            raise TimeoutError("another call is still indexing this project; ask again")
        try:
            yield
        finally:
            lock.release()

    @contextlib.contextmanager
    def _opened(self, name: str) -> Generator[Index]:
        if self._indexes is None:
            if name not in self._in_memory:
                self._in_memory[name] = open_index(None)
            yield Index(self._in_memory[name])
            return
        place = self._indexes / f"{name}.db"
        try:
            with contextlib.closing(open_index(place)) as connection:
                yield Index(connection)
        except sqlite3.Error as error:
            if not is_broken(error):
                raise Unindexed(f"the index cannot be used: {error}") from error
            forget(place)
            raise Unindexed(
                f"the index is damaged ({error}), and was removed; ask again to have it made anew"
            ) from error


def _identity(folder: Path | None) -> tuple[int, int] | None:
    """Which directory it is, by whatever name; None where there is none."""
    if folder is None:
        return None
    try:
        status = folder.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _struck(text: str) -> list[str]:
    """Lines without secrets, struck before anybody cuts them; none where a secret is longer than a line."""
    lines = process_striker().strike_text(text).split("\n")
    return [line.rstrip("\r") for line in lines] if len(lines) == text.count("\n") + 1 else []


def _updated(updating: Updating, files: dict[str, Seen], *, known: dict[str, Known]) -> int:
    try:
        return updating.run(files, known)
    except NotStarted as error:
        raise Unindexed(f"sources cannot be indexed: {error}") from error


class _TimeLeft:
    """What a call may use of its time before it answers."""

    def __init__(self, ctx: ToolContext) -> None:
        remaining = ctx.remaining(time.monotonic())
        whole = _UNLIMITED if remaining is None else remaining
        self._ctx = ctx
        self._until = time.monotonic() + whole - min(_KEPT_FOR_THE_ANSWER, whole / 4)

    def seconds(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def is_over(self) -> bool:
        return self._ctx.closed or self.seconds() == 0


def _name(grounds: Grounds) -> str:
    """The name of the index for a working directory and where its askers may go."""
    parts = (grounds.directory, "", *grounds.roots, "", *sorted(grounds.closed))
    return "code-" + hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _close(connections: dict[str, sqlite3.Connection]) -> None:
    for connection in connections.values():
        connection.close()
