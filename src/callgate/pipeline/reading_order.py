"""The order of notes of what calls read: one caller's come as its calls ended, whenever each of them is ready.

What a call read is asked after it, and the answer may take its time. A note that changes nothing needs no order; one
that would change what is noted comes after those of the calls before, so that nobody is told of a change of his own.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Place:
    """One call's place in the order."""

    caller: Hashable
    given_up: bool = False
    """Its note is there, or will never be."""
    _turn: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_first(self) -> bool:
        """Whether no note of a call before is missing."""
        return self._turn.is_set()

    async def be_first(self) -> None:
        """Wait until none is missing."""
        await self._turn.wait()

    def come_first(self) -> None:
        """None is missing any more."""
        self._turn.set()


class ReadingOrder:
    """Places are taken where calls end, in any thread; waited for and given up in the gate's own loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queues: dict[Hashable, deque[Place]] = {}
        """By caller; those in the middle that were given up leave with the ones before them."""

    def take(self, caller: Hashable) -> Place:
        """The place behind all that this caller has."""
        place = Place(caller)
        with self._lock:
            queue = self._queues.setdefault(caller, deque())
            if not queue:
                place.come_first()
            queue.append(place)
        return place

    def give_up(self, place: Place) -> None:
        """It is noted, or nothing is to be noted."""
        place.given_up = True
        with self._lock:
            queue = self._queues[place.caller]
            while queue and queue[0].given_up:
                queue.popleft()
            if queue:
                queue[0].come_first()
            else:
                del self._queues[place.caller]
