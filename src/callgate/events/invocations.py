"""Invocations: a call's events put together as one record, in the words of the invocation log of a registry."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from callgate.events import vocabulary as own
from callgate.events.translation import error_text
from callgate.model.event import Event
from callgate.ports import Reader

_ENDS = own.CLOSING | {own.REFUSED, own.GATE_DENIED}


def invocation(reader: Reader, call_id: str) -> dict[str, Any] | None:
    """The record of one call; None if it has none that began or was refused."""
    return invocation_of(reader.events(call=call_id))


def invocation_of(events: Iterable[Event]) -> dict[str, Any] | None:
    """The record of the call that these events, in order, are about."""
    record: dict[str, Any] | None = None
    for event in events:
        if event.type == own.ATTEMPTED or (record is None and event.type in _ENDS):
            record = _begun(event)
        if record is not None and event.type in _ENDS:
            record |= _ended(event)
    return record


def _begun(event: Event) -> dict[str, Any]:
    payload = event.payload or {}
    return {
        "call": event.call,
        "time": event.time,
        "tool": payload.get("tool"),
        "args": payload.get("arguments"),
        "role": payload.get("role"),
        "success": None,
        "result": None,
        "error": None,
        "elapsed_ms": None,
        "caller_type": payload.get("caller") or "direct",
        "chain_id": payload.get("chain_id"),
        "chain_index": payload.get("chain_index") or 0,
    }


def _ended(event: Event) -> dict[str, Any]:
    payload = event.payload or {}
    success = event.type == own.SUCCEEDED
    return {
        "success": success,
        "result": payload.get("output"),
        "error": None if success else error_text(payload) or event.type,
        "elapsed_ms": payload.get("duration_ms"),
    }
