"""Event: a fact that was recorded. The audit log is all of them, in order, chained."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any, Protocol

from callgate.model.levels import Severity

GENESIS = "0" * 64
"""What the first event of a stream names as the hash before it."""


class Redactor(Protocol):
    """Strikes secrets; most payloads hold none, and their bytes show it."""

    def suspects(self, text: bytes, /) -> bool:
        """Whether something in the written form may have to be struck."""
        ...

    def suspects_shared(self, text: bytes, /) -> bool:
        """As `suspects`, of a text that comes again and again: it is looked through once."""
        ...

    def strike(self, value: Any, /) -> Any:
        """The value with everything secret in it replaced."""
        ...


Written = tuple[bytes, bytes, bytes]
"""A payload that is canonical JSON already, and what of it may hold something to strike: what this event alone says and
what many events say alike. No value is cut in two."""


def _nothing() -> dict[str, Any]:
    return {}


@dataclass(slots=True, kw_only=True)
class Draft:
    """An event before it has its place in a stream; the store's appender makes it an `Event`."""

    type: str
    time: float
    """Seconds since the epoch."""
    trace: str
    call: str | None = None
    severity: Severity = Severity.INFO
    causes: tuple[str, ...] = ()
    """Hashes of events in other streams that this one follows from."""
    payload: dict[str, Any] | Written = field(default_factory=_nothing)
    """Redacted already, unless `redact` is to do it."""
    redact: Redactor | None = None
    """Who strikes secrets from the payload when it is written; None when that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A recorded fact: an envelope that is chained, and a payload that may be erased."""

    id: str
    stream: str
    """One stream per writing process."""
    sequence: int
    """From 0, without a gap."""
    type: str
    time: float
    trace: str
    call: str | None
    producer: str
    severity: str
    causes: tuple[str, ...]
    payload_digest: str
    """Salted: it says nothing about an erased payload."""
    previous: str
    """The hash of the event before it in this stream."""
    hash: str
    payload: dict[str, Any] | None
    """None once erased."""
    salt: str | None
    position: int = 0
    """Place in the store's own order over all streams; not part of the chain."""

    def envelope(self) -> dict[str, Any]:
        """What the hash is made over."""
        return {
            "id": self.id,
            "stream": self.stream,
            "sequence": self.sequence,
            "type": self.type,
            "time": self.time,
            "trace": self.trace,
            "call": self.call,
            "producer": self.producer,
            "severity": self.severity,
            "causes": list(self.causes),
            "payload_digest": self.payload_digest,
            "previous": self.previous,
        }

    def to_json(self) -> dict[str, Any]:
        """The whole event, for files and doors."""
        return self.envelope() | {"hash": self.hash, "payload": self.payload, "salt": self.salt}


def payload_digest(payload: bytes, salt: bytes) -> str:
    """The salted digest of a payload's canonical bytes; without the salt nothing can be guessed from it."""
    return hashlib.sha256(salt + payload).hexdigest()


def from_json(body: dict[str, Any]) -> Event:
    """Read back what `Event.to_json` wrote."""
    fields: dict[str, Any] = {**body, "causes": tuple(body["causes"])}
    return Event(**fields)
