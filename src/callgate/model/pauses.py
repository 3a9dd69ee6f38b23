"""Pauses between two looks at what somebody else decides: short at first, then longer, and never long. No clock."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST = 0.25


def pauses(first: float = 0.005, most: float = LONGEST) -> Iterator[float]:
    """Seconds to wait before each next look, each twice the one before up to `most`; it does not end."""
    pause = first
    while True:
        yield pause
        pause = min(pause * 2, most)
