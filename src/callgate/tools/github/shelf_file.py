"""Shelf file: sealed entries in a SQLite file, for several processes. What is broken or of old age is made anew."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

_VERSION = 2
_PATIENCE = 2.0
"""Seconds to wait for another process."""
_TABLE = (  # as SQLite keeps it, letter by letter
    "CREATE TABLE entries (name TEXT PRIMARY KEY, sealed BLOB NOT NULL, size INTEGER NOT NULL, used_at REAL NOT NULL)"
    " WITHOUT ROWID"
)
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
        file = self._ready()
        try:
            with file:
                yield file
        except sqlite3.OperationalError:  # somebody else holds it, or the disk is full
            raise
        except sqlite3.DatabaseError:
            self._discard()
            raise
        finally:
            file.close()

    def _ready(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._discard()
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        file = sqlite3.connect(self._path, timeout=_PATIENCE)
        file.text_factory = bytes  # whatever the file says, nothing fails in reading it as text
        try:
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            if not _is_ours(file):
                _make(file)
        except BaseException:
            file.close()
            raise
        return file

    def _discard(self) -> None:
        for ending in ("", "-wal", "-shm"):
            Path(f"{self._path}{ending}").unlink(missing_ok=True)


def _is_ours(file: sqlite3.Connection) -> bool:
    version = file.execute("PRAGMA user_version").fetchone()[0]
    return version == _VERSION and _forms(file) == [_TABLE.encode()]


def _forms(file: sqlite3.Connection) -> list[Any]:
    return [form for (form,) in file.execute("SELECT sql FROM sqlite_schema")]


def _make(file: sqlite3.Connection) -> None:
    with file:
        file.execute("BEGIN IMMEDIATE")
        if _is_ours(file):  # another process was first
            return
        if _forms(file):
            raise sqlite3.DatabaseError("the file has another form")
        file.execute(_TABLE)
        file.execute(f"PRAGMA user_version = {_VERSION}")
