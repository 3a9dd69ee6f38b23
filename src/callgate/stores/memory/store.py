"""MemoryStore: a store that lives and ends with its process. Nothing in it waits; nothing in it survives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any, TypeVar, cast

from callgate.events.chain import Appender
from callgate.events.vocabulary import STREAM_OPENED
from callgate.model.event import Draft, Event
from callgate.model.ids import uuid7
from callgate.ports import Clock, Reader, Transaction
from callgate.ports.home import AtHome
from callgate.ports.promise import promised
from callgate.stores.memory.log import WAITING_AT_MOST, EventLog
from callgate.stores.memory.reader import MemoryReader
from callgate.stores.memory.tables import Tables
from callgate.stores.memory.transaction import MemoryTransaction

T = TypeVar("T")
_log = logging.getLogger(__name__)
_TELL_WITHIN = 0.05


class MemoryStore(AtHome):  # noqa: PLR0904 - as many as its port has
    """A `Store` in memory, for tests, notebooks and calls whose record may end with the process.

    Args:
        clock: Dates the event that opens the stream.
        producer: Named by every event as its maker.
        readings: How many readings are kept.
    """

    def __init__(self, *, clock: Clock, producer: str = "callgate", readings: int = 10_000) -> None:
        super().__init__()
        self._clock = clock
        self._owner = uuid7()
        self._store_id = uuid7()
        self._tables = Tables()
        self._log = EventLog(Appender(self._owner, producer=producer))
        self._reader = MemoryReader(self._tables, self._log)
        self._readings = readings
        self._listeners: list[Callable[[Sequence[Event]], None]] = []
        self._told = 0
        self._telling: asyncio.TimerHandle | None = None
        self._thread = 0

    @property
    def owner(self) -> str:
        return self._owner

    @property
    def store_id(self) -> str:
        return self._store_id

    async def open(self, look: Callable[[Reader], None] | None = None) -> None:
        self._settle_here()
        if look is not None:
            look(self._reader)
        self._thread = get_ident()
        self._why = ""
        payload: dict[str, Any] = {"store_id": self._store_id, "heads": {}}
        self.behind(Draft(type=STREAM_OPENED, time=self._clock.now(), trace=self._owner, payload=payload))

    async def close(self, *, still_running: bool = False) -> None:  # noqa: ARG002 - nothing of it outlives the process
        if not self._why:
            if not self._home().is_closed():
                await self.flush()
            self._why = "closed"

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        if self._why:
            raise self._unusable()
        if asyncio.get_running_loop() is not self._loop:
            return await self._at_home(self.write(unit))
        return self._run(unit)

    def submit(self, unit: Callable[[Transaction], T]) -> asyncio.Future[T]:
        if self._why:
            raise self._unusable()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            home = self._awake()
            return promised(self.write(unit), home)
        promise: asyncio.Future[T] = loop.create_future()
        try:
            promise.set_result(self._run(unit))
        except Exception as error:  # noqa: BLE001 - whoever waits for the unit is told
            promise.set_exception(error)
        return promise

    def _run(self, unit: Callable[[Transaction], T]) -> T:
        self._tables.begin()
        transaction = MemoryTransaction(self._tables, self._log, readings=self._readings)
        try:
            result = unit(transaction)
        except BaseException:
            self._tables.rollback()
            self._log.rollback()
            raise
        self._log.commit()
        if self._log.add(transaction.drafts) or self._listeners:
            self._tell()
        return result

    def behind(self, draft: Draft) -> None:
        if self._why:
            raise self._unusable()
        waiting = self._log.waiting
        waiting.append(draft)
        if get_ident() != self._thread:
            self._home().call_soon_threadsafe(self._tell)
        elif len(waiting) > WAITING_AT_MOST:
            self._tell()
        elif self._telling is None and self._listeners:
            self._telling = self._home().call_later(_TELL_WITHIN, self._tell)

    async def flush(self) -> None:
        if self._why:
            raise self._unusable()
        if asyncio.get_running_loop() is not self._loop:
            return await self._at_home(self.flush())
        return self._tell()

    async def read(self, query: Callable[[Reader], T]) -> T:
        if self._why:
            raise self._unusable()
        if asyncio.get_running_loop() is not self._loop:
            return await self._at_home(self.read(query))
        return query(self._reader)

    async def peek(self, query: Callable[[Reader], T]) -> T:
        if self._why or asyncio.get_running_loop() is not self._loop:
            return await self.read(query)
        return query(self._reader)

    async def scan(self, query: Callable[[Reader], T]) -> T:
        return await self.read(query)

    def owner_alive(self, owner: str) -> bool:
        return owner == self._owner

    def handles_for_children(self) -> tuple[int, ...]:
        return ()

    def gone_owners(self) -> list[str]:
        return []

    def forget_owner(self, owner: str) -> None:
        """Nothing is kept of other owners."""

    def subscribe(self, listener: Callable[[Sequence[Event]], None]) -> None:
        if not self._listeners:
            self._log.settle()
            self._told = len(self._log.rows)
        self._listeners.append(listener)

    def _tell(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None
        self._log.settle()
        events = self._log.since(self._told)
        self._told += len(events)
        if not events:
            return
        for listener in self._listeners:
            try:
                listener(events)
            except Exception:  # noqa: BLE001 - a listener harms nobody else
                _log.exception("a listener of the store failed")

    def _home(self) -> asyncio.AbstractEventLoop:
        """The loop of a store that is open."""
        return cast("asyncio.AbstractEventLoop", self._loop)
