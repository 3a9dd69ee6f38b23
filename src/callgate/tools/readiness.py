"""Readiness: waiting until something can be read from a handle, or written to it, whatever its number.

`select.select` takes the first thousand and twenty-four only, and a gate that serves many has more.
"""

from __future__ import annotations

import select
from collections.abc import Callable


def news_of(handle: int) -> Callable[[float], object]:
    """What waits so many milliseconds until something comes there, or its end; false where nothing did."""
    return _waiting(handle, select.POLLIN)


def room_in(handle: int) -> Callable[[float], object]:
    """What waits so many milliseconds until something can be written there, or nobody reads it; false before that."""
    return _waiting(handle, select.POLLOUT)


def _waiting(handle: int, what: int) -> Callable[[float], object]:
    waiting = select.poll()
    waiting.register(handle, what)
    return waiting.poll
