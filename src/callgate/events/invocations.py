"""Invocations: a call's events put together as one record, in the words of the invocation log of a registry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callgate.events import vocabulary as own
from callgate.events.later_facts import LATER, state_learned
from callgate.events.projections.calls import CALLS, status_after
from callgate.events.translation import error_text
from callgate.model.event import Event
from callgate.ports import Reader

TYPES = tuple(sorted(CALLS.types))
"""The events that say something of how a call stands."""
_BEGINS = own.CLOSING | {own.ATTEMPTED, own.REFUSED, own.GATE_DENIED, own.GATE_REQUIRED}
_SUCCESS = {"succeeded": True, "failed": False, "refused": False}
"""Of the rest it cannot be said: it has not ended, or nobody knows."""


def invocation(reader: Reader, call_id: str) -> dict[str, Any] | None:
    """The record of one call; None if it has none that began, was refused or waits for a person."""
    return invocation_of(reader.events(call=call_id))


def invocation_of(events: Iterable[Event]) -> dict[str, Any] | None:
    """The record of the call that these events, in order, are about."""
    record: dict[str, Any] | None = None
    for event in events:
        if record is not None:
            record = gone_on(record, event)
        elif begins(event):
            record = begun(event)
    return record


def begins(event: Event) -> bool:
    """Whether the record of a call can begin with this event."""
    return event.type in _BEGINS


def begun(event: Event) -> dict[str, Any]:
    """The record of a call of which this is the first event."""
    payload = event.payload or {}
    record = {
        "call": event.call,
        "time": event.time,
        "tool": payload.get("tool"),
        "args": payload.get("arguments", payload.get("what")),
        "role": payload.get("role"),
        "status": "started",
        "success": None,
        "result": None,
        "error": None,
        "elapsed_ms": None,
        "caller_type": payload.get("caller") or "direct",
        "chain_id": payload.get("chain_id"),
        "chain_index": payload.get("chain_index") or 0,
    }
    return record if event.type == own.ATTEMPTED else _moved(record, event)


def gone_on(record: dict[str, Any], event: Event) -> dict[str, Any]:
    """The record after one more event of its call."""
    if event.type == own.ATTEMPTED:
        # What a person let through is attempted under the call that asked: it starts anew.
        return begun(event)
    nothing_new = event.type in LATER and state_learned(event) is None
    return record if nothing_new or event.type not in CALLS.types else _moved(record, event)


def _moved(record: dict[str, Any], event: Event) -> dict[str, Any]:
    payload, status = event.payload or {}, status_after(event, record["status"])
    success = _SUCCESS.get(status)
    wrong = success is False or status == "unknown"
    return record | {
        "status": status,
        "success": success,
        "result": payload.get("output"),
        "error": error_text(payload) or event.type if wrong else None,
        "elapsed_ms": payload.get("duration_ms", record["elapsed_ms"]),
    }
