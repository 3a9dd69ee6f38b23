"""Deadlines: one timer for many calls. A timer per call would cost more than most reads."""

from __future__ import annotations

import asyncio
from typing import Any


class Deadline:
    """One call's limit. `expired` says it was the limit that cancelled, not somebody outside."""

    __slots__ = ("at", "expired", "task")

    def __init__(self, task: asyncio.Task[Any], at: float) -> None:
        self.task = task
        self.at = at
        self.expired = False


class Deadlines:
    """Cancels tasks whose time is up. One loop's; a new loop starts anew."""

    def __init__(self) -> None:
        self._open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = 0.0

    def start(self, loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any], seconds: float) -> Deadline:
        """Cancel `task` in so many seconds unless `finish` is called before."""
        deadline = Deadline(task, loop.time() + seconds)
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
            deadline.task.cancel()
        if self._open:
            self._sleep(loop, min(item.at for item in self._open))
