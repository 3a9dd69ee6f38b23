"""Durations: `45s`, `10m`, `1h`, `7d`; a plain number is seconds. Knows no clock."""

from __future__ import annotations

import re

from callgate.settings.wording import quote

PATTERN = r"[0-9]{1,9}(\.[0-9]{1,6})?[smhd]?"
"""What a duration's text looks like, as a regular expression."""

_DURATION = re.compile(PATTERN)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def parse_duration(value: str | float) -> float:
    """Read a duration into seconds.

    Raises:
        ValueError: It is negative, not finite, or not a number with one of the units s, m, h, d.
    """
    if isinstance(value, str):
        return _parse_text(value)
    # The comparison is False for NaN too.
    if not 0 <= value < float("inf"):
        raise ValueError(f"a duration is zero or more seconds, not {value}")
    return float(value)


def _parse_text(text: str) -> float:
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{quote(text)} is no duration; write 45s, 10m, 1h or 7d, or a number of seconds")
    factor = _SECONDS.get(text[-1])
    return float(text) if factor is None else float(text[:-1]) * factor


def format_duration(seconds: float) -> str:
    """The duration as people write it, in the largest unit that keeps it whole."""
    for unit, factor in reversed(_SECONDS.items()):
        if seconds and seconds % factor == 0:
            return f"{int(seconds // factor)}{unit}"
    return f"{seconds:g}s"
