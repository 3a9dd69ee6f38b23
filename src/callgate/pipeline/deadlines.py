"""Deadlines: one timer for many calls. A timer per call would cost more than most reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_NEVER = float("inf")


class Deadline:
    """One call's limit. `expired` says it was the limit that stopped it, not somebody outside."""

    __slots__ = ("at", "expired", "finish", "stop")

    def __init__(self, stop: Callable[[], object], at: float, finish: Callable[[Deadline], None]) -> None:
        self.stop = stop
        self.at = at
        self.expired = False
        self.finish = finish
        """To be called with the deadline when the call has ended."""


class _Timer:
    """The deadlines of one loop's calls; used on that loop alone."""

    __slots__ = ("_handle", "forget", "open", "wakes_at")

    def __init__(self) -> None:
        self.open: set[Deadline] = set()
        self.forget = self.open.discard
        self.wakes_at = _NEVER
        self._handle: asyncio.TimerHandle | None = None

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None
        self.wakes_at = _NEVER
        self.open.clear()

    def sleep(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self.wakes_at = until
        self._handle = loop.call_at(until, self._wake, loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = None
        self.wakes_at = _NEVER
        now = loop.time()
        for deadline in [item for item in self.open if item.at <= now]:
            self.open.discard(deadline)
            deadline.expired = True
            deadline.stop()
        if self.open:
            self.sleep(loop, min(item.at for item in self.open))


class Deadlines:
    """Stops calls whose time is up, on whichever loop each of them runs."""

    def __init__(self) -> None:
        self._timers: dict[asyncio.AbstractEventLoop, _Timer] = {}
        self._last: tuple[asyncio.AbstractEventLoop | None, _Timer] = (None, _Timer())
        """The loop that was seen last, and its timer: mostly there is one."""

    def start(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], object], seconds: float) -> Deadline:
        """Call `stop` on this loop in so many seconds, unless the deadline is finished before."""
        last, timer = self._last
        if last is not loop:
            timer = self._timer_of(loop)
            self._last = (loop, timer)
        at = loop.time() + seconds
        deadline = Deadline(stop, at, timer.forget)
        timer.open.add(deadline)
        if at < timer.wakes_at:
            timer.sleep(loop, at)
        return deadline

    def close(self) -> None:
        """Forget the calls of this loop; another one's are its own business."""
        timer = self._timers.get(asyncio.get_running_loop())
        if timer is not None:
            timer.close()

    def _timer_of(self, loop: asyncio.AbstractEventLoop) -> _Timer:
        for other in [each for each in self._timers.copy() if each.is_closed()]:
            self._timers.pop(other, None)
        return self._timers.setdefault(loop, _Timer())
