"""Identifiers: UUIDv7 text, so that sorting by id is sorting by creation, also within one millisecond."""

from __future__ import annotations

import os
import threading
import time

_RANDOM_BYTES = 8
_DIGITS = 2 * _RANDOM_BYTES
_POOL = 4096
_WORTH_A_GULP = 4
_VARIANT = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
"""The first random digit, its two upper bits set as the standard wants them."""


class _Source:
    """Random digits drawn in large gulps (a system call per id would cost more than the id), never across a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._pool = ""
        self._at = 0
        self._last = 0

    def next(self) -> tuple[int, str]:
        """A tick (milliseconds and a 12-bit count within them) larger than any before it, and sixteen random digits."""
        with self._lock:
            at = self._at
            if at >= len(self._pool):
                self._pool = os.urandom(_POOL * _RANDOM_BYTES).hex()
                at = 0
            self._at = at + _DIGITS
            tick = (time.time_ns() // 1_000_000) << 12
            self._last = tick if tick > self._last else self._last + 1
            return self._last, self._pool[at : at + _DIGITS]

    def reserve(self, count: int) -> range:
        """That many ticks in a row, each larger than any before it."""
        with self._lock:
            tick = (time.time_ns() // 1_000_000) << 12
            first = tick if tick > self._last else self._last + 1
            self._last = first + count - 1
            return range(first, first + count)

    def forget(self) -> None:  # pragma: no cover - in forked children, where nobody measures
        """Drop the pool; called in a forked child, which would otherwise repeat its parent's ids."""
        self._lock = threading.Lock()
        self._reset()


_source = _Source()
os.register_at_fork(after_in_child=_source.forget)


def uuid7() -> str:
    """A new UUIDv7 in its usual text form; later ids of one process sort after earlier ones."""
    tick, digits = _source.next()
    stem = f"{tick:015x}"
    return f"{stem[:8]}-{stem[8:12]}-7{stem[12:]}-{_VARIANT[digits[0]]}{digits[1:4]}-{digits[4:]}"


def uuid7s(count: int) -> list[str]:
    """That many new UUIDv7 in order, at about half the cost of asking for each."""
    if count < _WORTH_A_GULP:
        return [uuid7() for _ in range(count)]
    digits = os.urandom(_RANDOM_BYTES * count).hex()
    variant = _VARIANT
    made: list[str] = []
    at = 0
    for tick in _source.reserve(count):
        stem = f"{tick:015x}"
        middle = f"7{stem[12:]}-{variant[digits[at]]}{digits[at + 1 : at + 4]}"
        made.append(f"{stem[:8]}-{stem[8:12]}-{middle}-{digits[at + 4 : at + _DIGITS]}")
        at += _DIGITS
    return made
