"""Times for people: the local date, and how long ago or until when."""

from __future__ import annotations

import time
from datetime import datetime

_STEPS = ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute"), (1.0, "second"))


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
    """How far away a time is: `in 57 minutes`, `2 hours ago`."""
    distance = seconds - (time.time() if now is None else now)
    return f"in {span(distance)}" if distance >= 0 else f"{span(-distance)} ago"


def span(seconds: float) -> str:
    """A length of time in its largest fitting unit."""
    for size, unit in _STEPS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {unit}{'s' if count != 1 else ''}"
    return "less than a second"
