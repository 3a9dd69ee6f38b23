"""Which databases this process has open, and which its parent had when it was forked. Knows no store and no table.

SQLite notes in memory which locks its process has on a file. A forked child has those notes and none of the locks: it
would write unprotected, and whoever closes the database last takes away the log that it writes to. And the system drops
all locks of a process on a file when anything there closes that file, so nobody but SQLite may open one that is in use.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from callgate.errors import StoreUnavailable
from callgate.ports.home import NOT_FORKED

T = TypeVar("T")
File = tuple[int, int]
"""A file by what SQLite knows it by: device and inode, whatever its name."""
_INHERITED = f"this process was forked while its parent had the store open; {NOT_FORKED}"


class Connection(sqlite3.Connection):
    """Its file counts as open until it is closed; one that nobody closes counts for ever."""

    files: tuple[File, ...] = ()

    def close(self) -> None:
        super().close()
        files, self.files = self.files, ()
        _files.closed(files)


class _OpenFiles:
    def __init__(self) -> None:
        self.turn = threading.RLock()
        """A fork waits for it: nothing is half opened in a child. Also a signal handler may fork, amid anything."""
        self._open: Counter[File] = Counter()
        self._inherited: set[File] = set()
        """What the parent had open, for ever: whether it still has, a child cannot see. Where that file is deleted and
        another store gets its number, that one is refused as well, which loses nothing."""

    def connect(self, path: Path, address: str, **options: Any) -> Connection:
        with self.turn:
            before = _files_at(path)
            if self._inherited.intersection(before):
                raise StoreUnavailable(_INHERITED)
            self._open.update(before)
            try:
                connection = sqlite3.connect(address, factory=Connection, **options)
            except BaseException:
                self.closed(before)
                raise
            # Somebody may have put another in its place between the two: then it is one of them.
            after = _files_at(path)
            self._open.update(after)
            connection.files = before + after
            return connection

    def closed(self, files: tuple[File, ...]) -> None:
        with self.turn:
            self._open.subtract(files)

    def unless_open(self, path: Path, do: Callable[[], T], *, otherwise: T) -> T:
        with self.turn:
            return otherwise if any(self._open[file] > 0 for file in _files_at(path)) else do()

    def before_fork(self) -> None:
        self.turn.acquire()

    def forked(self) -> None:
        self.turn.release()

    def in_child(self) -> None:  # pragma: no cover - in forked children, where nobody measures
        # What it has inherited its own forks have as well, and for as long as they live.
        self.turn = threading.RLock()
        self._inherited.update(+self._open)
        self._open.clear()


def _files_at(path: Path) -> tuple[File, ...]:
    """The one file of that name, or none."""
    try:
        found = path.stat()
    except OSError:
        return ()
    return ((found.st_dev, found.st_ino),)


_files = _OpenFiles()
os.register_at_fork(before=_files.before_fork, after_in_parent=_files.forked, after_in_child=_files.in_child)


def connect(path: Path, address: str, **options: Any) -> Connection:
    """A connection of sqlite3 to the database at a path.

    Args:
        path: Where the file is.
        address: The same for SQLite.
        options: Those of `sqlite3.connect`.

    Raises:
        StoreUnavailable: The parent had it open when this process was forked.
        sqlite3.Error: It cannot be opened.
    """
    return _files.connect(path, address, **options)


def unless_open(path: Path, do: Callable[[], T], *, otherwise: T) -> T:
    """Do what opens and closes a file beside SQLite, unless a connection has it; none opens it meanwhile."""
    return _files.unless_open(path, do, otherwise=otherwise)
