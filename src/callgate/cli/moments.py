"""Times for people: the local date, and how long ago or until when."""

from __future__ import annotations

import time
from datetime import datetime

_STEPS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))
_FEWEST = 2
"""With one, rounding would say too little: 90 minutes are neither an hour nor two."""


def moment(seconds: float | None) -> str:
    """A date and time in the local time zone; nothing for None."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return f"time {seconds}"


def short_moment(seconds: float | None, *, now: float | None = None) -> str:
    """As `moment`, without the date where it is today's."""
    full = moment(seconds)
    date, _, hour = full.partition(" ")
    return hour if date == moment(time.time() if now is None else now).partition(" ")[0] else full


def until(seconds: float, *, now: float | None = None) -> str:
    """How far away a time is: `in 60 minutes`, `2 hours ago`."""
    distance = seconds - (time.time() if now is None else now)
    return f"in {span(distance)}" if distance >= 0 else f"{span(-distance)} ago"


def span(seconds: float) -> str:
    """A length of time, rounded, in the largest unit that it has two of: an hour is 60 minutes."""
    for size, unit in _STEPS:
        if seconds >= _FEWEST * size:
            return f"{round(seconds / size)} {unit}s"
    return "1 second" if round(seconds) else "less than a second"
