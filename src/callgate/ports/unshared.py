"""Open files and lines that are this process's alone: no forked child keeps one. Knows nothing of locks.

A lock on a file lasts until everybody has closed it who has it open, forked children among them. In the same way who
listens at one end of a line hears that the other is gone.
"""

from __future__ import annotations

import os
import socket
import threading
import weakref
from contextlib import suppress
from pathlib import Path


class _Unshared:
    def __init__(self) -> None:
        self._handles: set[int] = set()
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        """Closed by whoever has them, as others are."""
        self._turn = threading.RLock()
        """A fork waits for it: nothing is half opened in a child. Also a signal handler may fork, amid anything."""

    def open(self, path: str | Path, flags: int, *, folder: int | None = None) -> int:
        with self._turn:
            handle = os.open(path, flags, 0o600, dir_fd=folder)
            self._handles.add(handle)
        return handle

    def pipe(self) -> tuple[int, int]:
        with self._turn:
            ends = os.pipe()
            self._handles.update(ends)
        return ends

    def local_socket(self) -> socket.socket:
        with self._turn:
            end = socket.socket(socket.AF_UNIX)
            self._sockets.add(end)
        return end

    def socketpair(self) -> tuple[socket.socket, socket.socket]:
        with self._turn:
            ends = socket.socketpair()
            self._sockets.update(ends)
        return ends

    def close(self, handle: int) -> None:
        with self._turn:
            if handle in self._handles:
                self._handles.remove(handle)
                os.close(handle)

    def before_fork(self) -> None:
        self._turn.acquire()

    def forked(self) -> None:
        self._turn.release()

    def in_child(self) -> None:  # pragma: no cover - in forked children, where nobody measures
        self._turn = threading.RLock()
        while self._handles:
            with suppress(OSError):
                os.close(self._handles.pop())
        for end in list(self._sockets):
            with suppress(OSError):
                end.close()


_files = _Unshared()
os.register_at_fork(before=_files.before_fork, after_in_parent=_files.forked, after_in_child=_files.in_child)


def open_unshared(path: str | Path, flags: int, *, folder: int | None = None) -> int:
    """Open a file until `close_unshared`; no forked child has it. One that is made is its owner's to read."""
    return _files.open(path, flags, folder=folder)


def pipe_unshared() -> tuple[int, int]:
    """The two ends of a pipe, to read and to write, each until `close_unshared`; no forked child has either."""
    return _files.pipe()


def socket_unshared() -> socket.socket:
    """A socket of this machine, until its owner closes it; no forked child has it."""
    return _files.local_socket()


def socketpair_unshared() -> tuple[socket.socket, socket.socket]:
    """The two ends of a line; no forked child has either."""
    return _files.socketpair()


def close_unshared(handle: int) -> None:
    """Close it. In a forked child it is closed already."""
    _files.close(handle)
