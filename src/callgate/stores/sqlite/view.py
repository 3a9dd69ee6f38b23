"""View: a read-only connection on which queries see everything that was acknowledged."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from callgate.ports import Reader
from callgate.stores.sqlite.connection import connect, is_ours, unavailable
from callgate.stores.sqlite.reader import SqliteReader

T = TypeVar("T")


class View:
    """Readers never wait for the writer, nor it for them. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: SqliteReader | None = None

    def ask(self, query: Callable[[Reader], T]) -> T:
        """Run a query.

        Raises:
            StoreUnavailable: The file cannot be read.
        """
        try:
            reader = self._reader or self._open()
            reader.db.execute("BEGIN")
            try:
                return query(reader)
            finally:
                reader.db.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise self._judged(error) from error

    def peek(self, query: Callable[[Reader], T]) -> T:
        """Run a query without a transaction around it: each of its statements sees all that is committed by then.

        Raises:
            StoreUnavailable: The file cannot be read.
        """
        try:
            return query(self._reader or self._open())
        except sqlite3.Error as error:
            raise self._judged(error) from error

    def _judged(self, error: sqlite3.Error) -> Exception:
        """What the caller gets; after trouble with the file the connection is not trusted."""
        if is_ours(error):
            return error
        self.close()
        return unavailable(error)

    def close(self) -> None:
        """Let go; the next question opens it again."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.db.close()

    def leak(self, keep: Callable[[object], None]) -> None:
        """In a forked child: leave the connection as it is, for ever."""
        if self._reader is not None:
            keep(self._reader.db)
            self._reader = None

    def _open(self) -> SqliteReader:
        self._reader = SqliteReader(connect(self._path, read_only=True))
        return self._reader
