"""Moments: how tools tell times, for people and programs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal


def moment(seconds: float, *, to: Literal["seconds", "milliseconds"] = "seconds") -> str:
    """A time, as exactly as it is told; a file can have one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=to)
    except (ValueError, OverflowError, OSError):
        return "unknown"
