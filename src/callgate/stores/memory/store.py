"""MemoryStore: a store that lives and ends with its process. Nothing in it waits; nothing in it survives."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from callgate.errors import StoreError, StoreUnavailable
from callgate.events.chain import Appender
from callgate.model.event import Draft, Event
from callgate.model.ids import uuid7
from callgate.ports import Clock, Reader, Transaction
from callgate.stores.memory.log import EventLog
from callgate.stores.memory.reader import MemoryReader
from callgate.stores.memory.tables import Tables
from callgate.stores.memory.transaction import MemoryTransaction

T = TypeVar("T")
_log = logging.getLogger(__name__)
_TELL_WITHIN = 0.05


class MemoryStore:  # noqa: PLR0904 - as many as its port has
    """A `Store` in memory, for tests, notebooks and calls whose record may end with the process.

    Args:
        clock: Dates the event that opens the stream.
        producer: Named by every event as its maker.
        readings: How many readings are kept.
    """

    def __init__(self, *, clock: Clock, producer: str = "callgate", readings: int = 10_000) -> None:
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
        self._state = "not open yet"

    @property
    def owner(self) -> str:
        return self._owner

    @property
    def store_id(self) -> str:
        return self._store_id

    async def open(self) -> None:
        if self._state != "not open yet":
            raise StoreError(f"the store is {self._state or 'open already'}")
        self._state = ""
        payload: dict[str, Any] = {"store_id": self._store_id, "heads": {}}
        self.behind(Draft(type="stream.opened", time=self._clock.now(), trace=self._owner, payload=payload))

    async def close(self) -> None:
        if not self._state:
            await self.flush()
        self._state = "closed"

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        if self._state:
            raise self._not_open()
        self._tables.begin()
        transaction = MemoryTransaction(self._tables, self._log, readings=self._readings)
        try:
            result = unit(transaction)
        except BaseException:
            self._tables.rollback()
            self._log.rollback()
            raise
        self._log.commit()
        self._log.add(transaction.drafts)
        if self._listeners:
            self._tell()
        return result

    def behind(self, draft: Draft) -> None:
        if self._state:
            raise self._not_open()
        self._log.add((draft,))
        if self._listeners and self._telling is None:
            self._telling = asyncio.get_running_loop().call_later(_TELL_WITHIN, self._tell)

    async def flush(self) -> None:
        if self._state:
            raise self._not_open()
        self._tell()

    async def read(self, query: Callable[[Reader], T]) -> T:
        if self._state:
            raise self._not_open()
        return query(self._reader)

    async def scan(self, query: Callable[[Reader], T]) -> T:
        """As `read`, for long queries; here there is no other place to run them."""
        return await self.read(query)

    def owner_alive(self, owner: str) -> bool:
        return owner == self._owner

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

    def _not_open(self) -> StoreUnavailable:
        return StoreUnavailable(f"the store is {self._state}")
