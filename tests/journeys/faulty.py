"""A store that can be made to fail, for journeys in which the disk does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from callgate import Callgate
from callgate.errors import StoreUnavailable
from callgate.model.event import Draft
from callgate.ports import Store, Transaction
from callgate.ports.promise import promised
from tests.journeys.gates import parts_of

T = TypeVar("T")


class Faulty:
    """A real store whose writes can be made to fail, as a full disk makes them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.broken = False
        self.raises: Exception = StoreUnavailable("the disk is full")
        self.failed = 0
        """How many writes did."""

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Write, unless it is broken."""
        self._fail()
        return await self._store.write(unit)

    def submit(self, unit: Callable[[Transaction], T]) -> asyncio.Future[T]:
        """As `write`, for those who wait later."""
        return promised(self.write(unit))

    def behind(self, draft: Draft) -> None:
        """Have it written soon, unless it is broken."""
        self._fail()
        self._store.behind(draft)

    def _fail(self) -> None:
        if self.broken:
            self.failed += 1
            raise self.raises

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def make_faulty(gate: Callgate) -> Faulty:
    """Let the store of an open gate be one that can fail."""
    parts: Any = parts_of(gate)
    faulty = Faulty(parts.store)
    parts.store = faulty
    parts.spool._store = faulty
    return faulty
