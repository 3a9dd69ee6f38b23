"""The machine's own clock."""

from __future__ import annotations

import time


class SystemClock:
    """Wall and monotonic time of this machine."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)
