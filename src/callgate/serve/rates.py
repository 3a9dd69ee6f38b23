"""Rates: how many requests one credential may make, by a bucket that fills by itself. Knows no door."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from callgate.errors import CallgateError

_MOST = 10_000
"""Buckets that are kept; the one that was idle the longest goes, and is full when it comes again."""


class TooManyRequests(CallgateError):
    """A credential asks more often than it may.

    Args:
        seconds: After so many it may ask again.
    """

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many requests with this credential; ask again in {seconds} seconds")
        self.seconds = seconds


class Rates:
    """One bucket per credential.

    Args:
        per_second: How fast a bucket fills.
        burst: How much it holds.
        clock: Monotonic seconds.
    """

    def __init__(self, *, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """What is left in each, and when that was so."""

    def take(self, who: str) -> None:
        """Count one request.

        Raises:
            TooManyRequests: The bucket is empty.
        """
        now = self._clock()
        left, at = self._buckets.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_second)
        enough = left >= 1
        self._buckets[who] = (left - 1 if enough else left, now)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        if not enough:
            raise TooManyRequests(max(1, math.ceil((1 - left) / self._per_second)))
