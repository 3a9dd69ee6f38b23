"""Subscription: one subscriber, what it wants to hear, and a queue of its own. What it does wrong stays its own."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from callgate.events.selection import matcher
from callgate.events.translation import NAMES, Told, Vocabulary, tell, understands
from callgate.model.event import Event

Handler = Callable[[Any], Any]
"""Takes an `Event`, or a `Told` when it listens in another vocabulary; sync or async."""

hearing: contextvars.ContextVar[asyncio.Task[None] | None] = contextvars.ContextVar("callgate_hearing", default=None)
"""The worker of the subscriber this code runs in."""

_log = logging.getLogger(__name__)
_HEED_WITHIN = 1.0


class Subscription:
    """One subscriber of the bus. Made by `Bus.on`."""

    def __init__(self, pattern: str, handler: Handler, *, vocabulary: Vocabulary | None, queue: int) -> None:
        self.pattern = pattern
        self.handler = handler
        self._matches = matcher(pattern)
        self.vocabulary = vocabulary or _meant(self._matches)
        self.active = True
        self.dropped = 0
        """Events it never saw because its queue was full."""
        self.failed = 0
        """Events its handler raised on."""
        self._limit = queue
        self._waiting: deque[Event | Told] = deque()
        self._queued = _is_async(handler)
        self._worker: asyncio.Task[None] | None = None
        self._lagging = False
        self._context = contextvars.copy_context()

    def wants(self, event_type: str) -> bool:
        """Whether events of this type can concern it at all."""
        if self.vocabulary is Vocabulary.OWN:
            return self._matches(event_type)
        return understands(self.vocabulary, event_type)

    def take(self, event: Event) -> None:
        """Hand the event over, in the subscriber's words. Never raises for what a handler does."""
        if self.vocabulary is Vocabulary.OWN:
            self._hand(event)
            return
        for told in tell(event, self.vocabulary):
            if self._matches(told.type):
                self._hand(told)

    def end(self) -> None:
        """Hear no more; what waits is dropped, what runs is let go."""
        self.active = False
        self._waiting.clear()

    async def drain(self) -> None:
        """Wait until everything in its queue was handled; a handler does not wait for itself."""
        while (worker := self._worker) is not None and worker is not hearing.get():
            await asyncio.wait({worker})

    async def stop(self) -> None:
        """End, and cancel the handler that still runs; one that does not heed it is left to itself."""
        self.end()
        worker = self._worker
        if worker is not None and worker is not hearing.get():
            worker.cancel()
            await asyncio.wait({worker}, timeout=_HEED_WITHIN)

    def _hand(self, item: Event | Told) -> None:
        if not self.active:
            return
        if self._queued:
            self._post(item)
            return
        try:
            result = self.handler(item)
        except KeyboardInterrupt:
            raise  # a person's, and not the subscriber's
        except BaseException as error:  # noqa: BLE001 - a failing subscriber harms nobody, also one that exits
            self._failed(item, error)
            return
        if inspect.isawaitable(result):
            # An ordinary function that gives a coroutine: from now on it waits its turn like any async one.
            self._queued = True
            self._start(partial(self._finish, item, result))

    def _post(self, item: Event | Told) -> None:
        if len(self._waiting) >= self._limit:
            self.dropped += 1
            if not self._lagging:
                self._lagging = True
                _log.warning(
                    "subscriber %s of %s is slow: its queue of %d is full, events are dropped until it catches up",
                    _name(self.handler),
                    self.pattern,
                    self._limit,
                )
            return
        self._waiting.append(item)
        if self._worker is None:
            self._start()

    def _start(self, first: Callable[[], Awaitable[None]] | None = None) -> None:
        # The handler runs where it subscribed, not in the context of the call that happened to wake it.
        self._worker = asyncio.get_running_loop().create_task(self._work(first), context=self._context)

    async def _work(self, first: Callable[[], Awaitable[None]] | None) -> None:
        hearing.set(asyncio.current_task())  # its context is its own
        try:
            if first is not None:
                await first()
            while self._waiting:
                item = self._waiting.popleft()
                await self._finish(item)
        finally:
            self._worker = None
            if self._lagging:
                self._lagging = False
                _log.warning(
                    "subscriber %s of %s has missed %d events", _name(self.handler), self.pattern, self.dropped
                )

    async def _finish(self, item: Event | Told, result: Awaitable[Any] | None = None) -> None:
        try:
            outcome = self.handler(item) if result is None else result
            if inspect.isawaitable(outcome):
                await outcome
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            self._failed(item, error)
        except (GeneratorExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - a failing subscriber harms nobody: this one would end the loop
            self._failed(item, error)

    def _failed(self, item: Event | Told, error: BaseException) -> None:
        """Say who failed and where, and neither what it was given nor what it said: both may hold data."""
        self.failed += 1
        event = item.event if isinstance(item, Told) else item
        frames = traceback.extract_tb(error.__traceback__)
        place = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown place"
        _log.error(
            "subscriber %s of %s failed on %s %s: %s at %s",
            _name(self.handler),
            self.pattern,
            item.type,
            event.id,
            type(error).__name__,
            place,
        )


def _meant(matches: Callable[[str], bool]) -> Vocabulary:
    """The vocabulary a pattern is written in: ours, unless only another one has such a name."""
    for vocabulary in Vocabulary:
        if any(matches(name) for name in NAMES[vocabulary]):
            return vocabulary
    return Vocabulary.OWN


def _is_async(handler: Handler) -> bool:
    return inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(getattr(handler, "__call__", None))  # noqa: B004 - asks what kind it is, not whether


def _name(handler: Handler) -> str:
    return getattr(handler, "__qualname__", type(handler).__name__)
