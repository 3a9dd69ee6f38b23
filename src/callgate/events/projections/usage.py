"""Usage: one entry per day and tool: how many calls, how they ended, how long they took."""

from __future__ import annotations

from datetime import UTC, datetime

from callgate.events import vocabulary as own
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


def _key(event: Event) -> str | None:
    tool = said(event).get("tool")
    return f"{_day(event.time)}/{tool}" if isinstance(tool, str) else None


def _apply(entry: Entry | None, event: Event) -> Entry:
    payload = said(event)
    new: Entry = dict(entry) if entry is not None else _first(event)
    new[_COUNTED[event.type]] += 1
    duration = payload.get("duration_ms")
    if event.type in own.CLOSING and isinstance(duration, int | float):
        new["measured"] += 1
        new["duration_ms"] += duration
        new["slowest_ms"] = max(new["slowest_ms"], duration)
    return new


def _first(event: Event) -> Entry:
    counts = dict.fromkeys(_COUNTED.values(), 0)
    return {
        "day": _day(event.time),
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


USAGE = Projection(name="usage", types=frozenset(_COUNTED), key=_key, apply=_apply)
