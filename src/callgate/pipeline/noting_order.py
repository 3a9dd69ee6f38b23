"""The order of notes: one caller's come after each other as its calls ended, whenever each of them is ready.

What a call read is asked after it, and the answer may take its time. A note that changes nothing needs no order; one
that would change what is noted comes after those of the calls before, so that nobody is told of a change of his own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One call's place in the order."""

    caller: Hashable
    before: tuple[asyncio.Event, ...]
    """Set when the notes of the calls before are there, or will never be."""
    noted: asyncio.Event

    @property
    def is_first(self) -> bool:
        """Whether no note of a call before is missing."""
        return all(earlier.is_set() for earlier in self.before)

    async def be_first(self) -> None:
        """Wait until none is missing."""
        for earlier in self.before:
            await earlier.wait()


class NotingOrder:
    """Places are taken where calls end, in any thread; waited for and given up in the gate's own loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._missing: dict[Hashable, list[asyncio.Event]] = {}

    def take(self, caller: Hashable) -> Place:
        """The place behind all that this caller has."""
        with self._lock:
            missing = self._missing.setdefault(caller, [])
            place = Place(caller, tuple(missing), asyncio.Event())
            missing.append(place.noted)
        return place

    def give_up(self, place: Place) -> None:
        """It is noted, or nothing is to be noted."""
        place.noted.set()
        with self._lock:
            missing = self._missing[place.caller]
            missing.remove(place.noted)
            if not missing:
                del self._missing[place.caller]
