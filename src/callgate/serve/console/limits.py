"""How often somebody may try to sign in: so that a password cannot be guessed by trying."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import Callable

_WINDOW = 300.0
_TRIES = 10
_MOST = 10_000
"""Whose tries are kept; those who tried the longest ago go, and who goes on trying stays."""


class Tries:
    """Counts tries, by name and by address, before it is known how they end: many at once are as many.

    Args:
        tries: How many may be made in the window without coming in.
        window: Seconds.
        now: A clock that only goes forward.
    """

    def __init__(
        self, *, tries: int = _TRIES, window: float = _WINDOW, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._tries = tries
        self._window = window
        self._now = now
        self._made: OrderedDict[str, deque[float]] = OrderedDict()

    def take(self, *whose: str) -> float:
        """Count a try of all of these; or the seconds until one of them may try again, and nothing is counted."""
        wait = max((self._wait(each) for each in whose), default=0.0)
        if wait > 0:
            return wait
        for each in whose:
            self._made.setdefault(each, deque(maxlen=self._tries)).append(self._now())
            self._made.move_to_end(each)
        while len(self._made) > _MOST:
            self._made.popitem(last=False)
        return 0.0

    def came_in(self, name: str, address: str) -> None:
        """They came in: nothing is held against the name, and this try not against the address."""
        self._made.pop(name, None)
        made = self._made.get(address)
        if made:
            made.pop()

    def _wait(self, whose: str) -> float:
        times = self._made.get(whose)
        if times is None or len(times) < self._tries:
            return 0.0
        return max(0.0, times[0] + self._window - self._now())
