"""Links: follows every stream event by event and finds what was edited, removed, reordered or rewritten.

Keeps one place per stream, whatever the number of events. Knows no store, no signature and no ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import orjson

from callgate.events.report import Findings, Place
from callgate.events.vocabulary import ERASED, KEPT
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.event import GENESIS, Event, payload_digest

Marks = Mapping[int, tuple[tuple[str, str], ...]]
"""For some places of a stream: (hash, who saw it there)."""

_NO_MARKS: Marks = {}
_GAPS_AT_MOST = 1000


@dataclass(slots=True)
class Stream:
    """How far one stream was followed."""

    name: str
    first: int
    """The number it has to start with."""
    next: int
    """The number that has to come next."""
    hash: str | None
    """The hash the next event has to cite; None where the events before were not given."""
    marks: Marks = field(default_factory=lambda: _NO_MARKS)
    count: int = 0
    gaps: dict[int, int] = field(default_factory=dict[int, int])
    """First and last number of what was skipped."""
    disputed: bool = False
    """A witness saw another hash; said once."""


class Links:
    """The chain of every stream.

    Args:
        findings: Where what is wrong goes.
        marks: What witnesses saw, by stream and number.
        partial: Streams may begin anywhere, and payloads may be left out: only a part was given.
    """

    def __init__(self, findings: Findings, *, marks: Mapping[str, Marks] | None = None, partial: bool = False) -> None:
        self.streams: dict[str, Stream] = {}
        self.events = 0
        self.unannounced: dict[str, Place] = {}
        """Erased events that no event has named as erased so far."""
        self._findings = findings
        self._marks = marks or {}
        self._partial = partial

    def follow(self, events: Iterable[Event]) -> None:
        """Take the next events, in the store's order."""
        streams = self.streams
        for event in events:
            stream = streams.get(event.stream) or self._begin(event)
            if event.sequence != stream.next or event.previous != stream.hash:
                self._out_of_line(stream, event)
            if hash_of(event) != event.hash:
                self._findings.wrong(f"{_named(event)} was edited: its hash does not fit what it says", _place(event))
            if event.payload is None:
                self._without_payload(event)
            else:
                self._with_payload(event, event.payload)
            if event.sequence in stream.marks:
                self._compare(stream, event)
            if event.sequence >= stream.next:
                stream.next, stream.hash = event.sequence + 1, event.hash
            stream.count += 1
            self.events += 1

    def finish(self) -> None:
        """Say what is still missing after the last event."""
        for stream in self.streams.values():
            for start, end in stream.gaps.items():
                what = f"event {start} is" if start == end else f"events {start} to {end} are"
                self._findings.wrong(f"{what} missing from stream {stream.name}", Place(stream.name, start))
        for place in self.unannounced.values():
            self._findings.wrong(f"the payload of {place} is gone, and no event says that it was erased", place)

    def _begin(self, event: Event) -> Stream:
        first = event.sequence if self._partial else 0
        known = GENESIS if first == 0 else None
        stream = Stream(event.stream, first, first, known, self._marks.get(event.stream, _NO_MARKS))
        self.streams[event.stream] = stream
        return stream

    def _out_of_line(self, stream: Stream, event: Event) -> None:
        if event.sequence > stream.next:
            if len(stream.gaps) < _GAPS_AT_MOST:
                stream.gaps[stream.next] = event.sequence - 1
        elif event.sequence < stream.next:
            self._late(stream, event)
        elif stream.hash is not None:
            sentence = f"{_named(event)} does not follow from the event before it: one of the two was rewritten"
            self._findings.wrong(sentence, _place(event))

    def _late(self, stream: Stream, event: Event) -> None:
        for start, end in stream.gaps.items():
            if start <= event.sequence <= end:
                del stream.gaps[start]
                stream.gaps.update(_rest(start, end, without=event.sequence))
                self._findings.wrong(f"{_named(event)} stands after a later one: events were reordered", _place(event))
                return
        self._findings.wrong(f"{_named(event)} is there twice, or was put in later", _place(event))

    def _with_payload(self, event: Event, payload: Any) -> None:
        if not _payload_fits(event):
            self._findings.wrong(f"the payload of {_named(event)} was edited", _place(event))
        elif event.type == ERASED:
            for event_id in erased_by(payload):
                self.unannounced.pop(event_id, None)

    def _without_payload(self, event: Event) -> None:
        if self._partial:
            return
        place = _place(event)
        if event.type in KEPT:
            self._findings.wrong(f"the payload of {_named(event)} is gone, and such events are never erased", place)
        else:
            self.unannounced[event.id] = place

    def _compare(self, stream: Stream, event: Event) -> None:
        for expected, witness in stream.marks[event.sequence]:
            if expected != event.hash and not stream.disputed:
                stream.disputed = True
                sentence = f"{witness} saw another {_named(event)}: history was rewritten there or before"
                self._findings.wrong(sentence, _place(event))


def erased_by(payload: Any) -> list[str]:
    """The ids an `audit.erased` event names; its payload may be anyone's."""
    match payload:
        case {"events": [*named]}:
            return [event_id for event_id in named if isinstance(event_id, str)]
        case _:
            return []


def hash_of(event: Event) -> str | None:
    """The hash the event's envelope has; None if it has no canonical form."""
    envelope: dict[str, Any] = {  # its keys stand in sorted order: these are the canonical bytes
        "call": event.call,
        "causes": event.causes,
        "id": event.id,
        "payload_digest": event.payload_digest,
        "previous": event.previous,
        "producer": event.producer,
        "sequence": event.sequence,
        "severity": event.severity,
        "stream": event.stream,
        "time": event.time,
        "trace": event.trace,
        "type": event.type,
    }
    try:
        text = orjson.dumps(envelope)
    except orjson.JSONEncodeError:
        return _hash_spelt(envelope)
    return sha256(text).hexdigest()


def _hash_spelt(envelope: dict[str, Any]) -> str | None:
    try:
        return sha256(dumps(envelope)).hexdigest()
    except NotCanonical:
        return None


def _payload_fits(event: Event) -> bool:
    try:
        salt = bytes.fromhex(event.salt or "")
        return payload_digest(_bytes(event.payload), salt) == event.payload_digest
    except (ValueError, TypeError):
        return False


def _bytes(payload: Any) -> bytes:
    try:
        # What was read from JSON holds no NaN, so that the careful way is not needed.
        return orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return dumps(payload)


def _rest(start: int, end: int, *, without: int) -> dict[int, int]:
    parts = ((start, without - 1), (without + 1, end))
    return {first: last for first, last in parts if first <= last}


def _place(event: Event) -> Place:
    return Place(event.stream, event.sequence)


def _named(event: Event) -> str:
    return f"event {event.sequence} ({event.type}) of stream {event.stream}"
