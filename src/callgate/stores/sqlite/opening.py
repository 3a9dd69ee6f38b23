"""How a SQLite store is opened and let go: file, schema, owner's lock, stream, thread. Knows nothing of calls."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from callgate.errors import StoreError, StoreUnavailable
from callgate.events.chain import Appender
from callgate.events.vocabulary import STREAM_OPENED
from callgate.model.attempt import AttemptState
from callgate.model.event import Draft
from callgate.model.ids import uuid7
from callgate.ports import Clock, Reader
from callgate.stores.sqlite import forks
from callgate.stores.sqlite.batch import Batch
from callgate.stores.sqlite.connection import create
from callgate.stores.sqlite.owners import Owners
from callgate.stores.sqlite.schema import prepare
from callgate.stores.sqlite.session import Session
from callgate.stores.sqlite.streams import open_stream
from callgate.stores.sqlite.transaction import SqliteTransaction
from callgate.stores.sqlite.view import View

_log = logging.getLogger(__name__)


class SqliteFile:
    """One store's file while this process uses it."""

    def __init__(self, path: Path, *, clock: Clock, producer: str, readings: int, looking: bool = False) -> None:
        self.owner = uuid7()
        self.keeps_owner = False
        """Whether the owner stays alive, in its lock, until the process ends."""
        self.owners = Owners(path.with_name(f"{path.name}.owners"))
        self.store_id = ""
        self.view = View(path)
        self._path = path
        self._clock = clock
        self._looking = looking
        appender = Appender(self.owner, producer=producer)
        self.session = Session(
            path,
            prepare=self._prepare,
            appender=appender,
            readings=readings,
            enter=self._enter if looking else None,
        )

    def open(self, look: Callable[[Reader], None] | None = None) -> None:
        """Make or check the file, migrate, take the owner's lock, look, start the stream. May take long.

        Raises:
            StoreError: With what to do.
        """
        create(self._path, looking=self._looking)
        try:
            self.owners.take(self.owner)
            refused = self._start(look or _see_nothing)
        except StoreError as error:
            self._give_up()
            raise StoreError(f"{self._path}: {error}") from error
        if refused is not None:
            self._give_up()
            raise refused

    def close(self) -> None:
        """Let go. Closing the last connection copies the log into the file, which may take long."""
        mine = View(self._path)
        forget = False
        try:
            forget = not mine.ask(lambda reader: _runs(reader, self.owner))
        except StoreUnavailable:
            _log.warning("%s could not be read while closing; the owner's file stays for recovery", self._path)
        mine.close()
        self.session.discard()
        if not self.keeps_owner:
            self.owners.release(forget=forget)

    def abandon(self) -> None:
        """In a forked child: leave the parent's connections and lock alone."""
        self.session.leak(forks.leak)
        self.view.leak(forks.leak)
        self.owners.abandon()

    def _prepare(self, db: sqlite3.Connection) -> None:
        store_id = prepare(db, now=self._clock.now())
        if self.store_id not in {"", store_id}:
            raise StoreError("another store's file has taken the place of this one's")
        self.store_id = store_id

    def _start(self, look: Callable[[Reader], None]) -> BaseException | None:
        """Look, and begin the stream unless looking is all; what the look raised, in which case nothing is kept."""

        def enter(transaction: SqliteTransaction) -> None:
            # Who is refused enters nowhere, and forgets no owner: only the transaction is rolled back.
            if batch.results[0][2] is None:
                self._enter(transaction)

        units: list[Callable[[SqliteTransaction], None]] = [look] if self._looking else [look, enter]
        batch = Batch([(unit, Future()) for unit in units])  # pyright: ignore[reportArgumentType] - nobody waits
        self.session.run(batch, wait=True)
        refused, *others = (error for _, _, error in batch.results)
        if refused is not None:
            return refused
        for error in others:
            if error is not None:
                raise error
        # Where looking is all, the stream begins with the first event, and looking makes none.
        self.session.end() if self._looking else self.session.commit()
        return None

    def _give_up(self) -> None:
        self.session.discard()
        self.owners.release(forget=True)

    def _enter(self, transaction: SqliteTransaction) -> None:
        opened = Draft(
            type=STREAM_OPENED, time=self._clock.now(), trace=self.owner, payload={"store_id": self.store_id}
        )
        open_stream(transaction, opened=opened, stream=self.owner, alive=self.owners.alive)
        for owner in self.owners.gone():
            if not _runs(transaction, owner):
                self.owners.forget(owner)


def _see_nothing(_: Reader) -> None:
    """Nobody looks."""


def _runs(reader: Reader, owner: str) -> bool:
    """Whether that owner has a row that is started."""
    return any(row.state is AttemptState.STARTED for row in reader.unended(owner))
