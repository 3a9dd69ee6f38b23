"""Appender: gives drafts their place in one stream. The one maker of hashes; a store commits what it made or drops it."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from hashlib import sha256

from callgate.model.canonical import NotCanonical, dumps
from callgate.model.event import GENESIS, Draft, Event
from callgate.model.ids import uuid7
from callgate.ports import Head

_SALT_BYTES = 16


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

    def chain(self, drafts: Sequence[Draft]) -> list[tuple[Event, bytes]]:
        """Make events of the drafts after the ones made since the last commit; each with its payload's bytes."""
        salts = os.urandom(_SALT_BYTES * len(drafts))
        made: list[tuple[Event, bytes]] = []
        sequence, previous = self._next
        for index, draft in enumerate(drafts):
            sequence += 1
            event, body = self._make(draft, sequence, previous, salts[index * _SALT_BYTES : (index + 1) * _SALT_BYTES])
            previous = event.hash
            made.append((event, body))
        self._next = Head(sequence, previous)
        return made

    def commit(self) -> None:
        """What was chained is durable."""
        self._head = self._next

    def rollback(self) -> None:
        """What was chained since the last commit never happened."""
        self._next = self._head

    def _make(self, draft: Draft, sequence: int, previous: str, salt: bytes) -> tuple[Event, bytes]:
        payload = draft.payload if draft.redact is None else draft.redact(draft.payload)
        try:
            body = dumps(payload)
        except NotCanonical as error:
            payload = {"unrecordable": str(error)}
            body = dumps(payload)
        digest = hmac.digest(salt, body, "sha256").hex()
        envelope = {
            "id": uuid7(),
            "stream": self.stream,
            "sequence": sequence,
            "type": draft.type,
            "time": draft.time,
            "trace": draft.trace,
            "call": draft.call,
            "producer": self._producer,
            "severity": draft.severity.value,
            "causes": list(draft.causes),
            "payload_digest": digest,
            "previous": previous,
        }
        event = Event(
            **{**envelope, "causes": draft.causes},
            hash=sha256(dumps(envelope)).hexdigest(),
            payload=payload,
            salt=salt.hex(),
        )
        return event, body
