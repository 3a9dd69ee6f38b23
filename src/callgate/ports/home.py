"""AtHome: what lives on the event loop it was opened on, and is asked on others. Knows no store's way of storing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any, TypeVar

from callgate.errors import StoreError, StoreUnavailable

T = TypeVar("T")
NOT_FORKED = "fork before it is opened, or start the process with spawn"
"""What to do so that a process has a store, or a gate, of its own."""
FORKED = f"its parent process's; {NOT_FORKED}"
"""What a store is to a forked process, and what to do about it."""


class AtHome:
    """A store's place: which loop is its own, and why it cannot be used."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0
        self._why = "not open yet"
        """Why it cannot be used; empty when it can."""

    def _settle_here(self) -> asyncio.AbstractEventLoop:
        """Live on the running loop from now on.

        Raises:
            StoreError: It has lived somewhere before.
        """
        if self._loop is not None:
            raise StoreError(f"the store was opened before and is {self._why or 'open'}; make another one")
        self._loop = asyncio.get_running_loop()
        self._process = os.getpid()
        return self._loop

    def _awake(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        if loop is None or loop.is_closed():
            raise StoreUnavailable("the event loop this store was opened on has ended; open it where it is used")
        if os.getpid() != self._process:
            raise StoreUnavailable(f"the store is {FORKED}")
        return loop

    async def _at_home(self, work: Coroutine[Any, Any, T]) -> T:
        """Do on the loop the store was opened on what was asked on another."""
        try:
            loop = self._awake()
        except StoreUnavailable:
            work.close()
            raise
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))

    def _unusable(self) -> StoreUnavailable:
        return StoreUnavailable(f"the store is {self._why}")
