"""Spool: closing records the store would not take, tried again until it does. The rows meanwhile say `started`.

If the process dies first, recovery makes them unknown: nothing is ever claimed that is not on disk.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from callgate.errors import StoreError
from callgate.ports import Store, Transaction

_log = logging.getLogger("callgate")
_PAUSE = 0.25
_PAUSE_MOST = 10.0


class Spool:
    """Units of work that wait for the store to come back, in order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._home = asyncio.get_running_loop()
        """Where it is tried again: the loop of a call may end with its caller."""
        self._units: list[Callable[[Transaction], Any]] = []
        self._task: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._closed = False

    def __len__(self) -> int:
        return len(self._units)

    def keep(self, unit: Callable[[Transaction], Any]) -> None:
        """Write this as soon as the store takes it; after `close` there is no store to take it."""
        self._units.append(unit)
        with suppress(RuntimeError):  # the loop has ended, and nobody will try
            self._home.call_soon_threadsafe(self._try_later)

    async def write(self, unit: Callable[[Transaction], Any]) -> None:
        """Write this now, or after what waits already: a later fact must not be recorded before an earlier one."""
        if not self._units:
            try:
                await self._store.write(unit)
            except StoreError:
                pass
            else:
                return
        self.keep(unit)

    async def drain(self) -> bool:
        """Write what can be written now; whether nothing is left."""
        async with self._turn:
            while self._units:
                try:
                    await self._store.write(self._units[0])
                except StoreError:
                    return False
                except Exception:  # noqa: BLE001 - whatever it is, it must not hold up the others
                    # It will fail the same way for ever, and what waits behind it must not.
                    _log.exception("a record could not be made; the row stays started and will read unknown")
                self._units.pop(0)
        return True

    async def close(self) -> bool:
        """A last try; whether nothing is left. A write under way ends first, so that nothing is written twice."""
        self._closed = True
        if self._task is not None:
            async with self._turn:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        return await self.drain()

    def _try_later(self) -> None:
        if not self._closed and (self._task is None or self._task.done()):
            self._task = self._home.create_task(self._retry())

    async def _retry(self) -> None:
        pause = _PAUSE
        while self._units:
            await asyncio.sleep(pause)
            if not await self.drain():
                pause = min(pause * 2, _PAUSE_MOST)
