"""IndexFile: the database an index of notes is kept in. It can be made again from the notes, so a broken one is.

Safe with two processes on one file. Where there is no folder for it, it is kept in memory.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from callgate.tools.index_files import Tables, forget, is_broken, is_current, open_file, snapshot

T = TypeVar("T")

_Which = tuple[int, int] | None

_PATIENCE = 10.0
_MOST_IDLE = 2
_TABLES = Tables(
    2,
    """
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    stamp INTEGER NOT NULL,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    digest TEXT NOT NULL,
    title TEXT NOT NULL,
    is_heading INTEGER NOT NULL,
    many INTEGER NOT NULL
);
CREATE INDEX notes_by_key ON notes (key);
CREATE INDEX notes_with_many ON notes (many) WHERE many;
CREATE TABLE links (key TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (key, note)) WITHOUT ROWID;
CREATE INDEX links_of_note ON links (note);
CREATE VIRTUAL TABLE words USING fts5(
    title, headings, tags, body, tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO words (words, rank) VALUES ('rank', 'bm25(10.0, 4.0, 6.0, 1.0)');
CREATE TABLE state (only INTEGER PRIMARY KEY CHECK (only = 1), generation TEXT NOT NULL);
INSERT INTO state VALUES (1, '');
""",
)


class IndexLost(OSError):
    """The index was broken and is empty now: whoever uses it fills it first."""


class IndexFile:
    """One database, held open between two uses: to close it is to write all of it out, and to forget its pages."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._lock = threading.RLock()
        self._memory: sqlite3.Connection | None = None
        self._idle: list[tuple[sqlite3.Connection, _Which]] = []
        weakref.finalize(self, _close_all, self._idle)

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the database.

        Raises:
            IndexLost: It was broken. Now there is none, and the next use makes an empty one.
            OSError: Others keep it busy, or it cannot be written.
        """
        try:
            return self._once(work)
        except sqlite3.Error as error:
            if is_broken(error):
                self._forget()
                raise IndexLost("the index of the notes was broken, and is made again") from error
            raise OSError(f"the index of the notes cannot be used now: {error}") from error

    def look(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something that only reads, and sees one moment all along: another process may change it meanwhile.

        Raises:
            IndexLost: As `use`.
            OSError: As `use`.
        """

        def looking(connection: sqlite3.Connection) -> T:
            with snapshot(connection):
                return work(connection)

        return self.use(looking)

    def rest(self) -> None:
        """Let go of what it holds open, except what is only in memory."""
        _close_all(self._idle)

    def _once(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._place is not None:
            return self._with(self._place, work)
        with self._lock:
            if self._memory is None:
                self._memory = open_file(None, _TABLES, patience=_PATIENCE)
                weakref.finalize(self, self._memory.close)
            return work(self._memory)

    def _with(self, place: Path, work: Callable[[sqlite3.Connection], T]) -> T:
        with contextlib.ExitStack() as stack:
            connection = self._taken(place) or _opened(place)
            stack.callback(connection.close)
            which = _which(place)
            done = work(connection)
            if which is not None and len(self._idle) < _MOST_IDLE:
                stack.pop_all()
                self._idle.append((connection, which))
            return done

    def _taken(self, place: Path) -> sqlite3.Connection | None:
        """One that is open, of the file that is there now; None where there is none."""
        while self._idle:
            try:
                connection, which = self._idle.pop()
            except IndexError:  # another thread was first
                break
            with contextlib.suppress(sqlite3.Error):
                if which == _which(place) and is_current(connection, _TABLES):
                    return connection
            connection.close()
        return None

    def _forget(self) -> None:
        self.rest()
        if self._place is None:
            self._memory = None
        else:
            forget(self._place)


def _opened(place: Path) -> sqlite3.Connection:
    connection = open_file(place, _TABLES, patience=_PATIENCE)
    # Writing the log out waits for the disk, and falls to whoever's search comes then: seldom, therefore.
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    return connection


def _which(place: Path) -> _Which:
    """Which file it is, since another may have taken its place; None where there is none, or it was emptied."""
    try:
        status = place.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_size else None


def _close_all(idle: list[tuple[sqlite3.Connection, _Which]]) -> None:
    with contextlib.suppress(IndexError):
        while True:
            idle.pop()[0].close()
