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
    2,
    """
CREATE TABLE entries (
    name TEXT PRIMARY KEY, sealed BLOB NOT NULL, size INTEGER NOT NULL, used_at REAL NOT NULL
) WITHOUT ROWID;
""",
)
_FORM = _TABLES.schema.strip().removesuffix(";").encode()
# What has another type, or is larger than anything laid there, is not ours.
_GET = "SELECT sealed FROM entries WHERE name = ? AND typeof(sealed) = 'blob' AND length(sealed) <= ?"
_TRIM = """
DELETE FROM entries WHERE name IN (
    SELECT name FROM (SELECT name, TOTAL(size) OVER (ORDER BY used_at DESC, name) AS total FROM entries) WHERE total > ?
)
"""


class FileShelf:
    """Entries in one file. What goes wrong with it costs the entry, and never the call."""

    def __init__(self, path: Path, *, most: int) -> None:
        self._path = path
        self._most = most

    def get(self, name: str) -> bytes | None:
        with contextlib.suppress(sqlite3.Error, OSError), self._opened() as file:
            row = file.execute(_GET, (name, self._most)).fetchone()
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
            return self._open()
        except sqlite3.Error as error:
            if not is_broken(error):
                raise
        forget(self._path)
        return self._open()

    def _open(self) -> sqlite3.Connection:
        file = open_file(self._path, _TABLES, patience=_PATIENCE)
        try:
            _expect_form(file)
        except BaseException:
            file.close()
            raise
        return file


def _expect_form(file: sqlite3.Connection) -> None:
    """That the version is ours says little of a file that somebody else has changed.

    Raises:
        sqlite3.DatabaseError: It has not our table, or more than that.
    """
    file.text_factory = bytes  # whatever it says, nothing fails in reading it as text
    if file.execute("SELECT sql FROM sqlite_schema").fetchall() != [(_FORM,)]:
        raise sqlite3.DatabaseError("the file has another form")
