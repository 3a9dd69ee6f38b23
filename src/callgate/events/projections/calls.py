"""Calls: one entry per call, from its first event to what was learned of it last. Holds no arguments and no output.

`status` says how the call stands, `question` how the question to a person does, where there was one.
"""

from __future__ import annotations

from typing import Any

from callgate.events import vocabulary as own
from callgate.events.later_facts import LATER, state_learned
from callgate.events.projections.projection import Entry, Projection, kept, mapping, said
from callgate.model.approval import ApprovalState
from callgate.model.call import CallStatus
from callgate.model.event import Event

_STATUS: dict[str, CallStatus] = {
    own.ATTEMPTED: "started",
    own.SUCCEEDED: "succeeded",
    own.FAILED: "failed",
    own.TIMED_OUT: "failed",
    own.UNKNOWN: "unknown",
    own.REFUSED: "refused",
    own.DEDUPED: "deduped",
    own.GATE_PREVIEWED: "previewed",
    own.GATE_REQUIRED: "pending",
    own.GATE_DENIED: "refused",
    own.APPROVED: "pending",
    own.EDITED: "pending",
    own.REJECTED: "refused",
    own.ANSWERED: "refused",
    own.EXPIRED: "refused",
    own.WITHDRAWN: "refused",
    own.USED: "resumed",
}
"""A call that was let through runs under its own id, and then goes on from here, or under that of a later call."""
_QUESTION = {**own.APPROVAL_STATES, own.EDITED: ApprovalState.APPROVED.value}
_TURNED_DOWN = {
    own.REJECTED: "approval_rejected",
    own.ANSWERED: "approval_answered",
    own.EXPIRED: "approval_expired",
}
_WHO = ("tool", "tool_id", "source", "role", "principal", "user", "session", "key", "approval_id", "original_call")
_JUDGED = ("verdict", "risk", "autonomy", "observed")
_RAN = ("duration_ms", "effect", "cause", "tries")
_FIRST = ("call", "trace", "asked_at", "caller_type", "chain_id", "chain_index")
_LATER = ("started_at", "ended_at", "updated_at", "status", "error_code", "question", "decided_by", "erased")
FIELDS = frozenset((*_FIRST, *_WHO, *_JUDGED, *_RAN, *_LATER))
"""What an entry may have."""
_ALWAYS = ("tool", "role", "principal", "user", "session", "key")


def _apply(entry: Entry | None, event: Event) -> Entry:
    payload = said(event)
    new = dict(entry) if entry is not None else _first(event)
    new |= kept(payload, *_WHO, *_RAN) | _judged(payload) | _failed(event, payload)
    new |= _asked(event, payload)
    new["updated_at"] = event.time
    if "caller" in payload:
        new |= {"caller_type": payload["caller"], "chain_id": payload.get("chain_id")}
        new["chain_index"] = payload.get("chain_index") or 0
    if event.type == own.ATTEMPTED:
        # What a person let through is attempted under the call that asked: it starts anew.
        new["started_at"] = event.time
    elif event.type in own.CLOSING:
        new["ended_at"] = event.time
    new["status"] = status_after(event, new.get("status", "unknown"))
    if event.payload is None:
        # Whoever reads the list meets calls of which nothing is left: they have the names, too.
        new = dict.fromkeys(_ALWAYS) | new | {"erased": True}
    return new


def _first(event: Event) -> Entry:
    return {
        "call": event.call,
        "trace": event.trace,
        "asked_at": event.time,
        "caller_type": "direct",
        "chain_id": None,
        "chain_index": 0,
    }


def status_after(event: Event, before: str) -> str:
    """How a call stands after one of the events of `CALLS`."""
    return (state_learned(event) or before) if event.type in LATER else _STATUS[event.type]


def _asked(event: Event, payload: dict[str, Any]) -> Entry:
    """What a person was asked, and said."""
    if event.type not in _QUESTION:
        return {}
    by = {"decided_by": payload["by"]} if isinstance(payload.get("by"), str) else {}
    return {"question": payload.get("state") or _QUESTION[event.type], **by}


def _judged(payload: dict[str, Any]) -> Entry:
    decision = mapping(payload.get("decision"))
    return kept(decision, *_JUDGED)


def _failed(event: Event, payload: dict[str, Any]) -> Entry:
    if event.type in LATER:
        return _failed_after_all(event, payload)
    code = mapping(payload.get("error")).get("code") or payload.get("code") or _TURNED_DOWN.get(event.type)
    if code is not None:
        return {"error_code": code}
    return {"error_code": None} if event.type == own.SUCCEEDED else {}


def _failed_after_all(event: Event, payload: dict[str, Any]) -> Entry:
    """What was learned later takes the error of not knowing away; what changed nothing leaves it."""
    state = state_learned(event)
    if state is None:
        return {}
    return {"error_code": None if state == "succeeded" else mapping(payload.get("error")).get("code")}


CALLS = Projection(
    name="calls",
    types=LATER.union(_STATUS),
    key=lambda event: event.call,
    apply=_apply,
    version=4,
)
