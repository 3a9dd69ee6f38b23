"""Shelf file: sealed entries in a SQLite file, for several processes. What is broken or of old age is made anew."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path

from callgate.tools.index_files import Tables, forget, is_broken, open_file, transaction

_PATIENCE = 2.0
"""Seconds to wait for another process: asking GitHub again takes no longer."""
_TABLES = Tables(
    1,
    """
CREATE TABLE entries (
    name TEXT PRIMARY KEY, sealed BLOB NOT NULL, size INTEGER NOT NULL, used_at REAL NOT NULL
) WITHOUT ROWID;
""",
)
_TRIM = """
DELETE FROM entries WHERE name IN (
    SELECT name FROM (SELECT name, SUM(size) OVER (ORDER BY used_at DESC, name) AS total FROM entries) WHERE total > ?
)
"""


class FileShelf:
    """Entries in one file. What goes wrong with it costs the entry, and never the call."""

    def __init__(self, path: Path, *, most: int) -> None:
        self._path = path
        self._most = most

    def get(self, name: str) -> bytes | None:
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as file:
            row = file.execute("SELECT sealed FROM entries WHERE name = ?", (name,)).fetchone()
            if row is not None:
                file.execute("UPDATE entries SET used_at = ? WHERE name = ?", (time.time(), name))
            return None if row is None else row[0]
        return None

    def put(self, name: str, sealed: bytes) -> None:
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as file:
            row = (name, sealed, len(sealed), time.time())
            file.execute("INSERT OR REPLACE INTO entries (name, sealed, size, used_at) VALUES (?, ?, ?, ?)", row)
            file.execute(_TRIM, (self._most,))

    def drop(self, name: str) -> None:
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as file:
            file.execute("DELETE FROM entries WHERE name = ?", (name,))

    @contextlib.contextmanager
    def _opened(self) -> Generator[sqlite3.Connection]:
        """The file, for one transaction: kept open by nobody, since nobody says when a tool is done with."""
        try:
            with contextlib.closing(self._ready()) as file, transaction(file):
                yield file
        except sqlite3.Error as error:
            if is_broken(error):
                forget(self._path)
            raise

    def _ready(self) -> sqlite3.Connection:
        try:
            return open_file(self._path, _TABLES, patience=_PATIENCE)
        except sqlite3.Error as error:
            if not is_broken(error):
                raise
        forget(self._path)
        return open_file(self._path, _TABLES, patience=_PATIENCE)
