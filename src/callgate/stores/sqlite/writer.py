"""Writer: gathers what arrives into commits. Alone a unit goes at once; what comes meanwhile goes with the next.

The statements of a batch run on the event loop's own thread, because on another each of them would first have to win
the interpreter back from a busy loop; what waits for the disk or for another process runs on the worker's.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from asyncio import AbstractEventLoop, Future
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any, TypeVar

from callgate.errors import StoreUnavailable
from callgate.model.event import Draft
from callgate.model.ids import uuid7
from callgate.ports import Transaction
from callgate.stores.sqlite.batch import Batch, Item, Unit
from callgate.stores.sqlite.session import Locked, Session
from callgate.stores.sqlite.worker import Job, Worker

_UNITS_AT_MOST = 256
_ITEMS_AT_MOST = 2048
_BEHIND_WITHIN = 0.02
_CROWDED = 4096
_FULL = 16384
_RELIEF_WAIT = 0.1
_RETRY_FIRST, _RETRY_LAST = 0.05, 1.0
_SLOW_BATCH, _SLOW_ITEM = 0.02, 0.001
_BATCHES_OFF_LOOP = 64

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Writer:
    """The queue before one session. Everything but `behind` is called on the loop's thread."""

    def __init__(
        self, session: Session, worker: Worker, *, loop: AbstractEventLoop, tell: Callable[[Batch], None]
    ) -> None:
        self._session = session
        self.worker = worker
        self._loop = loop
        self._thread = threading.get_ident()
        self._tell = tell
        self._queue: deque[Item] = deque()
        self._job: Job | None = None
        self._batch = Batch([])
        """What the job is about."""
        self._kicked = False
        self._timer: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._retry_in = _RETRY_FIRST
        self._stuck: Job | None = None
        """A job that was waited for in vain."""
        self._off_loop = 0
        """How many of the next batches run on the worker, because the last one kept the loop waiting."""
        self.failure: str | None = None
        """Why the last commit failed; None once one succeeds."""

    def submit(self, unit: Unit, future: Future[T]) -> Future[T]:
        """Have a unit run and made durable; the future is told."""
        self._queue.append((unit, future))
        self._kick()
        return future

    def behind(self, draft: Draft) -> None:
        """Have an event written soon.

        Raises:
            StoreUnavailable: The last commit failed, or too many wait.
        """
        if self.failure is not None:
            raise StoreUnavailable(self.failure)
        if len(self._queue) >= _CROWDED:
            self._relieve()
        if self._timer is None:
            self._arm()
        self._queue.append(draft)

    async def close(self) -> None:
        """Write what waits, and stop.

        Raises:
            StoreUnavailable: Some of it could not be written, and is lost.
        """
        self._disarm()  # nothing but this takes what waits from here on, so that what is lost can be counted
        try:
            await (
                self.worker.wait_for(self._drain)
                if self._loop.is_closed()
                else self.submit(_nothing, self._loop.create_future())
            )
        except StoreUnavailable as error:
            lost = f"{len(self._queue)} events could not be written before the store was closed: {error}"
            _log.error("%s", lost)
            raise StoreUnavailable(lost) from error
        finally:
            self._disarm()

    def _disarm(self) -> None:
        for timer in (self._timer, self._retry):
            if timer is not None:
                timer.cancel()

    def _drain(self) -> None:
        """On the worker, when the loop has ended: write what waits. Nobody waits for units any more."""
        while self._queue:
            self._batch = Batch(self._take())
            self._run_and_commit()

    def _kick(self) -> None:
        if not self._kicked and self._job is None:
            self._kicked = True
            self._loop.call_soon(self._pump)

    def _arm(self) -> None:
        try:
            if threading.get_ident() == self._thread:
                self._timer = self._loop.call_later(_BEHIND_WITHIN, self._due)
            else:
                self._loop.call_soon_threadsafe(self._arm_once)
        except RuntimeError as error:
            raise StoreUnavailable("the event loop this store was opened on has ended") from error

    def _arm_once(self) -> None:
        if self._timer is None:
            self._arm()

    def _due(self) -> None:
        self._timer = None
        self._pump()

    def _pump(self) -> None:
        """Start the next commit, if none is under way."""
        self._kicked = False
        if self._job is not None or not self._queue:
            return
        items = self._take()
        if not items:
            return
        self._batch = batch = Batch(items)
        if self._off_loop or self._session.closed or not self._run_here(batch):
            self._off_loop = max(self._off_loop - 1, 0)
            self._job = self.worker.do(self._run_and_commit, self._report)

    def _take(self) -> list[Item]:
        queue = self._queue
        items: list[Item] = []
        units = 0
        while queue and units < _UNITS_AT_MOST and len(items) < _ITEMS_AT_MOST:
            item = queue.popleft()
            if not isinstance(item, Draft):
                if item[1].cancelled():
                    continue
                units += 1
            items.append(item)
        return items

    def _run_here(self, batch: Batch) -> bool:
        """Run a batch on this thread and have it committed; False if another process writes just now."""
        begun = perf_counter()
        try:
            self._session.run(batch, wait=False)
        except Locked:
            return False
        except StoreUnavailable as error:
            self._fail(batch, error)
            return True
        took = perf_counter() - begun
        if took > _SLOW_BATCH and took > _SLOW_ITEM * len(batch.items):
            self._off_loop = _BATCHES_OFF_LOOP
        if batch.changed:
            self._job = self.worker.do(self._session.commit, self._report)
        else:
            self._session.end()
            self._succeed(batch)
            if self._queue:
                self._kick()
        return True

    def _run_and_commit(self) -> None:
        self._session.run(self._batch, wait=True)
        self._session.commit()

    def _report(self, job: Job) -> None:
        """On the worker: tell the loop. A loop that is closed has nobody left to tell."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._finish, job)

    def _finish(self, job: Job) -> None:
        if self._job is not job:
            return
        self._job = None
        if job.error is None:
            self._succeed(self._batch)
            # Before those who were told have their turn: what they do next is done while the next one commits.
            self._pump()
        else:
            self._fail(self._batch, job.error)

    def _succeed(self, batch: Batch) -> None:
        if batch.changed:
            self.failure = None
            self._retry_in = _RETRY_FIRST
        for future, value, error in batch.results:
            if future.done():
                continue
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(_tellable(error))
        if batch.before is not None:
            self._tell(batch.before)
        if batch.rows:
            self._tell(batch)

    def _fail(self, batch: Batch, error: BaseException) -> None:
        reason = str(error) if isinstance(error, StoreUnavailable) else f"the store failed: {type(error).__name__}"
        if self.failure is None:
            _log.error("%s", reason, exc_info=error)
        self.failure = reason
        for future in batch.waiting():
            if not future.done():
                failure = StoreUnavailable(reason)
                failure.__cause__ = error
                future.set_exception(failure)
        self._session.doubt(batch)
        self._queue.extendleft(reversed(batch.drafts()))
        if self._retry is None:
            self._retry = self._loop.call_later(self._retry_in, self._try_again)
            self._retry_in = min(self._retry_in * 2, _RETRY_LAST)
        if not all(isinstance(item, Draft) for item in self._queue):
            self._kick()

    def _try_again(self) -> None:
        """After a failure: commit something, so that a store that works again is found to."""
        self._retry = None
        if self.failure is not None:
            probe = self.submit(_probe, self._loop.create_future())
            probe.add_done_callback(_read)

    def _relieve(self) -> None:
        """So many wait that the loop can have had no turn: commit here and now, or say that it cannot be done."""
        here = threading.get_ident() == self._thread
        if here:
            job = self._job
            if job is not None and job is not self._stuck:
                self._stuck = None if job.done.wait(_RELIEF_WAIT) else job
            if job is not None and job.done.is_set():
                self._finish(job)
            if self._job is None:
                self._pump()
        if len(self._queue) >= (_CROWDED if here else _FULL):
            raise StoreUnavailable(self.failure or f"{len(self._queue)} events wait to be written already")


def _nothing(_: Transaction) -> None:
    """A unit that waits for everything before it."""


def _probe(transaction: Transaction) -> None:
    transaction.put_meta("probe", uuid7())


def _read(future: Future[Any]) -> None:
    """Take the answer of a probe, so that nobody is told of an exception that was never read."""
    future.exception()


def _tellable(error: BaseException) -> BaseException:
    """A future cannot carry StopIteration."""
    if isinstance(error, StopIteration):
        told = RuntimeError("a unit of work raised StopIteration")
        told.__cause__ = error
        return told
    return error
