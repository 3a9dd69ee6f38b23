"""The memory store's event log: drafts wait unchained until somebody reads them, so that adding one costs an append."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence

from callgate.events.chain import Appender, Events, Row, to_event
from callgate.model.event import Draft, Event

_ID, _TYPE, _TRACE, _CALL, _PAYLOAD = 0, 3, 5, 6, 13
WAITING_AT_MOST = 1000


class EventLog:
    """One stream in memory. `rows` are chained and committed; `waiting` will be, in this order."""

    def __init__(self, appender: Appender) -> None:
        self.appender = appender
        self.rows: list[Row] = []
        self.waiting: list[Draft] = []
        self._unit: int | None = None
        """Where the rows of an open unit start, once it has read its own events."""
        self._indexed = 0
        self._by_trace: dict[str, list[int]] = {}
        self._by_call: dict[str, list[int]] = {}
        self.erasures: list[tuple[int, Row]] = []

    def add(self, drafts: Sequence[Draft]) -> bool:
        """Take drafts, from any thread, to be chained when somebody looks; True when many wait."""
        waiting = self.waiting
        waiting.extend(drafts)
        return len(waiting) > WAITING_AT_MOST

    def settle(self) -> None:
        """Chain what waits."""
        if self.waiting:
            # Another thread may add at the end meanwhile, so what is taken is counted first.
            count = len(self.waiting)
            drafts = self.waiting[:count]
            del self.waiting[:count]
            self.rows.extend(self.appender.rows(drafts))
            self.appender.commit()

    def show(self, drafts: list[Draft]) -> None:
        """Chain the drafts of an open unit ahead of its end, because it reads its own events."""
        self.settle()
        if self._unit is None:
            self._unit = len(self.rows)
        self.rows.extend(self.appender.rows(drafts))
        drafts.clear()

    def commit(self) -> None:
        """The open unit ended well."""
        self.appender.commit()
        self._unit = None
        self.erasures.clear()

    def rollback(self) -> None:
        """The open unit never happened."""
        for place, row in reversed(self.erasures):
            self.rows[place] = row
        self.erasures.clear()
        if self._unit is not None:
            del self.rows[self._unit :]
            self._unit = None
        self.appender.rollback()

    def erase(self, event_id: str) -> bool:
        """Forget a payload and its salt; whether it was there."""
        place = bisect_left(self.rows, event_id, key=lambda row: row[_ID])
        if place == len(self.rows) or self.rows[place][_ID] != event_id or self.rows[place][_PAYLOAD] is None:
            return False
        row = self.rows[place]
        self.erasures.append((place, row))
        self.rows[place] = (*row[:_PAYLOAD], None, None)  # pyright: ignore[reportArgumentType]
        return True

    def since(self, place: int) -> Events:
        """The events from a place on, made when looked at."""
        return Events(self.rows[place:], first=place + 1)

    def select(
        self, *, after: int, trace: str | None, call: str | None, wanted: Callable[[str], bool] | None
    ) -> Iterator[Event]:
        """Events that match, in order."""
        for place in self._places(max(after, 0), trace=trace, call=call):
            row = self.rows[place]
            if (
                (trace is None or row[_TRACE] == trace)
                and (call is None or row[_CALL] == call)
                and (wanted is None or wanted(row[_TYPE]))
            ):
                yield to_event(row, position=place + 1)

    def _places(self, start: int, *, trace: str | None, call: str | None) -> Iterator[int]:
        if trace is None and call is None:
            yield from range(start, len(self.rows))
            return
        self._index()
        places = self._by_call.get(call, []) if call is not None else self._by_trace.get(trace or "", [])
        yield from places[bisect_left(places, start) :]
        yield from range(max(self._indexed, start), len(self.rows))

    def _index(self) -> None:
        """Note where traces and calls are, up to what is committed."""
        end = len(self.rows) if self._unit is None else self._unit
        for place in range(self._indexed, end):
            row = self.rows[place]
            self._by_trace.setdefault(row[_TRACE], []).append(place)
            call = row[_CALL]
            if call is not None:
                self._by_call.setdefault(call, []).append(place)
        self._indexed = end
