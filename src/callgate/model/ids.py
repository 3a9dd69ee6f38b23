"""Identifiers: UUIDv7 text, so that sorting by id is sorting by creation, also within one millisecond."""

from __future__ import annotations

import os
import threading
import time

_RANDOM_BYTES = 10
_POOL = 4096


class _Source:
    """Random bytes drawn in large gulps (a system call per id would cost more than the id), never across a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._pool = b""
        self._at = 0
        self._last = 0

    def next(self) -> tuple[int, bytes]:
        """A tick (milliseconds and a 12-bit count within them) larger than any before it, and ten random bytes."""
        with self._lock:
            if self._at >= len(self._pool):
                self._pool = os.urandom(_POOL * _RANDOM_BYTES)
                self._at = 0
            chunk = self._pool[self._at : self._at + _RANDOM_BYTES]
            self._at += _RANDOM_BYTES
            tick = (time.time_ns() // 1_000_000) << 12
            self._last = tick if tick > self._last else self._last + 1
            return self._last, chunk

    def forget(self) -> None:
        """Drop the pool; called in a forked child, which would otherwise repeat its parent's ids."""
        self._lock = threading.Lock()
        self._reset()


_source = _Source()
os.register_at_fork(after_in_child=_source.forget)


def uuid7() -> str:
    """A new UUIDv7 in its usual text form; later ids of one process sort after earlier ones."""
    tick, chunk = _source.next()
    high = f"{tick >> 12:012x}"
    tail = chunk[2:].hex()
    return f"{high[:8]}-{high[8:]}-7{tick & 0xFFF:03x}-{(chunk[0] & 0x3F) | 0x80:02x}{chunk[1]:02x}-{tail[:12]}"
