"""Session: the one write connection, and how a batch becomes one durable transaction. Knows no loop and no thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from callgate.errors import StoreUnavailable
from callgate.events.chain import Appender
from callgate.stores.sqlite.batch import Batch
from callgate.stores.sqlite.connection import connect, is_locked, unavailable
from callgate.stores.sqlite.events import SQL, head_of
from callgate.stores.sqlite.known import Known
from callgate.stores.sqlite.late import LateTransaction
from callgate.stores.sqlite.running import Tangled, run_carefully, run_swiftly
from callgate.stores.sqlite.transaction import SqliteTransaction

_LOCK_WAIT_MS = 5000
_PATIENCE = 30.0
_PAUSE = 0.01
_LOOK_EVERY = 0.001


class Locked(Exception):
    """Another process writes; wait where waiting harms nobody."""


def _take_write_lock(db: sqlite3.Connection, *, wait: bool) -> None:
    """Begin to write.

    SQLite's own way to wait soon looks ten times a second only: beside processes that write without pause it finds the
    lock taken each time.
    """
    deadline = monotonic() + _LOCK_WAIT_MS / 1000
    while True:
        try:
            db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
            if not wait:
                raise Locked from error
            if monotonic() > deadline:
                raise
            sleep(_LOOK_EVERY)
        else:
            return


class Session:
    """Runs batches on the write connection. Used by one thread at a time, whichever it is.

    After any trouble with the file the connection is not trusted: it is closed, and opened again for the next batch.

    Args:
        path: The database file.
        prepare: Called with each new connection before its first use; raises StoreError if it must not be used.
        appender: Chains the events of this session's stream.
        readings: About how many readings are kept.
        enter: Begins the stream, before the first event of one that has not begun; None if whoever opens it does.
    """

    def __init__(
        self,
        path: Path,
        *,
        prepare: Callable[[sqlite3.Connection], None],
        appender: Appender,
        readings: int,
        enter: Callable[[SqliteTransaction], None] | None = None,
    ) -> None:
        self._path = path
        self._prepare = prepare
        self._appender = appender
        self._readings = readings
        self._enter = enter
        self._known = Known()
        self._tx: SqliteTransaction | None = None
        self._doubted: Batch | None = None
        """The last one whose commit was reported as failed, until it is known whether it stands."""

    @property
    def closed(self) -> bool:
        """Whether the next batch has to open the file first, which may take long."""
        return self._tx is None

    def run(self, batch: Batch, *, wait: bool) -> None:
        """Run every unit inside one open transaction; `commit` or `end` it next.

        Args:
            batch: Gets its results, and whether anything changed.
            wait: Whether to wait for another process that writes.

        Raises:
            Locked: Another process writes, and `wait` is False; nothing was run.
            StoreUnavailable: The store cannot be used; nothing of the batch remains.
        """
        try:
            transaction = self._begin(wait=wait)
            if self._doubted is not None:
                self._look_for(self._doubted, transaction.db, batch)
            try:
                run_swiftly(transaction, batch)
            except Tangled:
                transaction.db.execute("ROLLBACK")
                transaction.rewind(self._appender.head, 0)
                transaction = self._begin(wait=wait)
                run_carefully(transaction, batch)
        except Locked:
            raise
        except Exception as error:
            self.discard()
            raise unavailable(error) from error
        batch.changed = transaction.changed
        batch.rows, batch.first = transaction.rows, transaction.first

    def commit(self) -> None:
        """Make what ran durable.

        Raises:
            StoreUnavailable: It could not be; nothing of it remains.
        """
        try:
            self._open_transaction().db.execute("COMMIT")
        except sqlite3.Error as error:
            self.discard()
            raise unavailable(error) from error
        self._appender.commit()
        self._known.trim()

    def doubt(self, batch: Batch) -> None:
        """Take a batch that failed: it may stand all the same, which is found out before the next one."""
        if batch.rows:
            self._doubted = batch

    def end(self) -> None:
        """End a transaction that changed nothing."""
        self._open_transaction().db.execute("ROLLBACK")

    def discard(self) -> None:
        """Close the connection with whatever it has open, and trust nothing that was known through it."""
        transaction, self._tx = self._tx, None
        self._appender.rollback()
        self._known.forget()
        if transaction is not None:
            with suppress(sqlite3.Error):
                transaction.db.execute("ROLLBACK")
            with suppress(sqlite3.Error):
                transaction.db.close()

    def leak(self, keep: Callable[[object], None]) -> None:
        """In a forked child: leave the connection as it is, for ever."""
        if self._tx is not None:
            keep(self._tx.db)
            self._tx = None

    def _begin(self, *, wait: bool) -> SqliteTransaction:
        transaction = self._tx or self._open()
        db = transaction.db
        _take_write_lock(db, wait=wait)
        version = db.execute("PRAGMA data_version").fetchone()[0]
        if version != self._known.version:
            self._known.forget()
            self._known.version = version
        transaction.begin()
        return transaction

    def _look_for(self, doubted: Batch, db: sqlite3.Connection, batch: Batch) -> None:  # noqa: PLR0917
        """A commit is whole or not at all, and nobody else writes to our stream: its end tells."""
        last = doubted.rows[-1]
        if db.execute(SQL["head"], (self._appender.stream,)).fetchone() == (last[2], last[12]):
            batch.goes_after(doubted)
        self._doubted = None

    def _open(self) -> SqliteTransaction:
        """Open the file, with patience: processes that make one store at once get in each other's way for a moment."""
        deadline = monotonic() + _PATIENCE
        while True:
            try:
                self._tx = self._connect()
            except sqlite3.OperationalError as error:
                if not is_locked(error) or monotonic() > deadline:
                    raise
                sleep(_PAUSE)
            else:
                return self._tx

    def _connect(self) -> SqliteTransaction:
        db = connect(self._path)
        try:
            self._prepare(db)
            self._resume(db)
            db.execute("PRAGMA busy_timeout = 0")
        except BaseException:
            db.close()
            raise
        if self._enter is None:
            return SqliteTransaction(db, self._known, appender=self._appender, readings=self._readings)
        return LateTransaction(db, self._known, appender=self._appender, readings=self._readings, enter=self._enter)

    def _resume(self, db: sqlite3.Connection) -> None:
        """Go on after the last event that is in the file, which may be one whose commit was reported as failed."""
        row = db.execute(SQL["head"], (self._appender.stream,)).fetchone()
        if row is not None:
            self._appender.rewind(head_of(row))
            self._appender.commit()

    def _open_transaction(self) -> SqliteTransaction:
        if self._tx is None:
            raise StoreUnavailable("the store's connection is closed")
        return self._tx
