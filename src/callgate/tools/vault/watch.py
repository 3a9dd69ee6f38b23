"""Watch: what changed in some directories since each of them was looked at, but for hidden names. Knows no notes.

Where the system tells of changes (inotify, on Linux), nobody has to look at thousands of files to learn which of them
changed. It does not tell what another machine does on a shared disk, so on a file system that is not known to be this
machine's own its word counts for two seconds only. Where it does not tell, nobody knows what changed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from callgate.tools.confined import Held

_COUNTS_FOR = 2.0
"""Seconds, where another machine may change something."""
_MOST = 5000
"""Directories; the system lends only so many watches to a user."""
_OWN = frozenset(
    {
        0xEF53,  # ext2 to ext4
        0x58465342,  # xfs
        0x9123683E,  # btrfs
        0xF2F52010,  # f2fs
        0x2FC12FC1,  # zfs
        0xCA451A4E,  # bcachefs
        0x01021994,  # tmpfs
        0x794C7630,  # overlay
    }
)
"""Kinds of file systems that only this machine changes."""
# Written to, closed after writing, attributes, moved, made, deleted, and the directory itself; links not followed.
_CHANGES = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x01000000
_UNMOUNTED, _TOO_MANY, _NO_LONGER, _OF_DIRECTORY = 0x2000, 0x4000, 0x8000, 0x40000000
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_HEAD = struct.Struct("iIII")
_AT_ONCE = 1 << 16
_HIDDEN = b"."
"""How names begin that nobody asks for: every file that takes the place of another has had one, and is told by it."""


@dataclass(frozen=True, slots=True)
class Told:
    """What may have changed: paths from the topmost directory."""

    files: set[str] = field(default_factory=set[str])
    directories: set[str] = field(default_factory=set[str])
    """With all that lies in them."""


class Watch:
    """Told of directories one after the other, each before it is looked at; the topmost first."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._process = os.getpid()
        self._prefixes: dict[int, str] = {}
        self._devices: dict[int, bool] = {}
        self._fd = _begin()
        self._close = weakref.finalize(self, os.close, self._fd) if self._fd >= 0 else None

    def add(self, directory: Held, prefix: str) -> None:
        """Watch an open directory, in which paths begin so: with a slash at the end, or empty for the topmost."""
        if not self._close or not self._close.alive:
            return
        device = directory.status.st_dev
        if device not in self._devices:
            self._devices[device] = _is_own(directory.fd)
        number = _system().inotify_add_watch(self._fd, b"/proc/self/fd/%d" % directory.fd, _CHANGES)
        # All of them, each by one way: else it would tell nothing while something changes.
        if number < 0 or len(self._prefixes) >= _MOST or self._prefixes.get(number, prefix) != prefix:
            self.close()
            return
        self._prefixes[number] = prefix

    def forget(self, prefix: str) -> None:
        """Watch no more what lies below."""
        for number in [number for number, known in self._prefixes.items() if known.startswith(prefix)]:
            del self._prefixes[number]
            _system().inotify_rm_watch(self._fd, number)

    def told(self) -> Told | None:
        """What may have changed since the last time; None where nobody knows. Once it says so, it always does."""
        if not self._close or not self._close.alive or os.getpid() != self._process:
            return None
        found = Told()
        late = not all(self._devices.values()) and time.monotonic() - self._begun > _COUNTS_FOR
        if late or not all(self._take(found, *event) for event in _events(self._fd)):
            self.close()
            return None
        return found

    def close(self) -> None:
        """Watch nothing any more."""
        if self._close:
            self._close()

    def _take(self, found: Told, number: int, changes: int, name: str) -> bool:  # noqa: PLR0917 - one event
        """Whether it is still known what changed."""
        prefix = self._prefixes.get(number)
        if changes & (_UNMOUNTED | _TOO_MANY) or (prefix == "" and not name):
            return False
        if prefix is None:
            return True  # it was watched once
        if not name:
            found.directories.add(prefix[:-1])
        elif changes & _OF_DIRECTORY:
            found.directories.add(prefix + name)
        else:
            found.files.add(prefix + name)
        if changes & _NO_LONGER:
            del self._prefixes[number]
        return True


def _events(fd: int) -> Iterator[tuple[int, int, str]]:
    """Which watch, what happened, and the name it happened to."""
    with contextlib.suppress(BlockingIOError):
        while data := os.read(fd, _AT_ONCE):
            yield from _parsed(data)


def _parsed(data: bytes) -> Iterator[tuple[int, int, str]]:
    at = 0
    while at < len(data):
        number, changes, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = data[at : at + length].rstrip(b"\0")
        at += length
        if not name.startswith(_HIDDEN):
            yield number, changes, os.fsdecode(name)


def _is_own(fd: int) -> bool:
    told = ctypes.create_string_buffer(256)  # more than the system has to say
    if _system().fstatfs(fd, told) < 0:
        return False
    return ctypes.c_ulong.from_buffer(told).value in _OWN


def _begin() -> int:
    try:
        return _system().inotify_init1(_FLAGS)
    except (OSError, AttributeError):  # pragma: no cover - not Linux
        return -1


@lru_cache(maxsize=1)
def _system() -> Any:
    return ctypes.CDLL(None)
