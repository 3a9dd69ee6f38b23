"""How often somebody may try to sign in: so that a password cannot be guessed by trying."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_WINDOW = 300.0
_TRIES = 10
_NAMES = 10_000


class Tries:
    """Counts what failed, by name and by address, and says how long to wait.

    Args:
        tries: How many may fail in the window.
        window: Seconds.
        now: A clock that only goes forward.
    """

    def __init__(
        self, *, tries: int = _TRIES, window: float = _WINDOW, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._tries = tries
        self._window = window
        self._now = now
        self._failed: dict[str, deque[float]] = {}

    def wait(self, *whose: str) -> float:
        """Seconds until one of these may try again; 0 if now."""
        return max((self._wait(each) for each in whose), default=0.0)

    def fail(self, *whose: str) -> None:
        """Somebody tried and was not let in."""
        if len(self._failed) >= _NAMES:
            self._forget()
        for each in whose:
            self._failed.setdefault(each, deque(maxlen=self._tries)).append(self._now())

    def forget(self, *whose: str) -> None:
        """They came in after all."""
        for each in whose:
            self._failed.pop(each, None)

    def _wait(self, whose: str) -> float:
        times = self._failed.get(whose)
        if times is None or len(times) < self._tries:
            return 0.0
        return max(0.0, times[0] + self._window - self._now())

    def _forget(self) -> None:
        """Let go of what is long over; where all of it is fresh, of everything: memory has an end."""
        recent = self._now() - self._window
        kept = {whose: times for whose, times in self._failed.items() if times[-1] > recent}
        self._failed = kept if len(kept) < _NAMES else {}
