"""Unread: what could not be looked at, though it is there and nobody keeps it from tools. Whoever asked has to know."""

from __future__ import annotations

import errno

_GONE = frozenset({errno.ENOENT, errno.ENOTDIR})


def is_unread(error: Exception) -> bool:
    """Whether the system could not open what is there. What policy closes is told nobody, nor what became a link."""
    number = error.errno if isinstance(error, OSError) else None
    return number is not None and number not in _GONE
