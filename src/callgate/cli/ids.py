"""Ids as people read and type them: the end of one is enough, or the beginning, where no other goes so.

Only ids that Callgate made can be typed in part. A name that somebody chose is meant as it stands: the key `rent-1` is
never taken for `rent-11`.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar

from callgate.cli.screen import Screen
from callgate.cli.trouble import wrong
from callgate.model.event import Event
from callgate.runtime.gate import Callgate

T = TypeVar("T")
_MADE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_PART = re.compile(r"[0-9a-f-]{4,36}")
"""Fewer characters would be a slip as often as an id."""
_TOO_LITTLE = re.compile(r"[0-9a-f-]{1,3}")
_SHOWN = 8
"""Ids of one moment begin alike, so that the end tells them apart; this much of it is shown."""
_NAMED_AT_MOST = 5


def is_made(text: str) -> bool:
    """Whether this is a whole id that Callgate made."""
    return _MADE.fullmatch(text) is not None


def shortener(screen: Screen, ids: Iterable[str]) -> Callable[[str], str]:
    """How ids are written in a table: whole where it is kept, on a terminal by an end that no other there has."""
    made = {text for text in ids if is_made(text)}
    if screen.width is None or not made:
        return str
    length = next((size for size in range(_SHOWN, 36) if len({text[-size:] for text in made}) == len(made)), 36)
    return lambda text: text[-length:] if text in made else text


def the_one(typed: str, named: Iterable[tuple[str, T]], *, what: str) -> T | None:
    """The thing whose id was typed, whole or in part; None if no id goes so.

    Args:
        typed: What was typed.
        named: Ids and what they are of; a thing may have several.
        what: What the things are called.

    Raises:
        ConfigurationError: Several go so; they are named.
    """
    part = typed.lower()
    whole, found = list[T](), dict[str, T]()
    for name, thing in named:
        if name == typed:
            whole.append(thing)
        elif _PART.fullmatch(part) and is_made(name) and (name.startswith(part) or name.endswith(part)):
            found[name] = thing
    if whole:
        return whole[0]
    distinct = [thing for at, thing in enumerate(found.values()) if thing not in list(found.values())[:at]]
    if len(distinct) > 1:
        _say_which(typed, sorted(found), what=what)
    return distinct[0] if distinct else None


def _say_which(typed: str, names: list[str], *, what: str) -> None:
    shown = ", ".join(names[:_NAMED_AT_MOST])
    more = f" and {len(names) - _NAMED_AT_MOST} more" if len(names) > _NAMED_AT_MOST else ""
    wrong(f"several {what} go by {typed}: {shown}{more}; type more of the one you mean")


async def approval_of(gate: Callgate, typed: str) -> str:
    """The whole id of an approval; what is none stays as it was typed.

    Raises:
        ConfigurationError: Several go so, or it is too little of an id.
    """
    if is_made(typed):
        return typed
    if _TOO_LITTLE.fullmatch(typed.lower()):
        wrong(f"{typed} is too little of an id: type at least four characters of its end, or of its beginning")
    known = await gate.approvals(states=None)
    return the_one(typed, ((approval.id, approval.id) for approval in known), what="approvals") or typed


async def whole(gate: Callgate, filters: dict[str, Any]) -> dict[str, Any]:
    """The filters with whole ids of calls and traces; what is none stays as it was typed.

    Raises:
        ConfigurationError: Several go so.
    """
    found = dict(filters)
    for name, what in (("trace_id", "traces"), ("call_id", "calls")):
        typed = filters.get(name)
        if typed is not None and not is_made(typed):
            known = {_of(event, name) async for event in gate.events()}
            found[name] = the_one(typed, ((text, text) for text in known if text), what=what) or typed
    return found


async def story_of(gate: Callgate, typed: str) -> dict[str, str] | None:
    """Whose story an id means: the `call_id` (of an approval, the call that asked), the `trace_id` or the `event_id`.

    A plan has several calls: its story is that of their trace.

    Raises:
        ConfigurationError: Several go so.
    """
    named = [pair async for pair in _named(gate)]
    return the_one(typed, named, what="calls, traces and events")


async def _named(gate: Callgate) -> AsyncIterator[tuple[str, dict[str, str]]]:
    async for event in gate.events():
        if event.call:
            yield event.call, {"call_id": event.call}
            asked = (event.payload or {}).get("approval_id")
            if isinstance(asked, str) and event.type.startswith(("gate.", "approval.")):
                yield asked, {"call_id": event.call}
            plan = (event.payload or {}).get("plan_id")
            if isinstance(plan, str):
                yield plan, {"trace_id": event.trace}
        yield event.trace, {"trace_id": event.trace}
        yield event.id, {"event_id": event.id}


def _of(event: Event, name: str) -> str | None:
    return event.trace if name == "trace_id" else event.call
