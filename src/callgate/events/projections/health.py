"""Health: one entry per connector, as it was last heard of."""

from __future__ import annotations

from callgate.events import vocabulary as own
from callgate.events.projections.projection import Entry, Projection, kept, said
from callgate.model.event import Event

_FACTS = ("consecutive_errors", "last_error", "last_error_at", "last_success_at", "rate_limit_resets_at", "opened_at")


def _key(event: Event) -> str | None:
    named = said(event).get("connector")
    return named if isinstance(named, str) else None


def _apply(entry: Entry | None, event: Event) -> Entry:
    payload = said(event)
    before = entry or {"connector": _key(event), "changes": 0, "status": None, "since": event.time}
    status = payload.get("status")
    changed = status != before["status"]
    return {
        "connector": before["connector"],
        "status": status,
        "since": event.time if changed else before["since"],
        "changes": before["changes"] + changed,
        "updated_at": event.time,
        **kept(payload, *_FACTS),
    }


HEALTH = Projection(name="health", types=frozenset({own.HEALTH_CHANGED}), key=_key, apply=_apply)
