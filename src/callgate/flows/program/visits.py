"""Visits: a thread of its own for work that blocks. Knows neither programs nor what the work is.

The thread and the event loop hand over to each other by a pipe and a lock and nothing else: what goes through an
executor and its futures costs several times as much, and a program does it once for every call.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any, TypeVar

T = TypeVar("T")
_GLANCE_SECONDS = 0.0003


class Visits:
    """Does one piece of work after another; the event loop waits for the end of one in place for a moment only."""

    def __init__(self, name: str) -> None:
        # Writing to a pipe lets go of the interpreter's lock; another lock would wake a thread that has to wait for it.
        self._asking, self._asked = os.pipe()[::-1]
        self._ended = Lock()
        self._ended.acquire()
        self._work: Callable[[], Any] = _nothing
        self._value: Any = None
        self._error: BaseException | None = None
        self._sleeper: tuple[asyncio.AbstractEventLoop, asyncio.Future[None]] | None = None
        Thread(target=self._live, name=name, daemon=True).start()

    async def do(self, work: Callable[[], T], *, stop: Callable[[], None]) -> T:
        """What the work gives or raises. `stop` ends it early, for when nobody waits for it any more."""
        self._work = work
        os.write(self._asking, b"1")
        # Most work is over before the event loop could turn to something else and be woken again.
        if not self._ended.acquire(timeout=_GLANCE_SECONDS):
            await self._wait(stop)
        value, error = self._value, self._error
        self._value = self._error = None
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Let the thread end, once nothing is done any more."""
        os.close(self._asking)

    async def _wait(self, stop: Callable[[], None]) -> None:
        """Wait for the end and let the loop go on; also when cancelled, for the thread does one thing at a time."""
        loop = asyncio.get_running_loop()
        cancelled: asyncio.CancelledError | None = None
        while True:
            woken = loop.create_future()
            self._sleeper = (loop, woken)
            # The thread says that it ended before it looks whom to wake: it is seen here, or it sees this.
            if self._ended.acquire(blocking=False):
                break
            try:
                await woken
            except asyncio.CancelledError as error:
                cancelled = error
                stop()
        self._sleeper = None
        if cancelled is not None:
            raise cancelled

    def _live(self) -> None:
        while os.read(self._asked, 1):
            self._value = self._error = None
            try:
                self._value = self._work()
            except BaseException as error:  # noqa: BLE001 - whoever waits for it is told
                self._error = error
            self._ended.release()
            sleeper = self._sleeper
            if sleeper is not None:
                loop, woken = sleeper
                with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits
                    loop.call_soon_threadsafe(_wake, woken)
        os.close(self._asked)


def _nothing() -> None: ...


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
