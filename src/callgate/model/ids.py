"""Identifiers: UUIDv7 text, so that sorting by id is sorting by creation, also within one millisecond."""

from __future__ import annotations

import os
import re
import threading
from time import time_ns

_RANDOM_BYTES = 8
_GULP = 512
_VARIANT = bytes(0x80 | byte & 0x3F for byte in range(256))
"""A random byte, its two upper bits set as the standard wants them."""
_GROUPS = re.compile(r"(.{4})(.{12})").findall
_COUNT_BITS = 12
_COUNT = (1 << _COUNT_BITS) - 1
_COUNTS = tuple(f"{count:03x}" for count in range(_COUNT + 1))


class _Source:
    """Where ids come from: random ends drawn in large gulps, never across a fork, and moments that only grow.

    A system call per id would cost more than the id.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._ends: list[str] = []
        self._last = 0
        """The largest tick so far: milliseconds, and a 12-bit count within them."""
        self._beginning = ""
        """The first groups of an id of its millisecond."""
        self._until = 0
        """The first tick of the next one."""

    def next(self) -> str:
        """An id larger than any before it."""
        with self._lock:
            if not self._ends:
                self._ends = _random_ends(_GULP)
            tick = time_ns() // 1_000_000 << _COUNT_BITS
            if tick <= self._last:
                tick = self._last + 1
            self._last = tick
            if tick >= self._until:
                self._begin(tick)
            return self._beginning + _COUNTS[tick & _COUNT] + self._ends.pop()

    def reserve(self, count: int) -> range:
        """That many ticks in a row, each larger than any before it."""
        with self._lock:
            tick = time_ns() // 1_000_000 << _COUNT_BITS
            first = tick if tick > self._last else self._last + 1
            self._last = first + count - 1
            self._begin(self._last)
            return range(first, first + count)

    def _begin(self, tick: int) -> None:
        self._beginning = _beginning(tick)
        self._until = (tick | _COUNT) + 1

    def forget(self) -> None:  # pragma: no cover - in forked children, where nobody measures
        """Drop what was drawn; called in a forked child, which would otherwise repeat its parent's ids."""
        self._lock = threading.Lock()
        self._reset()


def _beginning(tick: int) -> str:
    stem = f"{tick >> _COUNT_BITS:012x}"
    return f"{stem[:8]}-{stem[8:]}-7"


def _random_ends(count: int) -> list[str]:
    """The last two groups of that many ids, with the dash before them."""
    drawn = bytearray(os.urandom(_RANDOM_BYTES * count))
    drawn[::_RANDOM_BYTES] = drawn[::_RANDOM_BYTES].translate(_VARIANT)
    # No step of it in Python: every call takes three.
    return list(map("-%s-%s".__mod__, _GROUPS(drawn.hex())))


_source = _Source()
os.register_at_fork(after_in_child=_source.forget)
uuid7 = _source.next
"""A new UUIDv7 in its usual text form; later ids of one process sort after earlier ones."""


def uuid7s(count: int) -> list[str]:
    """That many new UUIDv7 in order, at less than half the cost of asking for each."""
    made: list[str] = []
    beginning, until = "", 0
    for tick, end in zip(_source.reserve(count), _random_ends(count), strict=True):
        if tick >= until:
            beginning = _beginning(tick)
            until = (tick | _COUNT) + 1
        made.append(beginning + _COUNTS[tick & _COUNT] + end)
    return made
