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

T = TypeVar("T")

_VERSION = 1
_PATIENCE = 10.0
_SCHEMA = """
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    key TEXT NOT NULL,
    stamp INTEGER NOT NULL,
    size INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    digest TEXT NOT NULL,
    title TEXT NOT NULL,
    summary TEXT NOT NULL,
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
"""


class IndexLost(OSError):
    """The index was broken and is empty now: whoever uses it fills it first."""


class IndexFile:
    """One database."""

    def __init__(self, place: Path | None) -> None:
        self._place = place
        self._lock = threading.RLock()
        self._memory: sqlite3.Connection | None = None

    def use(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the database.

        Raises:
            IndexLost: It was broken. Now there is none, and the next use makes an empty one.
            OSError: Others keep it busy, or it cannot be written.
        """
        try:
            return self._once(work)
        except sqlite3.Error as error:
            if _is_broken(error):
                self._forget()
                raise IndexLost("the index of the notes was broken, and is made again") from error
            raise OSError(f"the index of the notes cannot be used now: {error}") from error

    def _once(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._place is not None:
            with contextlib.closing(_open(self._place)) as connection:
                return work(connection)
        with self._lock:
            if self._memory is None:
                self._memory = _prepared(_connect(":memory:"))
                weakref.finalize(self, self._memory.close)
            return work(self._memory)

    def _forget(self) -> None:
        if self._place is None:
            self._memory = None
            return
        for ending in ("", "-wal", "-shm"):
            self._place.with_name(self._place.name + ending).unlink(missing_ok=True)


def _open(place: Path) -> sqlite3.Connection:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    connection = _connect(str(place))
    try:
        return _prepared(connection)
    except BaseException:
        connection.close()
        raise


def _connect(place: str) -> sqlite3.Connection:
    return sqlite3.connect(place, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA synchronous = NORMAL")
    if _version(connection) != _VERSION:
        connection.execute("PRAGMA journal_mode = WAL")
        with transaction(connection):
            if _version(connection) != _VERSION:  # another process may have been first
                _make(connection)
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection):  # noqa: ANN201 - a generator of nothing
    """All or nothing of what is written inside."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _version(connection: sqlite3.Connection) -> int:
    return connection.execute("PRAGMA user_version").fetchone()[0]


def _make(connection: sqlite3.Connection) -> None:
    """Begin anew, whatever is there."""
    for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'").fetchall():
        connection.execute(f'DROP TABLE "{table}"')
    for (table,) in connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall():
        connection.execute(f'DROP TABLE "{table}"')
    statement = ""
    for line in _SCHEMA.splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _is_broken(error: sqlite3.Error) -> bool:
    if isinstance(error, sqlite3.OperationalError):
        return str(error).startswith(("no such", "malformed", "vtable constructor failed"))
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)
