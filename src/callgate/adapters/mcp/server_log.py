"""A server's own log, kept apart from calls: noted as events, clipped and bounded, so that a chatterer floods none."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from callgate.model.visible import cut, visible
from callgate.ports import Desk

SAID = "source.said"
LONGEST_LINE = 2000
_BURST = 50
_PER_SECOND = 5.0


class Allowance:
    """So many at once, then so many a second."""

    def __init__(self, burst: int, per_second: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = float(burst)
        self._per_second = per_second
        self._clock = clock
        self._left = float(burst)
        self._at = clock()

    def take(self) -> bool:
        """Whether one more may pass."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class ServerLog:
    """What one server says of itself."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._allowance = Allowance(_BURST, _PER_SECOND)
        self._unheard = 0

    def said(self, text: Any, *, level: str) -> None:
        """Note a line; beyond its allowance a server is only counted."""
        line = visible(cut(str(text), LONGEST_LINE)).strip()
        if not line:
            return
        if not self._allowance.take():
            self._unheard += 1
            return
        unheard, self._unheard = self._unheard, 0
        more = {"unheard": unheard} if unheard else {}
        self._desk.note(SAID, {"level": level, "text": line, **more})
