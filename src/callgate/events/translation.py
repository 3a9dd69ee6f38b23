"""Name maps: one recorded event told in the words of the systems Callgate unifies. Nothing is stored twice.

`tool_call` is what is recorded, `tool` the domain events of RFC-2004, `tool.call` the executor's events.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from callgate.events import vocabulary as own
from callgate.model.event import Event
from callgate.model.levels import Severity

Payload = dict[str, Any]
_EXECUTOR = "tool_executor"


class Vocabulary(enum.StrEnum):
    """The words a subscriber understands, each named by how its names begin."""

    OWN = "tool_call"
    DOMAIN = "tool"
    EXECUTOR = "tool.call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An event in another vocabulary's words."""

    type: str
    payload: Payload
    severity: Severity
    source: str
    """Who tells it, in that vocabulary."""
    event: Event
    """What was recorded."""

    @property
    def trace(self) -> str:
        """The trace of what was recorded."""
        return self.event.trace

    @property
    def time(self) -> float:
        """When it was recorded."""
        return self.event.time


def translate(event: Event, vocabulary: Vocabulary | str) -> list[tuple[str, Payload]]:
    """The names and payloads under which a vocabulary knows the event; none when it has no word for it.

    Raises:
        ValueError: There is no such vocabulary.
    """
    return [(told.type, told.payload) for told in tell(event, vocabulary)]


def tell(event: Event, vocabulary: Vocabulary | str) -> list[Told]:
    """As `translate`, with severity and source.

    Raises:
        ValueError: There is no such vocabulary.
    """
    known = Vocabulary(vocabulary)
    if known is Vocabulary.OWN:
        severity = Severity(event.severity)
        return [
            Told(type=event.type, payload=event.payload or {}, severity=severity, source=event.producer, event=event)
        ]
    word = WORDS[known].get(event.type)
    return [] if word is None else word(event, event.payload or {})


def understands(vocabulary: Vocabulary, event_type: str) -> bool:
    """Whether events of this type can mean anything in that vocabulary."""
    return vocabulary is Vocabulary.OWN or event_type in WORDS[vocabulary]


def error_text(payload: Payload) -> str:
    """What an event says went wrong; empty if it does not."""
    error = payload.get("error")
    if isinstance(error, Mapping):
        return str(error.get("message") or error.get("error") or error.get("code") or "")  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return str(error or payload.get("message") or "")


def _error_kind(payload: Payload) -> str:
    error = payload.get("error")
    if isinstance(error, Mapping):
        return str(error.get("category") or error.get("code") or "runtime_error")  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return str(payload.get("code") or "runtime_error")


def _hit_its_limit(event: Event, payload: Payload) -> bool:
    """Ours, not a TimeoutError of the handler's own: only the gate writes these two."""
    return event.type == own.TIMED_OUT or (event.type == own.UNKNOWN and payload.get("cause") == "timeout")


def _seconds(payload: Payload) -> float | None:
    limit = payload.get("timeout")
    return limit if isinstance(limit, (int, float)) else None


def _domain(event: Event, name: str, *, body: Payload) -> list[Told]:
    return [Told(type=name, payload=body, severity=Severity(event.severity), source=event.producer, event=event)]


def _which(payload: Payload) -> Payload:
    return {"tool_id": payload.get("tool_id"), "tool_name": payload.get("tool")}


def _invoked(event: Event, payload: Payload) -> list[Told]:
    body = _which(payload) | {"input_data": payload.get("arguments"), "source": payload.get("source")}
    return _domain(event, "tool.invoked", body=body)


def _completed(event: Event, payload: Payload) -> list[Told]:
    body = _which(payload) | {"output_data": payload.get("output"), "duration_ms": payload.get("duration_ms")}
    return _domain(event, "tool.completed", body=body)


def _ended_badly(event: Event, payload: Payload) -> list[Told]:
    if _hit_its_limit(event, payload):
        seconds = _seconds(payload)
        limit = None if seconds is None else round(seconds * 1000)
        return _domain(event, "tool.timeout", body=_which(payload) | {"timeout_ms": limit})
    body = _which(payload) | {"error": error_text(payload), "duration_ms": payload.get("duration_ms")}
    return _domain(event, "tool.failed", body=body)


def _registered(event: Event, payload: Payload) -> list[Told]:
    body = {name: payload.get(name) for name in ("tool_id", "tool_name", "source", "capabilities")}
    return _domain(event, "tool.registered", body=body)


def _executor(event: Event, name: str, *, body: Payload, severity: Severity = Severity.WARNING) -> Told:
    return Told(type=name, payload=body, severity=severity, source=_EXECUTOR, event=event)


def _pending(event: Event, payload: Payload) -> list[Told]:
    body = {"tool_name": payload.get("tool")}
    return [_executor(event, "tool.call.pending", body=body, severity=Severity.DEBUG)]


def _success(event: Event, payload: Payload) -> list[Told]:
    body = {"tool_name": payload.get("tool"), "duration_ms": payload.get("duration_ms")}
    return [_executor(event, "tool.call.success", body=body, severity=Severity.DEBUG)]


def _failure(event: Event, payload: Payload) -> list[Told]:
    if _hit_its_limit(event, payload):
        return [_executor(event, "tool.call.timeout", body=_timeout_body(payload))]
    body: Payload = {
        "tool_name": payload.get("tool"),
        "error_type": _error_kind(payload),
        "error_message": error_text(payload),
        "duration_ms": payload.get("duration_ms"),
    }
    return [_executor(event, "tool.call.failure", body=body)]


def _timeout_body(payload: Payload) -> Payload:
    seconds = _seconds(payload)
    message = error_text(payload) or (f"Timed out after {seconds}s" if seconds is not None else "Timed out")
    return {
        "tool_name": payload.get("tool"),
        "error_type": "timeout",
        "error_message": message,
        "timeout_seconds": seconds,
    }


def _never_ran(event: Event, payload: Payload) -> list[Told]:
    """A refusal ends a call that was never told to begin: both are told, so that what begins always ends."""
    return _pending(event, payload) + _failure(event, payload)


def _stale(event: Event, payload: Payload) -> list[Told]:
    return [_executor(event, own.SOURCE_STALE, body=dict(payload))]


Word = Callable[[Event, Payload], list[Told]]

WORDS: Mapping[Vocabulary, Mapping[str, Word]] = {
    Vocabulary.DOMAIN: {
        own.ATTEMPTED: _invoked,
        own.SUCCEEDED: _completed,
        own.FAILED: _ended_badly,
        own.TIMED_OUT: _ended_badly,
        own.UNKNOWN: _ended_badly,
        own.TOOL_REGISTERED: _registered,
    },
    Vocabulary.EXECUTOR: {
        own.ATTEMPTED: _pending,
        own.SUCCEEDED: _success,
        own.FAILED: _failure,
        own.TIMED_OUT: _failure,
        own.UNKNOWN: _failure,
        own.REFUSED: _never_ran,
        own.GATE_DENIED: _never_ran,
        own.SOURCE_STALE: _stale,
    },
}
"""What each vocabulary makes of the types it has a word for."""

NAMES: Mapping[Vocabulary, frozenset[str]] = {
    Vocabulary.OWN: frozenset(own.KINDS),
    Vocabulary.DOMAIN: frozenset(
        {"tool.invoked", "tool.completed", "tool.failed", "tool.timeout", "tool.registered"},
    ),
    Vocabulary.EXECUTOR: frozenset(
        {"tool.call.pending", "tool.call.success", "tool.call.failure", "tool.call.timeout", "source.stale"},
    ),
}
"""Every name a vocabulary has."""
