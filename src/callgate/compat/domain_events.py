"""Domain events of tools: what was recorded, as the events and envelopes of an executor that keeps its own store.

They are made from the record after the fact; the record itself is the gate's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Protocol

from callgate.compat.home import settled
from callgate.events.translation import Told, Vocabulary, tell
from callgate.model.event import Event

_log = logging.getLogger("callgate")


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainEvent:
    """Something that happened to a tool."""

    kind: ClassVar[str] = ""
    tool_id: str
    tool_name: str

    def event_type(self) -> str:
        """Its name, such as `tool.invoked`."""
        return self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolInvoked(DomainEvent):
    """The call passed the gate and is about to run."""

    kind: ClassVar[str] = "tool.invoked"
    input_data: dict[str, Any]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCompleted(DomainEvent):
    """It ended well."""

    kind: ClassVar[str] = "tool.completed"
    output_data: Any
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFailed(DomainEvent):
    """It raised, or nobody knows how it ended."""

    kind: ClassVar[str] = "tool.failed"
    error: str
    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTimeout(DomainEvent):
    """It reached its time limit."""

    kind: ClassVar[str] = "tool.timeout"
    timeout_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRegistered(DomainEvent):
    """It was added."""

    kind: ClassVar[str] = "tool.registered"
    source: str
    capabilities: Any


_KINDS = {each.kind: each for each in (ToolInvoked, ToolCompleted, ToolFailed, ToolTimeout, ToolRegistered)}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRef:
    """Who produces events."""

    agent_id: str
    agent_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A domain event with what identifies it."""

    event_id: str
    event_type: str
    timestamp: float
    trace_id: str
    producer: Any
    event: DomainEvent

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        plain = asdict(self.producer) if isinstance(self.producer, AgentRef) else str(self.producer)
        return {
            "event_id": self.event_id,
            "event_type": self.event_type,
            "timestamp": self.timestamp,
            "trace_id": self.trace_id,
            "producer": plain,
            "event": asdict(self.event),
        }


class EventStore(Protocol):
    """Where envelopes are kept besides; `append` may be async."""

    def append(self, envelope: Envelope, /) -> Any:
        """Keep it."""
        ...


class EnvelopeBridge(Protocol):
    """Where envelopes are sent besides; `publish` may be async."""

    def publish(self, envelope: Envelope, /) -> Any:
        """Send it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Outbox:
    """Hands on what was recorded. What goes wrong there changes nothing of a call that is done."""

    event_store: EventStore | None
    bridge: EnvelopeBridge | None
    producer: Any

    async def hand_on(self, events: Iterable[Event]) -> None:
        """Append each, then publish it, in order."""
        for envelope in envelopes(events, producer=self.producer):
            try:
                if self.event_store is not None:
                    await settled(self.event_store.append(envelope))
                if self.bridge is not None:
                    await settled(self.bridge.publish(envelope))
            except Exception as error:  # noqa: BLE001 - whatever it is, the call is done and recorded
                _log.warning("%s was not handed on: %s", envelope.event_type, type(error).__name__)


def domain_event(told: Told) -> DomainEvent:
    """What `gate.on("tool.*", handler, vocabulary="tool")` tells a handler, as a domain event."""
    kind = _KINDS[told.type]
    return kind(**{each.name: told.payload.get(each.name) for each in fields(kind)})  # pyright: ignore[reportArgumentType]


def envelopes(events: Iterable[Event], *, producer: Any) -> Iterator[Envelope]:
    """Those of the recorded events that are domain events, in order."""
    for event in events:
        for told in tell(event, Vocabulary.DOMAIN):
            yield Envelope(
                event_id=event.id,
                event_type=told.type,
                timestamp=told.time,
                trace_id=told.trace,
                producer=producer,
                event=domain_event(told),
            )
