"""Events as rows: how they are read back and in which order. The chain is made elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any

import orjson

from callgate.events.chain import Row, to_event
from callgate.events.recordable import read_back
from callgate.model.event import Event
from callgate.ports import Head
from callgate.stores.sqlite.approvals import ApprovalReader
from callgate.stores.sqlite.readable import readable
from callgate.stores.sqlite.statements import load

SQL = load("events")
_TYPES = "/* types */"
_TRACE, _CALL, _STREAM = 6, 7, 2
_NONE = type(None)
_KINDS = frozenset(
    product(
        *((kind,) for kind in (int, str, str, int, str, float, str)),
        (str, _NONE),  # the call
        *((str,), (str,)),
        (str, _NONE),  # the causes
        *((str,), (str,), (str,)),
        (str, _NONE),  # the payload
        (bytes, _NONE),  # the salt
    )
)
"""Of which types the columns of a row are."""
_OTHER_TYPE = "another type than was written"


class EventReader(ApprovalReader):
    """Answers about events."""

    def events(
        self,
        *,
        after: int = 0,
        types: Sequence[str] | None = None,
        trace: str | None = None,
        call: str | None = None,
        stream: str | None = None,
        limit: int | None = None,
    ) -> list[Event]:
        if limit == 0 or (types is not None and not types):
            return []
        statement, values = _narrowest(call=call, trace=trace, stream=stream)
        if types is not None:
            statement = statement.replace(_TYPES, f"AND ({' OR '.join(['type GLOB ?'] * len(types))})")
            values += tuple(_glob(item) for item in types)
        rows = self._ask(statement, after, *values)
        return list(islice(_matching(rows, {_TRACE: trace, _CALL: call, _STREAM: stream}), limit))

    def last_position(self) -> int:
        return self._one(SQL["last_position"])

    def heads(self) -> dict[str, Head]:
        return dict(_stream_head(row) for row in self._ask(SQL["heads"]))


@readable("events")
def head_of(row: tuple[Any, ...]) -> Head:
    """The end of a stream."""
    sequence, digest = row
    if (type(sequence), type(digest)) != (int, str):
        raise TypeError(_OTHER_TYPE)
    return Head(sequence, digest)


def to_insert(rows: Sequence[Row], first: int) -> tuple[str, list[tuple[Any, ...]]]:
    """The statement that writes new events, and their rows as the table has them, from this position on."""
    if any(row[9] for row in rows):
        return SQL["insert"], [_to_values(place, row) for place, row in enumerate(rows, first)]
    # A NULL and bytes take Python's sqlite3 longer to bind than anything else.
    return SQL["insert_causeless"], [
        (place, *row[:9], *row[10:13], (row[13] or b"").decode(), bytearray(row[14] or b""))
        for place, row in enumerate(rows, first)
    ]


def _to_values(position: int, row: Row) -> tuple[Any, ...]:
    causes, payload = row[9], row[13]
    return (
        position,
        *row[:9],
        orjson.dumps(causes).decode() if causes else None,
        *row[10:13],
        None if payload is None else payload.decode(),
        row[14],
    )


def _narrowest(*, call: str | None, trace: str | None, stream: str | None) -> tuple[str, tuple[str, ...]]:
    if call is not None:
        return SQL["of_call"], (call,)
    if trace is not None:
        return SQL["of_trace"], (trace,)
    if stream is not None:
        return SQL["of_stream"], (stream,)
    return SQL["all"], ()


def _matching(rows: Iterator[tuple[Any, ...]], wanted: dict[int, str | None]) -> Iterator[Event]:
    checks = [(place, value) for place, value in wanted.items() if value is not None]
    for row in rows:
        if all(row[place] == value for place, value in checks):
            yield _event(row)


@readable("events")
def _event(row: tuple[Any, ...]) -> Event:
    if tuple(map(type, row)) not in _KINDS:
        raise TypeError(_OTHER_TYPE)
    causes: Any = () if row[10] is None else tuple(read_back(row[10]))
    return to_event((*row[1:10], causes, *row[11:]), position=row[0])


@readable("events")
def _stream_head(row: tuple[Any, ...]) -> tuple[str, Head]:
    stream, *head = row
    if type(stream) is not str:
        raise TypeError(_OTHER_TYPE)
    return stream, head_of(tuple(head))


def _glob(pattern: str) -> str:
    """In a port's glob only `*` and `?` are special."""
    return pattern.replace("[", "[[]")
