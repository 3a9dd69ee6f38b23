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
from contextlib import suppress
from typing import Any


class NotStarted(OSError):
    """There is no thread or process to run it on: it was not entered."""

    retryable = True


class Running(asyncio.Future[Any]):
    """What a thread does, as the future of the loop that asked for it; that loop may be gone when it ends."""

    value: Any = None
    """What the function returned, once it is over."""
    error: BaseException | None = None
    """What it raised."""
    _then: Callable[[], None] | None = None
    _over = False

    def __init__(self, loop: asyncio.AbstractEventLoop, lock: threading.Lock) -> None:
        super().__init__(loop=loop)
        self._lock = lock

    def afterwards(self, then: Callable[[], None]) -> None:
        """Call `then` when the thread has ended, on whichever thread, whatever became of the loop. Once."""
        with self._lock:
            if not self._over:
                self._then = then
                return
        then()

    def perform(self, function: Callable[[], Any]) -> None:
        """On the thread: run the function and tell whoever wants to know."""
        try:
            self.value = function()
        except StopIteration:
            self.error = RuntimeError("the handler raised StopIteration")
        except BaseException as raised:  # noqa: BLE001 - whatever a handler raises is its result
            self.error = raised
        with self._lock:
            self._over = True
            then = self._then
        with suppress(RuntimeError):  # the loop is gone, and nobody waits on it
            self.get_loop().call_soon_threadsafe(self._hand_over)
        if then is not None:
            then()

    def _hand_over(self) -> None:
        if self.done():
            return
        if self.error is None:
            self.set_result(self.value)
        else:
            self.set_exception(self.error)
            self.exception()  # read: whoever waits asks for it, and where nobody does it is settled as a late fact


_Work = tuple[Callable[[], Any], Running]


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
            waiter.get_loop().call_soon_threadsafe(waiter.set_result, None)
        except RuntimeError:  # its loop has ended
            self.give()

    def _was_handed(self, waiter: asyncio.Future[None]) -> bool:
        """Whether it has a place; if not, it no longer waits for one."""
        with self._lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                return False
            return True

    def run(self, function: Callable[[], Any]) -> Running:
        """Run on a thread of this lane, in a copy of the current context. Needs a place.

        Raises:
            NotStarted: The system gives no further thread.
        """
        running = Running(asyncio.get_running_loop(), self._lock)
        context = contextvars.copy_context()
        with self._lock:
            # Places bound what runs, so there is a thread for every place, and never more.
            if self._queued >= self._idle and self._threads < self._limit:
                self._start_thread()
            self._queued += 1
        self._work.put((lambda: context.run(function), running))
        return running

    def _start_thread(self) -> None:
        try:
            threading.Thread(target=self._loop, name=f"callgate-{self._name}", daemon=True).start()
        except RuntimeError as error:
            raise NotStarted(f"no thread can be started for {self._name}") from error
        self._threads += 1

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
            function, running = work
            running.perform(function)
            del work, function, running


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
