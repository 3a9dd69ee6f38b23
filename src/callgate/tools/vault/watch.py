"""Watch: whether nothing changed in some directories since each of them was looked at. Knows nothing of notes.

Where the system tells of changes (inotify, on Linux), nobody has to look at thousands of files to learn that none of
them changed. It does not tell what another machine does on a shared disk, so its word counts for two seconds only.
Where it does not tell, nothing is ever quiet.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import time
import weakref
from functools import lru_cache
from typing import Any

_COUNTS_FOR = 2.0
"""Seconds."""
_MOST = 5000
"""Directories; the system lends only so many watches to a user."""
# Written to, closed after writing, attributes, moved, made, deleted, and the directory itself; links not followed.
_CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x01000000
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC


class Watch:
    """Told of directories one after the other, each before it is looked at."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._process = os.getpid()
        self._left = _MOST
        self._fd = _begin()
        self._close = weakref.finalize(self, os.close, self._fd) if self._fd >= 0 else None

    def add(self, fd: int) -> None:
        """Watch an open directory."""
        self._left -= 1
        if not self._close or not self._close.alive:
            return
        if self._left < 0 or _system().inotify_add_watch(self._fd, b"/proc/self/fd/%d" % fd, _CHANGES) < 0:
            self._close()  # all of them, or it would be quiet while something changes

    def is_quiet(self) -> bool:
        """Whether nothing changed in any of them. Once it says no, it always does."""
        if not self._close or not self._close.alive or os.getpid() != self._process:
            return False
        if time.monotonic() - self._begun > _COUNTS_FOR or _was_told(self._fd):
            self._close()
            return False
        return True


def _was_told(fd: int) -> bool:
    with contextlib.suppress(BlockingIOError):
        os.read(fd, 4096)
        return True
    return False


def _begin() -> int:
    try:
        return _system().inotify_init1(_FLAGS)
    except (OSError, AttributeError):  # pragma: no cover - not Linux
        return -1


@lru_cache(maxsize=1)
def _system() -> Any:
    return ctypes.CDLL(None)
