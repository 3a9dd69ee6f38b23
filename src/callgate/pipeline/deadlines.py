"""Deadlines: one timer for many calls. A timer per call would cost more than most reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Deadline:
    """One call's limit. `expired` says it was the limit that stopped it, not somebody outside."""

    __slots__ = ("at", "expired", "stop")

    def __init__(self, stop: Callable[[], object], at: float) -> None:
        self.stop = stop
        self.at = at
        self.expired = False


class Deadlines:
    """Stops calls whose time is up. One loop's; a new loop starts anew."""

    def __init__(self) -> None:
        self._open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = 0.0

    def start(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], object], seconds: float) -> Deadline:
        """Call `stop` in so many seconds unless `finish` is called before."""
        deadline = Deadline(stop, loop.time() + seconds)
        self._open.add(deadline)
        if self._timer is None or deadline.at < self._wakes_at:
            self._sleep(loop, deadline.at)
        return deadline

    def finish(self, deadline: Deadline) -> None:
        """The call ended in time."""
        self._open.discard(deadline)

    def close(self) -> None:
        """Forget everything."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None
        self._open.clear()

    def _sleep(self, loop: asyncio.AbstractEventLoop, until: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._wakes_at = until
        self._timer = loop.call_at(until, self._wake, loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for deadline in [item for item in self._open if item.at <= now]:
            self._open.discard(deadline)
            deadline.expired = True
            deadline.stop()
        if self._open:
            self._sleep(loop, min(item.at for item in self._open))
