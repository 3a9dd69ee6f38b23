"""Reading no more of a long list than is needed to find so many that fit. Knows nothing of what is listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_MORE = 8
"""How many times as much is read where too little fitted."""


def enough(
    read: Callable[[int | None], list[T]],
    *,
    keep: Callable[[T], T | None],
    limit: int | None,
    name: Callable[[T], object] = id,
) -> list[T]:
    """The first `limit` of a list that are kept; None is all.

    Args:
        read: The first so many of the list; None is all of it.
        keep: The item as it is kept, or None for one that does not fit.
        limit: At most so many.
        name: Items kept under one name are one.
    """
    size = limit
    while True:
        rows = read(size)
        kept = [item for row in rows if (item := keep(row)) is not None]
        found = list({name(item): item for item in kept}.values())
        if limit is None or size is None or len(found) >= limit or len(rows) < size:
            return found[:limit]
        size *= _MORE
