"""Usage: one entry per day and tool: how many calls, how they ended, how long they took. Each call counts once.

A call whose outcome was unknown counts as what was learned of it, on the day it was given up; where that day is not
known, it stays unknown. A call that asks a person counts as pending until the question is over: then it counts as what
it came to. Let through, that is the call that ran; turned down, it is refused, on the day it asked.
"""

from __future__ import annotations

from datetime import UTC, datetime

from callgate.events import vocabulary as own
from callgate.events.later_facts import LATER, state_learned
from callgate.events.projections.projection import Entry, Projection, said
from callgate.model.event import Event

_COUNTED = {
    own.ATTEMPTED: "attempted",
    own.SUCCEEDED: "succeeded",
    own.FAILED: "failed",
    own.TIMED_OUT: "timed_out",
    own.UNKNOWN: "unknown",
    own.REFUSED: "refused",
    own.GATE_DENIED: "refused",
    own.DEDUPED: "deduped",
    own.GATE_PREVIEWED: "previewed",
    own.GATE_REQUIRED: "pending",
}
_LET_THROUGH = own.USED
_TURNED_DOWN = frozenset({own.REJECTED, own.ANSWERED, own.EXPIRED, own.WITHDRAWN})
_OVER = _TURNED_DOWN | {_LET_THROUGH}


def _key(event: Event) -> str | None:
    tool = said(event).get("tool")
    return f"{_counted_on(event)}/{tool}" if isinstance(tool, str) and not _counted_before(event) else None


def _counted_before(event: Event) -> bool:
    """Whether a refusal tells the call that asked, and waited, what came of its question: that was counted then."""
    payload = said(event)
    return event.type == own.REFUSED and "approval_id" in payload and "original_call" not in payload


def _counted_on(event: Event) -> str:
    """The day an event counts on; the end of a question, on the day of the call that asked it, and so on."""
    before = {**dict.fromkeys(_OVER, "asked_at"), own.RESOLVED: "ended_at"}.get(event.type)
    day = None if before is None else said(event).get(before)
    return _day(day if isinstance(day, int | float) else event.time)


def _apply(entry: Entry | None, event: Event) -> Entry:
    payload = said(event)
    new: Entry = dict(entry) if entry is not None else _first(event)
    if event.type in LATER:
        return _learned(new, event)
    if event.type in _OVER:
        new["pending"] = max(0, new["pending"] - 1)
    if event.type != _LET_THROUGH:
        new["refused" if event.type in _TURNED_DOWN else _COUNTED[event.type]] += 1
    duration = payload.get("duration_ms")
    if event.type in own.CLOSING and isinstance(duration, int | float):
        new["measured"] += 1
        new["duration_ms"] += duration
        new["slowest_ms"] = max(new["slowest_ms"], duration)
    return new


def _learned(entry: Entry, event: Event) -> Entry:
    """Somebody found out what became of a call that counts as unknown."""
    state = state_learned(event)
    if state in {"succeeded", "failed"} and entry["unknown"]:
        entry["unknown"] -= 1
        entry[state] += 1
    return entry


def _first(event: Event) -> Entry:
    counts = dict.fromkeys(_COUNTED.values(), 0)
    return {
        "day": _counted_on(event),
        "tool": said(event)["tool"],
        **counts,
        "measured": 0,
        "duration_ms": 0.0,
        "slowest_ms": 0.0,
    }


def _day(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):
        return "0000-00-00"


USAGE = Projection(name="usage", types=frozenset(_COUNTED) | _OVER | LATER, key=_key, apply=_apply, version=3)
