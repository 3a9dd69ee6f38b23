"""Whole-file locks that end with their process."""

from __future__ import annotations

import fcntl


def take(handle: int) -> bool:
    """Lock for ourselves; False if somebody has it."""
    return _lock(handle, fcntl.LOCK_EX)


def probe(handle: int) -> bool:
    """Whether nobody has it; any number may ask at once."""
    return _lock(handle, fcntl.LOCK_SH)


def _lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
