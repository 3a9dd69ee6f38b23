"""Threads for handlers that are plain functions: bounded per connector, and never waited for at exit.

A thread cannot be stopped. Past its limit the caller is free at once; the thread keeps its place until it ends, so that
a connector that hangs can exhaust only itself.
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any

_Work = tuple[Callable[[], Any], "asyncio.Future[Any]", asyncio.AbstractEventLoop]


class Lane:
    """The threads of one connector."""

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[_Work | None] = queue.SimpleQueue()
        self._threads = 0
        self._idle = 0
        self._queued = 0
        """What waits for a thread."""
        self._waiters: list[asyncio.Future[None]] = []
        self.taken = 0
        """Places in use, those of threads past their limit included."""

    async def take(self, seconds: float) -> bool:
        """Take a place, waiting so long at most; False when there is none."""
        with self._lock:
            if self.taken < self._limit:
                self.taken += 1
                return True
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
        try:
            await asyncio.wait({waiter}, timeout=seconds)
        except asyncio.CancelledError:
            if self._was_handed(waiter):
                # It was handed a place at the very moment it let go.
                self.give()
            raise
        return self._was_handed(waiter)

    def give(self) -> None:
        """Give a place back, or hand it to the next who waits, on whichever loop."""
        with self._lock:
            if not self._waiters:
                self.taken -= 1
                return
            waiter = self._waiters.pop(0)
        try:
            waiter.get_loop().call_soon_threadsafe(_wake, waiter)
        except RuntimeError:  # its loop has ended
            self.give()

    def _was_handed(self, waiter: asyncio.Future[None]) -> bool:
        """Whether it has a place; if not, it no longer waits for one."""
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                return False
            return True

    def run(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Run on a thread of this lane, in a copy of the current context. Needs a place."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()
        with self._lock:
            self._queued += 1
            # Places bound what runs, so there is a thread for every place, and never more.
            if self._queued > self._idle and self._threads < self._limit:
                self._threads += 1
                threading.Thread(target=self._loop, name=f"callgate-{self._name}", daemon=True).start()
        self._work.put((lambda: context.run(function), future, loop))
        return future

    def close(self) -> None:
        """Let idle threads end; busy ones end with their work."""
        with self._lock:
            for _ in range(self._threads):
                self._work.put(None)

    def _loop(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
            work = self._work.get()
            with self._lock:
                self._idle -= 1
                if work is None:
                    self._threads -= 1
                    return
                self._queued -= 1
            _perform(*work)
            del work


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


def _perform(function: Callable[[], Any], future: asyncio.Future[Any], loop: asyncio.AbstractEventLoop) -> None:
    try:
        result, error = function(), None
    except BaseException as raised:  # noqa: BLE001 - whatever a handler raises is its result
        result, error = None, raised
    try:
        loop.call_soon_threadsafe(_hand_over, future, result, error)
    except RuntimeError:
        # The loop is gone: nobody waits, and the row already says unknown.
        return


def _hand_over(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, StopIteration):
        future.set_exception(RuntimeError("the handler raised StopIteration"))
    else:
        future.set_exception(error)


class Threads:
    """All lanes, one per connector."""

    def __init__(self, per_connector: int) -> None:
        self._limit = per_connector
        self._lanes: dict[str, Lane] = {}

    @property
    def per_connector(self) -> int:
        """How many threads one connector may have."""
        return self._limit

    def lane(self, connector: str) -> Lane:
        """The lane of a connector."""
        lane = self._lanes.get(connector)
        if lane is None:
            lane = self._lanes[connector] = Lane(connector, self._limit)
        return lane

    def close(self) -> None:
        """Let idle threads end."""
        for lane in self._lanes.values():
            lane.close()
        self._lanes.clear()
