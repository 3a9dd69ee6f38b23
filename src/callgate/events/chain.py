"""Appender: gives drafts their place in one stream. The one maker of hashes; a store commits what it made or drops it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, overload

import orjson

from callgate.events.recordable import clean_text, recordable_bytes, unrecordable
from callgate.model.canonical import NotCanonical, dumps
from callgate.model.event import GENESIS, Draft, Event
from callgate.model.ids import uuid7
from callgate.ports import Head

Row = tuple[
    str, str, int, str, float, str, str | None, str, str, tuple[str, ...], str, str, str, bytes | None, bytes | None
]
"""An event as plain values, in the order of `Event`'s fields up to `salt`; the payload as canonical bytes."""

_SALT_BYTES = 16
_INNER_PAD = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD = bytes(byte ^ 0x5C for byte in range(256))
_BLOCK = 64


class Appender:
    """The single appender of one stream. Not thread-safe: a store has one writer."""

    def __init__(self, stream: str, *, producer: str, head: Head | None = None) -> None:
        self.stream = stream
        self._producer = producer
        self._head = head or Head(-1, GENESIS)
        self._next = self._head

    @property
    def head(self) -> Head:
        """The last committed event."""
        return self._head

    @property
    def tip(self) -> Head:
        """The last event made, committed or not."""
        return self._next

    def chain(self, drafts: Sequence[Draft]) -> list[tuple[Event, bytes]]:
        """Make events of the drafts after the ones made since the last commit; each with its payload's bytes."""
        return [(to_event(row), row[13] or b"") for row in self.rows(drafts)]

    def rows(self, drafts: Sequence[Draft]) -> list[Row]:
        """As `chain`, without the cost of making `Event`s that perhaps nobody reads."""
        salts = os.urandom(_SALT_BYTES * len(drafts))
        sequence, previous = self._next
        made: list[Row] = []
        start = 0
        for draft in drafts:
            sequence += 1
            row = self._row(draft, sequence, previous, salts[start : start + _SALT_BYTES])
            start += _SALT_BYTES
            previous = row[12]
            made.append(row)
        self._next = Head(sequence, previous)
        return made

    def commit(self) -> None:
        """What was chained is durable."""
        self._head = self._next

    def rollback(self) -> None:
        """What was chained since the last commit never happened."""
        self._next = self._head

    def _row(self, draft: Draft, sequence: int, previous: str, salt: bytes) -> Row:  # noqa: PLR0917 - once per event
        body = _payload(draft)
        digest = _salted(salt, body)
        call, time, trace, kind, causes = draft.call, draft.time, draft.trace, draft.type, draft.causes
        event_id = uuid7()
        severity: str = draft.severity._value_
        envelope: dict[str, Any] = {  # its keys stand in sorted order: these are the canonical bytes
            "call": call,
            "causes": causes,
            "id": event_id,
            "payload_digest": digest,
            "previous": previous,
            "producer": self._producer,
            "sequence": sequence,
            "severity": severity,
            "stream": self.stream,
            "time": time,
            "trace": trace,
            "type": kind,
        }
        try:
            text = orjson.dumps(envelope)
            if time - time != 0.0:
                raise NotCanonical("the time is not a number")
        except (orjson.JSONEncodeError, NotCanonical):
            text = _mend(envelope)
            call, time, trace = envelope["call"], envelope["time"], envelope["trace"]
            kind, causes = envelope["type"], tuple(envelope["causes"])
        return (
            event_id,
            self.stream,
            sequence,
            kind,
            time,
            trace,
            call,
            self._producer,
            severity,
            causes,
            digest,
            previous,
            sha256(text).hexdigest(),
            body,
            salt,
        )


class Events(Sequence[Event]):
    """Events over rows, each made when it is looked at."""

    def __init__(self, rows: Sequence[Row], *, first: int) -> None:
        self._rows = rows
        self._first = first

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> list[Event]: ...
    def __getitem__(self, index: int | slice) -> Event | list[Event]:
        places = range(self._first, self._first + len(self._rows))[index]
        if isinstance(places, int):
            return to_event(self._rows[index], position=places)  # pyright: ignore[reportArgumentType, reportCallIssue]
        return [to_event(self._rows[place - self._first], position=place) for place in places]


def to_event(row: Row, *, position: int = 0) -> Event:
    """The event a row stands for."""
    payload, salt = row[13], row[14]
    return Event(
        id=row[0],
        stream=row[1],
        sequence=row[2],
        type=row[3],
        time=row[4],
        trace=row[5],
        call=row[6],
        producer=row[7],
        severity=row[8],
        causes=row[9],
        payload_digest=row[10],
        previous=row[11],
        hash=row[12],
        payload=None if payload is None else _parsed(payload),
        salt=None if salt is None else salt.hex(),
        position=position,
    )


def _parsed(payload: bytes) -> dict[str, Any]:
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError:
        # Integers beyond 64 bits are ours to write and not orjson's to read.
        from json import loads  # noqa: PLC0415

        return loads(payload)


def _payload(draft: Draft) -> bytes:
    redact = draft.redact
    if redact is None:
        return recordable_bytes(draft.payload)
    try:
        payload = redact(draft.payload)
    except Exception as error:  # noqa: BLE001 - whatever a redactor does, nothing unredacted is recorded
        return dumps(unrecordable(f"redaction failed: {type(error).__name__}"))
    return recordable_bytes(payload)


def _salted(salt: bytes, body: bytes) -> str:
    """HMAC-SHA256 as `payload_digest` makes it, in half the time of the library's one call."""
    key = salt + bytes(_BLOCK - _SALT_BYTES)
    inner = sha256(key.translate(_INNER_PAD) + body).digest()
    return sha256(key.translate(_OUTER_PAD) + inner).hexdigest()


def _mend(envelope: dict[str, Any]) -> bytes:
    """Make an envelope canonical that is not: a record with a mended name is better than none."""
    time = envelope["time"]
    envelope["time"] = time if isinstance(time, (int, float)) and math.isfinite(time) else 0.0
    for name in ("call", "trace", "type"):
        if envelope[name] is not None:
            envelope[name] = clean_text(str(envelope[name]))
    envelope["causes"] = [clean_text(str(cause)) for cause in envelope["causes"]]
    return dumps(envelope)
