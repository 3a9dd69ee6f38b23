"""Reading no more of a long list than is needed to find so many that fit. Knows nothing of what is listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_MORE = 8
"""How many times as much is read where too little fitted."""


def enough(read: Callable[[int | None], list[T]], *, keep: Callable[[T], T | None], limit: int | None) -> list[T]:
    """The first `limit` of a list that are kept; None is all.

    Args:
        read: The first so many of the list; None is all of it.
        keep: The item as it is kept, or None for one that does not fit.
        limit: At most so many.
    """
    size = limit
    while True:
        rows = read(size)
        found = [kept for row in rows if (kept := keep(row)) is not None]
        if limit is None or size is None or len(found) >= limit or len(rows) < size:
            return found[:limit]
        size *= _MORE
