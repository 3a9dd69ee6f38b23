"""Selection: which events are meant, and reading them a page at a time. Knows no store's insides."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from callgate.model.event import Event
from callgate.ports import Reader

PAGE = 1000
"""How many events are in memory at a time."""


class Page(NamedTuple):
    """Some events in order, and where to go on reading."""

    events: list[Event]
    after: int
    """The position to go on from."""
    last: bool
    """Nothing more was there when it was read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which events are meant. What is given must all hold; `Selection()` is every event."""

    types: tuple[str, ...] | None = None
    """Exact names or globs."""
    trace: str | None = None
    call: str | None = None
    stream: str | None = None
    since: float | None = None
    """Not before this time, in seconds since the epoch."""
    until: float | None = None
    """Before this time."""

    @property
    def everything(self) -> bool:
        """Whether every event is meant."""
        return self == EVERYTHING

    def admits(self, event: Event) -> bool:
        """Whether the event's time is within the bounds; the store looks at the rest."""
        return (self.since is None or event.time >= self.since) and (self.until is None or event.time < self.until)

    def matches(self, event: Event) -> bool:
        """Whether this event is meant."""
        return (
            (self.trace is None or event.trace == self.trace)
            and (self.call is None or event.call == self.call)
            and (self.stream is None or event.stream == self.stream)
            and (self.types is None or any(matcher(pattern)(event.type) for pattern in self.types))
            and self.admits(event)
        )

    def page(self, reader: Reader, *, after: int = 0, size: int = PAGE) -> Page:
        """The selected among the next `size` events that the store finds after a position."""
        found = reader.events(
            after=after, types=self.types, trace=self.trace, call=self.call, stream=self.stream, limit=size
        )
        reached = found[-1].position if found else after
        return Page([event for event in found if self.admits(event)], reached, len(found) < size)

    def pages(self, reader: Reader, *, after: int = 0, size: int = PAGE) -> Iterator[list[Event]]:
        """All selected events in order, a page at a time."""
        last = False
        while not last:
            events, after, last = self.page(reader, after=after, size=size)
            if events:
                yield events

    def to_json(self) -> dict[str, Any]:
        """What was asked for, for manifests and events; without what was left open."""
        given: dict[str, Any] = {
            "types": None if self.types is None else list(self.types),
            "trace": self.trace,
            "call": self.call,
            "stream": self.stream,
            "since": self.since,
            "until": self.until,
        }
        return {name: value for name, value in given.items() if value is not None}


EVERYTHING = Selection()


@lru_cache(maxsize=256)
def matcher(pattern: str) -> Callable[[str], bool]:
    """Whether a name fits an exact name or a glob, in which only `*` and `?` are special, as in a store's query."""
    if "*" not in pattern and "?" not in pattern:
        return pattern.__eq__
    form = re.compile(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), re.DOTALL)
    return lambda name: form.fullmatch(name) is not None
