"""Appender: gives drafts their place in one stream. The one maker of hashes; a store commits or drops what it made."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from hashlib import sha256
from struct import iter_unpack
from typing import Any, overload

import orjson

from callgate.events.recordable import clean_text, read_back, recordable_bytes, unrecordable
from callgate.model.canonical import dumps
from callgate.model.event import GENESIS, Draft, Event, Redactor
from callgate.model.ids import uuid7s
from callgate.ports import Head

Row = tuple[
    str, str, int, str, float, str, str | None, str, str, tuple[str, ...], str, str, str, bytes | None, bytes | None
]
"""An event as plain values, in the order of `Event`'s fields up to `salt`; the payload as canonical bytes."""

_SALT_BYTES = 16
_SALT = f"{_SALT_BYTES}s"
_MENDED = ("call", "causes", "time", "trace", "type")
_PLAIN = orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_SUBCLASS


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
        count = len(drafts)
        last, previous = self._next
        producer, stream = self._producer, self.stream
        made: list[Row] = []
        numbers, salts = range(last + 1, last + 1 + count), iter_unpack(_SALT, os.urandom(_SALT_BYTES * count))
        for draft, sequence, event_id, (salt,) in zip(drafts, numbers, uuid7s(count), salts, strict=True):
            body = _payload(draft)
            digest = sha256(salt + body).hexdigest()  # as `payload_digest`, without the call
            call, causes, severity = draft.call, draft.causes, draft.severity._value_
            time, trace, kind = float(draft.time), draft.trace, draft.type
            envelope: dict[str, Any] = {  # in the order of the canonical form, which is then what orjson writes
                "call": call,
                "causes": causes,
                "id": event_id,
                "payload_digest": digest,
                "previous": previous,
                "producer": producer,
                "sequence": sequence,
                "severity": severity,
                "stream": stream,
                "time": time,
                "trace": trace,
                "type": kind,
            }
            try:
                # NaN and infinities, the only numbers that drown in a subtraction, are written as null.
                text = orjson.dumps(envelope, option=_PLAIN) if time - time == 0 else b""
            except orjson.JSONEncodeError:
                text = b""
            if not text:
                text = _mend(envelope)
                call, causes, time, trace, kind = (envelope[name] for name in _MENDED)
            own = sha256(text).hexdigest()
            # fmt: off
            made.append((
                event_id, stream, sequence, kind, time, trace, call, producer,
                severity, causes, digest, previous, own, body, salt,
            ))
            # fmt: on
            previous = own
        self._next = Head(last + count, previous)
        return made

    def commit(self) -> None:
        """What was chained is durable."""
        self._head = self._next

    def rollback(self) -> None:
        """What was chained since the last commit never happened."""
        self._next = self._head

    def rewind(self, tip: Head) -> None:
        """What was chained after that event never happened."""
        self._next = tip


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
        payload=None if payload is None else read_back(payload),
        salt=None if salt is None else salt.hex(),
        position=position,
    )


def _payload(draft: Draft) -> bytes:
    """The payload's bytes, ready to be kept."""
    payload, redactor = draft.payload, draft.redact
    if isinstance(payload, tuple):
        body, own, shared = payload
        if redactor is None or not _suspected(redactor, own, shared=shared):
            return body
        body = _redacted(body, redactor)
    elif redactor is None:
        body = recordable_bytes(payload)
    else:
        body = _redacted(recordable_bytes(payload), redactor)
    # A copy, because what orjson hands out lies in a larger block, and kept ones would tear holes into memory.
    return bytes(memoryview(body))


def _suspected(redactor: Redactor, own: bytes, *, shared: bytes) -> bool:
    try:
        return redactor.suspects_shared(shared) or redactor.suspects(own)
    except Exception:  # noqa: BLE001 - it is asked again where its failure has an answer
        return True


def _redacted(body: bytes, redactor: Redactor) -> bytes:
    """The payload's bytes; struck only if they look as if something had to be."""
    try:
        if not redactor.suspects(body):
            return body
        payload = redactor.strike(read_back(body))
    except Exception as error:  # noqa: BLE001 - whatever a redactor does, nothing unredacted is recorded
        payload = unrecordable(f"redaction failed: {type(error).__name__}")
    return recordable_bytes(payload)


def _mend(envelope: dict[str, Any]) -> bytes:
    """Make an envelope canonical that is not: a record with a mended name is better than none."""
    time = envelope["time"]
    envelope["time"] = float(time) if isinstance(time, (int, float)) and math.isfinite(time) else 0.0
    for name in ("call", "trace", "type"):
        if envelope[name] is not None:
            envelope[name] = clean_text(str(envelope[name]))
    envelope["causes"] = tuple(clean_text(str(cause)) for cause in envelope["causes"])
    return dumps(envelope)
