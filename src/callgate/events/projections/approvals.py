"""Approvals: one entry per question, with where it stands and who said what when."""

from __future__ import annotations

from callgate.events import vocabulary as own
from callgate.events.projections.projection import Entry, Projection, kept, mapping, said
from callgate.model.event import Event

_DECIDED = frozenset({own.APPROVED, own.REJECTED, own.ANSWERED, own.EDITED})


def _key(event: Event) -> str | None:
    named = said(event).get("approval_id")
    return named if isinstance(named, str) else None


def _apply(entry: Entry | None, event: Event) -> Entry:
    payload = said(event)
    new: Entry = dict(entry) if entry is not None else _first(event)
    new |= kept(payload, "tool", "principal", "user", "session", "key", "votes", "assurance", "expires_at", "plan_id")
    new |= kept(mapping(payload.get("decision")), "risk", "autonomy")
    new["state"] = payload.get("state") or own.APPROVAL_STATES.get(event.type) or new.get("state")
    new["updated_at"] = event.time
    if event.type in _DECIDED:
        new |= {"decided_at": event.time, "decided_by": payload.get("by")}
    if event.type == own.EDITED:
        new["edited"] = True
    if event.type == own.USED:
        new["used_at"] = event.time
    return new


def _first(event: Event) -> Entry:
    return {"approval": _key(event), "call": event.call, "trace": event.trace, "asked_at": event.time, "edited": False}


APPROVALS = Projection(name="approvals", types=frozenset({*own.APPROVAL_STATES, own.EDITED}), key=_key, apply=_apply)
