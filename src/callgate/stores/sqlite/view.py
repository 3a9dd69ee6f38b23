"""View: a read-only connection on which queries see one consistent state, everything acknowledged included."""

from __future__ import annotations

import sqlite3
from asyncio import AbstractEventLoop
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TypeVar

from callgate.ports import Reader
from callgate.stores.sqlite.connection import connect, is_ours, unavailable
from callgate.stores.sqlite.reader import SqliteReader

T = TypeVar("T")
_SHARED_FOR = 0.0002
"""Seconds; less than a commit and its news take."""


class View:
    """Readers never wait for the writer, nor it for them. Used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader: SqliteReader | None = None
        self._in_turn = False
        """Whether a state is open that the queries of this turn of the loop share."""
        self._since = 0.0

    def ask(self, query: Callable[[Reader], T]) -> T:
        """Run a query.

        Raises:
            StoreUnavailable: The file cannot be read.
        """
        self._end_turn()
        try:
            reader = self._reader or self._open()
            reader.db.execute("BEGIN")
            try:
                return query(reader)
            finally:
                reader.db.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise self._judged(error) from error

    def peek(self, query: Callable[[Reader], T], loop: AbstractEventLoop) -> T:
        """Run a query that shares its state with the others of this turn of the loop, as taking one costs more.

        Nobody can tell: whoever learns of a later commit does so in a later turn, or has kept the loop waiting for
        longer than a state is shared.

        Raises:
            StoreUnavailable: The file cannot be read.
        """
        try:
            reader = self._reader or self._open()
            now = monotonic()
            if self._in_turn and now - self._since > _SHARED_FOR:
                self._end_turn()
                reader = self._reader or self._open()
            if not self._in_turn:
                reader.db.execute("BEGIN")
                self._in_turn, self._since = True, now
                loop.call_soon(self._end_turn)
            return query(reader)
        except sqlite3.Error as error:
            raise self._judged(error) from error

    def _end_turn(self) -> None:
        if self._in_turn and self._reader is not None:
            try:
                self._reader.db.execute("ROLLBACK")
            except sqlite3.Error:
                # Nobody waits for this; the next query opens the file again, and says what is wrong with it.
                self.close()
        self._in_turn = False

    def _judged(self, error: sqlite3.Error) -> Exception:
        """What the caller gets; after trouble with the file the connection is not trusted."""
        if is_ours(error):
            return error
        self.close()
        return unavailable(error)

    def close(self) -> None:
        """Let go; the next question opens it again."""
        reader, self._reader = self._reader, None
        self._in_turn = False
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
