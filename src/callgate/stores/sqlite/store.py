"""SqliteStore: everything in one file, for one process or several on one host. The port's promises, put together."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from callgate.events.chain import Events
from callgate.model.event import Draft, Event
from callgate.ports import Clock, Reader, Transaction
from callgate.ports.home import FORKED, AtHome
from callgate.ports.promise import Promise, promised
from callgate.stores.sqlite import forks
from callgate.stores.sqlite.batch import Batch
from callgate.stores.sqlite.opening import SqliteFile
from callgate.stores.sqlite.view import View
from callgate.stores.sqlite.worker import Worker
from callgate.stores.sqlite.writer import Writer

T = TypeVar("T")
Listener = Callable[[Sequence[Event]], None]
_log = logging.getLogger(__name__)


class Lifecycle(AtHome):
    """Opens, closes, and says why the store cannot be used."""

    def __init__(
        self,
        path: str | Path,
        *,
        clock: Clock,
        producer: str = "callgate",
        readings: int = 10_000,
        looking: bool = False,
    ) -> None:
        super().__init__()
        # By its real name, as SQLite takes it: whoever comes by a link finds the same owners beside it.
        self._path = Path(os.path.realpath(path))
        self._file = SqliteFile(self._path, clock=clock, producer=producer, readings=readings, looking=looking)
        self._listeners: list[Listener] = []
        self._writer: Writer | None = None
        """The way in; None when the store cannot be used."""
        self._closing: asyncio.Task[None] | None = None

    @property
    def owner(self) -> str:
        return self._file.owner

    @property
    def store_id(self) -> str:
        return self._file.store_id

    async def open(self, look: Callable[[Reader], None] | None = None) -> None:
        loop = self._settle_here()
        worker = Worker("callgate-store")
        forks.watch(self)
        try:
            await worker.wait_for(lambda: self._file.open(look))
        except BaseException as error:
            self._why = "not open, because opening it failed"
            if isinstance(error, asyncio.CancelledError):
                worker.do(self._file.close, _ignore)
            worker.stop()
            raise
        self._writer = Writer(self._file.session, worker, loop=loop, tell=self._tell)
        self._why = ""

    async def close(self, *, still_running: bool = False) -> None:
        self._file.keeps_owner = still_running
        writer, self._writer = self._writer, None
        if writer is not None:
            self._why = "closed"
            self._closing = asyncio.get_running_loop().create_task(self._let_go(writer))
        if self._closing is not None:
            await asyncio.shield(self._closing)

    def abandon(self) -> None:
        """In a forked child: this is the parent's store."""
        self._writer = None
        self._why = FORKED
        self._file.abandon()

    async def _let_go(self, writer: Writer) -> None:
        try:
            await writer.close()
        finally:
            self._file.view.close()
            await writer.worker.wait_for(self._file.close)
            writer.worker.stop()
            forks.unwatch(self)

    def _tell(self, batch: Batch) -> None:
        events = Events(batch.rows, first=batch.first)
        for listener in self._listeners:
            try:
                listener(events)
            except Exception:  # noqa: BLE001 - a listener harms nobody else
                _log.exception("a listener of the store failed")


class SqliteStore(Lifecycle):  # noqa: PLR0904 - as many as its port has
    """A `Store` in one SQLite file.

    Args:
        path: The database; it and its folder are made when they are not there.
        clock: Dates the opening of the store.
        producer: Named by every event as its maker.
        readings: About how many readings are kept.
        looking: Whether its stream begins with the first event only.
    """

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        writer = self._writer
        if writer is None:
            raise self._unusable()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            return await self._at_home(self.write(unit))
        return await writer.submit(unit, loop.create_future())

    def submit(self, unit: Callable[[Transaction], T]) -> asyncio.Future[T]:
        writer = self._writer
        if writer is None:
            raise self._unusable()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            home = self._awake()
            return promised(self.write(unit), home)
        return writer.submit(unit, Promise(loop=loop))

    def behind(self, draft: Draft) -> None:
        writer = self._writer
        if writer is None:
            raise self._unusable()
        writer.behind(draft)

    async def flush(self) -> None:
        await self.write(_nothing)

    async def read(self, query: Callable[[Reader], T]) -> T:
        if self._writer is None:
            raise self._unusable()
        if asyncio.get_running_loop() is not self._loop:
            return await self._at_home(self.read(query))
        return self._file.view.ask(query)

    async def peek(self, query: Callable[[Reader], T]) -> T:
        if self._writer is None:
            raise self._unusable()
        if asyncio.get_running_loop() is not self._loop:
            return await self._at_home(self.peek(query))
        return self._file.view.peek(query)

    async def scan(self, query: Callable[[Reader], T]) -> T:
        if self._writer is None:
            raise self._unusable()
        return await asyncio.to_thread(self._scan, query)

    def owner_alive(self, owner: str) -> bool:
        return self._file.owners.alive(owner)

    def handles_for_children(self) -> tuple[int, ...]:
        return self._file.owners.handles

    def gone_owners(self) -> list[str]:
        return self._file.owners.gone()

    def forget_owner(self, owner: str) -> None:
        self._file.owners.forget(owner)

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def _scan(self, query: Callable[[Reader], T]) -> T:
        view = View(self._path)
        try:
            return view.ask(query)
        finally:
            view.close()


def _nothing(_: Transaction) -> None:
    """A unit that waits for everything before it."""


def _ignore(_: object) -> None:
    """Nobody asks any more."""
