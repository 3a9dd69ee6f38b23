"""Identifiers: UUIDv7 text, so that sorting by id is sorting by creation, also within one millisecond."""

from __future__ import annotations

import os
import threading
import time

_RANDOM_BYTES = 8
_DIGITS = 2 * _RANDOM_BYTES
_GULP = 512
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
"""The first random digit, its two upper bits set as the standard wants them."""
_COUNT_BITS = 12
_COUNT = (1 << _COUNT_BITS) - 1


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

    def next(self) -> str:
        """An id larger than any before it."""
        with self._lock:
            if not self._ends:
                self._ends = _random_ends(_GULP)
            tick = time.time_ns() // 1_000_000 << _COUNT_BITS
            last = self._last
            if tick <= last:
                tick = last + 1
            if tick >> _COUNT_BITS != last >> _COUNT_BITS:
                self._beginning = _beginning(tick)
            self._last = tick
            return f"{self._beginning}{tick & _COUNT:03x}{self._ends.pop()}"

    def reserve(self, count: int) -> range:
        """That many ticks in a row, each larger than any before it."""
        with self._lock:
            tick = time.time_ns() // 1_000_000 << _COUNT_BITS
            first = tick if tick > self._last else self._last + 1
            self._last = first + count - 1
            self._beginning = _beginning(self._last)
            return range(first, first + count)

    def forget(self) -> None:  # pragma: no cover - in forked children, where nobody measures
        """Drop what was drawn; called in a forked child, which would otherwise repeat its parent's ids."""
        self._lock = threading.Lock()
        self._reset()


def _beginning(tick: int) -> str:
    stem = f"{tick >> _COUNT_BITS:012x}"
    return f"{stem[:8]}-{stem[8:]}-7"


def _random_ends(count: int) -> list[str]:
    """The last two groups of that many ids, with the dash before them."""
    digits = os.urandom(_RANDOM_BYTES * count).hex()
    variant = _VARIANT
    return [
        f"-{variant[digits[at]]}{digits[at + 1 : at + 4]}-{digits[at + 4 : at + _DIGITS]}"
        for at in range(0, _DIGITS * count, _DIGITS)
    ]


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
        made.append(f"{beginning}{tick & _COUNT:03x}{end}")
    return made
