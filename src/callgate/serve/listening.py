"""Listening: what is recorded, told to everybody who listens, each in their own time.

One reader follows the record for all. Those who want the same share a stretch of it, written once; whoever falls behind
the stretch reads the record itself, a few at a time, so that nobody misses anything and nobody's slowness is stored.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any, NamedTuple, Protocol

from callgate.errors import CallgateError
from callgate.model.event import Event
from callgate.runtime.gate import Callgate
from callgate.runtime.record import chosen
from callgate.serve.wire import encoded

MOST_LISTENERS = 5000
HEARTBEAT = 15.0
"""Seconds after which a listener who hears nothing is told that the server is still there."""
_STILL_HERE = b": still here\n\n"
_MOST_EVENTS = 1000
_MOST_BYTES = 4 * 1024 * 1024
"""Of one stretch."""
_KEPT = 10.0
"""Seconds: whoever has not taken something by then reads it in the record."""
_AT_ONCE = 64 * 1024
"""About so many bytes are sent at once, and so many wait at most for one who does not take them."""
_PAGE = 100
_READERS = 4
"""How many who fell behind read the record at once."""
_PAUSE, _PAUSE_EACH = 0.01, 0.0001
"""Seconds between what is recorded and what is told."""
_REVOKED = "credential.revoked"


class TooManyListeners(CallgateError):
    """As many listen as may."""


class Wanted(NamedTuple):
    """What a listener wants to hear; what is given must all hold."""

    types: tuple[str, ...] = ()
    """Names or globs."""
    trace: str | None = None
    call: str | None = None

    @property
    def narrow(self) -> str | None:
        """The one call or trace it is about."""
        return self.call or self.trace


class Ear(Protocol):
    """Somebody who hears of everything at once, and writes nothing."""

    def take(self, event: Event, /) -> None:
        """This was recorded. Has to be short."""
        ...

    def end(self) -> None:
        """Nothing more is told: come again."""
        ...


class _Stretch:
    """The newest of what some listeners want, as it is sent."""

    def __init__(self, wanted: Wanted, *, floor: int) -> None:
        self.wanted = wanted
        self.fits = chosen(types=wanted.types, trace_id=wanted.trace, call_id=wanted.call)
        self.floor = floor
        """Everything after this position is in the stretch."""
        self.listeners = 0
        self.wake = asyncio.Event()
        self._positions: list[int] = []
        self._chunks: list[bytes] = []
        self._size = 0
        self._joined: tuple[int, int, bytes] = (-1, -1, b"")
        """Behind which position, up to which, and the text: those who stand alike share one."""

    def put(self, position: int, chunk: bytes) -> None:
        self._positions.append(position)
        self._chunks.append(chunk)
        self._size += len(chunk)
        if len(self._chunks) > _MOST_EVENTS or self._size > _MOST_BYTES:
            self._forget((len(self._chunks) + 1) // 2)

    def after(self, position: int) -> tuple[bytes, int]:
        """What comes behind a position, as much as is sent at once, and the last position of it."""
        begin = bisect_right(self._positions, position)
        if begin == len(self._positions):
            return b"", position
        known = self._joined
        if known[0] != position or (known[1] < self._positions[-1] and len(known[2]) < _AT_ONCE):
            end, size = begin, 0
            while end < len(self._chunks) and size < _AT_ONCE:
                size += len(self._chunks[end])
                end += 1
            self._joined = (position, self._positions[end - 1], b"".join(self._chunks[begin:end]))
        return self._joined[2], self._joined[1]

    def forget(self, position: int) -> None:
        """Keep no longer what is up to this position."""
        count = bisect_right(self._positions, position)
        if count:
            self._forget(count)

    def rouse(self) -> None:
        """Wake everybody who waits."""
        waiting, self.wake = self.wake, asyncio.Event()
        waiting.set()

    def _forget(self, count: int) -> None:
        self.floor = self._positions[count - 1]
        self._size -= sum(map(len, self._chunks[:count]))
        del self._positions[:count], self._chunks[:count]


class _Leave:
    """Whether a listener may go on: asked now and then, and whenever somebody's credential was ended."""

    def __init__(self, ask: Callable[[], Awaitable[bool]], *, every: float, seen: int) -> None:
        self._ask = ask
        self._every = every
        self._seen = seen
        self._at = asyncio.get_running_loop().time()

    async def stands(self, revoked: int) -> bool:
        now = asyncio.get_running_loop().time()
        if revoked == self._seen and now - self._at < self._every:
            return True
        self._seen, self._at = revoked, now
        return await self._ask()


class Listening:
    """Everybody who listens at one server."""

    def __init__(self, gate: Callgate, *, heartbeat: float = HEARTBEAT) -> None:
        self._gate = gate
        self._heartbeat = heartbeat
        self._stretches: dict[Wanted, _Stretch] = {}
        self._by_narrow: defaultdict[str | None, set[_Stretch]] = defaultdict(set)
        """The same by what they are about, so that an event is not held against a thousand others."""
        self._ears: set[Ear] = set()
        self._kept: deque[tuple[float, _Stretch, int]] = deque()
        """What the stretches have and since when, the oldest first."""
        self._position = 0
        self._revoked = 0
        """How many credentials were ended while somebody listened."""
        self._following: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        self._behind = asyncio.Semaphore(_READERS)
        self._due: asyncio.TimerHandle | None = None
        self._stirred: set[_Stretch] = set()
        self._closed = False
        self.count = 0
        """How many listen."""

    async def ready(self) -> None:
        """Make sure that the record is followed; called before an answer begins, so that it can still be a refusal.

        Raises:
            TooManyListeners: As many listen as may, or the server stops.
        """
        if self._closed or self.count >= MOST_LISTENERS:
            raise TooManyListeners("no more listeners are taken now; come back later")
        async with self._starting:
            if self._following is None:
                newest = await self._gate.newest_events(1)
                self._position = newest[-1].position if newest else 0
                self._following = asyncio.create_task(self._follow())

    async def listen(
        self, wanted: Wanted, *, after: int | None, may_go_on: Callable[[], Awaitable[bool]]
    ) -> AsyncGenerator[bytes]:
        """What is recorded from now on, or after a position, as it is sent.

        Args:
            wanted: What to hear.
            after: Where to go on; None is now.
            may_go_on: Asked now and then, and whenever somebody's credential was ended.
        """
        await self.ready()  # the last one may have left since it was
        following, stretch = self._following, self._take_place(wanted)
        at = self._position if after is None else min(after, self._position)
        leave = _Leave(may_go_on, every=self._heartbeat, seen=self._revoked)
        try:
            yield _STILL_HERE
            while following is not None and following is self._following and await leave.stands(self._revoked):
                text, at = await self._next(stretch, at)
                if text:
                    yield text
        finally:
            self._leave(stretch)

    @asynccontextmanager
    async def hearing(self, ear: Ear) -> AsyncGenerator[int]:
        """Have an ear told of everything while the block lasts; gives the position after which it begins.

        Raises:
            TooManyListeners: As many listen as may, or the server stops.
        """
        await self.ready()
        self._ears.add(ear)
        self.count += 1
        try:
            yield self._position
        finally:
            self._ears.discard(ear)
            self._go()

    def close(self) -> None:
        """Let everybody go, and take nobody any more."""
        self._closed = True
        self._stop()

    def _take_place(self, wanted: Wanted) -> _Stretch:
        stretch = self._stretches.get(wanted)
        if stretch is None:
            stretch = self._stretches[wanted] = _Stretch(wanted, floor=self._position)
            self._by_narrow[wanted.narrow].add(stretch)
        stretch.listeners += 1
        self.count += 1
        return stretch

    def _leave(self, stretch: _Stretch) -> None:
        stretch.listeners -= 1
        if not stretch.listeners and self._stretches.get(stretch.wanted) is stretch:
            del self._stretches[stretch.wanted]
            self._forget(stretch)
        self._go()

    def _forget(self, stretch: _Stretch) -> None:
        alike = self._by_narrow[stretch.wanted.narrow]
        alike.discard(stretch)
        if not alike:
            del self._by_narrow[stretch.wanted.narrow]

    def _go(self) -> None:
        self.count -= 1
        if not self.count:
            self._stop()

    def _stop(self) -> None:
        following, self._following = self._following, None
        if following is not None:
            following.cancel()
        if self._due is not None:
            self._due.cancel()
        self._stirred.update(self._stretches.values())
        self._stretches = {}
        self._by_narrow.clear()
        self._kept.clear()
        ears, self._ears = self._ears, set()
        for ear in ears:
            ear.end()
        self._rouse()

    async def _next(self, stretch: _Stretch, at: int) -> tuple[bytes, int]:
        """What to send next, and where it leads; waits for it at most a heartbeat long."""
        if at < stretch.floor:
            return await self._recorded(stretch, at)
        wake = stretch.wake
        text, reached = stretch.after(at)
        if text:
            return text, reached
        try:
            async with asyncio.timeout(self._heartbeat):
                await wake.wait()
        except TimeoutError:
            return _STILL_HERE, at
        return b"", at

    async def _recorded(self, stretch: _Stretch, at: int) -> tuple[bytes, int]:
        """A page of the record itself, up to where the stretch begins."""
        types, trace, call = stretch.wanted
        async with self._behind:
            found = await self._gate.events_after(at, limit=_PAGE, types=types, trace_id=trace, call_id=call)
        missed = [event for event in found if event.position <= stretch.floor]
        reached = missed[-1].position if len(missed) == _PAGE else stretch.floor
        return b"".join(map(written, missed)), reached

    async def _follow(self) -> None:
        try:
            async for event in self._gate.events(after=self._position, follow=True):
                self._position = event.position
                self._share(event)
        finally:
            # The gate closes, or its store cannot be read: who listened comes again, and goes on where they were.
            if self._following is asyncio.current_task():
                self._stop()

    def _share(self, event: Event) -> None:
        chunk, now = b"", asyncio.get_running_loop().time()
        self._let_go(now - _KEPT)
        for ear in self._ears:
            ear.take(event)
        for stretch in self._concerned(event):
            if stretch.fits(event):
                chunk = chunk or written(event)
                stretch.put(event.position, chunk)
                self._kept.append((now, stretch, event.position))
                self._stirred.add(stretch)
        if event.type == _REVOKED:
            self._revoked += 1
            self._stirred.update(self._stretches.values())
        if self._stirred and self._due is None:
            # Many listeners are woken less often, for more at once.
            pause = _PAUSE + self.count * _PAUSE_EACH
            self._due = asyncio.get_running_loop().call_later(pause, self._rouse)

    def _let_go(self, before: float) -> None:
        """A thousand listeners of what seldom happens would keep it for as long as they listen."""
        while self._kept and self._kept[0][0] < before:
            _, stretch, position = self._kept.popleft()
            stretch.forget(position)

    def _concerned(self, event: Event) -> Iterator[_Stretch]:
        """Those who may want it."""
        about = {None, event.call, event.trace}
        return chain.from_iterable(self._by_narrow[each] for each in about if each in self._by_narrow)

    def _rouse(self) -> None:
        self._due = None
        stirred, self._stirred = self._stirred, set()
        for stretch in stirred:
            stretch.rouse()


def event_body(event: Event) -> dict[str, Any]:
    """An event, as it is sent: its salt stays here."""
    body = event.to_json() | {"position": event.position}
    body.pop("salt")
    return body


def written(event: Event) -> bytes:
    """An event as a message of a stream (text/event-stream)."""
    body = encoded(event_body(event))
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.position, event.type.encode(), body)
