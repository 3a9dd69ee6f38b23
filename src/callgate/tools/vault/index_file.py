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

from callgate.tools.index_files import Tables, forget, is_broken, open_file

T = TypeVar("T")

_PATIENCE = 10.0
_TABLES = Tables(
    1,
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
""",
)


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
            if is_broken(error):
                self._forget()
                raise IndexLost("the index of the notes was broken, and is made again") from error
            raise OSError(f"the index of the notes cannot be used now: {error}") from error

    def _once(self, work: Callable[[sqlite3.Connection], T]) -> T:
        if self._place is not None:
            with contextlib.closing(open_file(self._place, _TABLES, patience=_PATIENCE)) as connection:
                return work(connection)
        with self._lock:
            if self._memory is None:
                self._memory = open_file(None, _TABLES, patience=_PATIENCE)
                weakref.finalize(self, self._memory.close)
            return work(self._memory)

    def _forget(self) -> None:
        if self._place is None:
            self._memory = None
        else:
            forget(self._place)
