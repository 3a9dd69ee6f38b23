"""Lists a page at a time, the newest first. A cursor says behind which item to go on: new ones shift nothing."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import orjson
from fastapi import Query
from pydantic import BaseModel

from callgate.errors import CallgateError
from callgate.serve.wire import Json

Item = TypeVar("Item")
Body = TypeVar("Body")
Limit = Annotated[int, Query(ge=1, le=500, description="At most so many.")]
Cursor = Annotated[str | None, Query(max_length=1024, description="`next` of the page before.")]
_MOST_AT_FIRST = 1000
_NONE_OF_OURS = "the cursor is none that a list here gave; begin without one"


class Page(BaseModel, Generic[Body]):
    """Some of a list, and how to go on."""

    items: list[Body]
    next: str | None
    """The cursor of the next page; null on the last one."""


class BadCursor(CallgateError):
    """A cursor is none of ours."""


class ListPlace(NamedTuple):
    """Where an item stands in its list: when it came, and its name among those of the same moment."""

    at: float
    name: str


async def page(
    read: Callable[[int], Awaitable[list[Item]]],
    *,
    place: Callable[[Item], ListPlace],
    limit: int,
    cursor: str | None,
    keep: Callable[[Item], bool] = lambda _: True,
    newest_first: bool = True,
) -> tuple[list[Item], str | None]:
    """One page of what `read` gives, and the cursor of the next.

    Args:
        read: Gives the first so many.
        place: Where an item stands.
        limit: How many at most.
        cursor: Where to go on.
        keep: Which of them are meant.
        newest_first: Whether later places come first.

    Raises:
        BadCursor: The cursor is none of ours.
    """
    behind, seen = (None, 0) if cursor is None else _read(cursor)
    wanted = min(seen, _MOST_AT_FIRST) + limit + 1  # anybody can write a cursor: more is read only where it is there
    while True:
        found = await read(wanted)
        rest = sorted((item for item in found if keep(item)), key=place, reverse=newest_first)
        if behind is not None:
            rest = [item for item in rest if (place(item) < behind if newest_first else place(item) > behind)]
        if len(rest) > limit or len(found) < wanted:
            break
        wanted *= 2
    shown = rest[:limit]
    more = len(rest) > limit
    return shown, _write(place(shown[-1]), seen + len(shown)) if more else None


async def page_behind(
    read: Callable[[int, str | None], Awaitable[list[Item]]],
    *,
    name: Callable[[Item], str],
    is_known: Callable[[str], Awaitable[bool]],
    limit: int,
    cursor: str | None,
    keep: Callable[[Item], bool] = lambda _: True,
) -> tuple[list[Item], str | None]:
    """As `page`, of a list that is long: the store goes on behind a name, and nothing before it is read.

    Args:
        read: Gives the first so many behind the item of that name, in the order of the list.
        name: What an item is called.
        is_known: Whether the asker knows an item of that name.
        limit: How many at most.
        cursor: Where to go on.
        keep: Which of them are meant.

    Raises:
        BadCursor: The cursor is none of ours.
    """
    behind = None if cursor is None else _read(cursor)[0].name
    if behind is not None and not await is_known(behind):
        raise BadCursor(_NONE_OF_OURS)
    kept: list[Item] = []
    while True:
        found = await read(limit + 1, behind)
        kept += [item for item in found if keep(item)]
        if len(kept) > limit or len(found) <= limit:
            break
        behind = name(found[-1])
    shown = kept[:limit]
    return shown, _write(ListPlace(0.0, name(shown[-1])), 0) if len(kept) > limit else None


def listed(items: list[Any], next_cursor: str | None) -> Json:
    """A page, as it is sent."""
    return Json({"items": items, "next": next_cursor})


def _write(place: ListPlace, seen: int) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([place.at, place.name, seen])).decode().rstrip("=")


def _read(cursor: str) -> tuple[ListPlace, int]:
    try:
        body: Any = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        at, name, seen = body
        if isinstance(name, str) and isinstance(seen, int) and 0 <= seen < 1 << 31:
            return ListPlace(float(at), name), seen
    except (ValueError, TypeError, binascii.Error):
        pass
    raise BadCursor(_NONE_OF_OURS)
