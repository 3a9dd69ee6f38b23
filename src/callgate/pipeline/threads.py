"""Threads for handlers that are plain functions: bounded per connector, and never waited for at exit.

A thread cannot be stopped. Past its limit the caller is free at once; the thread keeps its place until it ends, so that
a connector that hangs can exhaust only itself.

Most of what a plain function costs is the waking of threads. So each thread waits by itself, and the one that was busy
last is taken first: of several that wait in one queue, each piece of work wakes a second one for nothing.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
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
    _first: Callable[[object], None] | None = None
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

    def tell_first(self, first: Callable[[object], None]) -> None:
        """Call `first` in the turn of the loop in which it ends; callbacks of futures come a turn later."""
        self._first = first

    def perform(self, function: Callable[[], Any], free: Callable[[], None]) -> None:
        """On the thread: run the function and tell whoever wants to know.

        Args:
            function: What to run.
            free: Called once under the lock when the thread may be given other work.
        """
        try:
            self.value = function()
        except StopIteration:
            self.error = RuntimeError("the handler raised StopIteration")
        except BaseException as raised:  # noqa: BLE001 - whatever a handler raises is its result
            self.error = raised
        with self._lock:
            self._over = True
            then = self._then
            if then is None:
                free()  # before anybody is told: who calls again at once finds this thread, not a new one
        with suppress(RuntimeError):  # the loop is gone, and nobody waits on it
            self.get_loop().call_soon_threadsafe(self._hand_over)
        if then is not None:
            then()
            with self._lock:
                free()

    def _hand_over(self) -> None:
        if self.done():
            return
        if self.error is None:
            self.set_result(self.value)
        else:
            self.set_exception(self.error)
            self.exception()  # read: whoever waits asks for it, and where nobody does it is settled as a late fact
        if self._first is not None:
            self._first(self)


class _Worker:
    """One thread of a lane: it waits until it is woken, with work or to end."""

    __slots__ = ("wake", "work")

    def __init__(self) -> None:
        self.wake = threading.Lock()
        self.wake.acquire()
        self.work: tuple[Callable[[], Any], Running] | None = None


class Lane:
    """The threads of one connector."""

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._lock = threading.Lock()
        self._work: deque[tuple[Callable[[], Any], Running]] = deque()
        """What waits for a thread: one whose place is free already, while it still tells of what it did."""
        self._threads = 0
        self._idle: list[_Worker] = []
        self._closed = False
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
        work = (partial(contextvars.copy_context().run, function), running)
        with self._lock:
            # Places bound what runs, so there is a thread for every place, and never more.
            if not self._idle and self._threads >= self._limit:
                self._work.append(work)
                return running
            worker = self._idle.pop() if self._idle else self._start_thread()
            worker.work = work
        worker.wake.release()
        return running

    def _start_thread(self) -> _Worker:
        worker = _Worker()
        try:
            threading.Thread(target=self._loop, args=(worker,), name=f"callgate-{self._name}", daemon=True).start()
        except RuntimeError as error:
            raise NotStarted(f"no thread can be started for {self._name}") from error
        self._threads += 1
        return worker

    def close(self) -> None:
        """Let idle threads end; busy ones end with their work."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in idle:
                self._free(worker)

    def _free(self, worker: _Worker) -> None:
        """Under the lock: give the thread its next work, have it wait for some, or let it end."""
        if self._work:
            worker.work = self._work.popleft()
        elif not self._closed:
            self._idle.append(worker)
            return
        else:
            self._threads -= 1
        worker.wake.release()

    def _loop(self, worker: _Worker) -> None:
        free = partial(self._free, worker)
        while True:
            worker.wake.acquire()
            work, worker.work = worker.work, None
            if work is None:
                return
            function, running = work
            running.perform(function, free)
            del work, function, running  # a thread that waits keeps nothing of what it did


class Threads:
    """All lanes, one per connector."""

    def __init__(self, per_connector: int) -> None:
        self._limit = per_connector
        self._lanes: dict[str, Lane] = {}

    @property
    def per_connector(self) -> int:
        """How many threads one connector may have, and how many processes."""
        return self._limit

    def lane(self, connector: str) -> Lane:
        """The lane of a connector."""
        lane = self._lanes.get(connector)
        if lane is None:
            # Two loops that come first at once make one each, and have one of them: else each would have the limit.
            lane = self._lanes.setdefault(connector, Lane(connector, self._limit))
        return lane

    def close(self) -> None:
        """Let idle threads end."""
        for lane in self._lanes.values():
            lane.close()
        self._lanes.clear()
