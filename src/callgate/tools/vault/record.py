"""Record: what is written down of a move in the folder of the notes, so that whoever comes after a crash finds it."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat

from callgate.tools.confined import Held, create, read_all, write_all
from callgate.tools.replacing import flush

NAME = ".callgate-move.json"
SET_ASIDE = ".callgate-move.unreadable.json"
UNFINISHED = ".callgate-move.unfinished.json"
_FRESH = ".callgate-move.new"
LARGEST = 64 * 1024 * 1024
"""Bytes; what would be larger is not written, since it would not be read."""
_PASSING = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EAGAIN,
        errno.EINTR,
        errno.ENOMEM,
        errno.EMFILE,
        errno.ENFILE,
        errno.EBUSY,
        errno.ETIMEDOUT,
        errno.ESTALE,
    }
)


def is_passing(error: OSError) -> bool:
    """Whether it may be otherwise in a moment: a disk that is full, a share that is away, too many open files."""
    return error.errno in _PASSING


class Record:
    """The one record of a folder. It is there as a whole or not at all."""

    def __init__(self, folder: Held) -> None:
        self._folder = folder

    def exists(self) -> bool:
        """Whether there is one."""
        return self._is_there(NAME)

    def is_begun(self) -> bool:
        """Whether one was begun, and does not count yet."""
        status = self._status(_FRESH)
        return status is not None and not stat.S_ISDIR(status.st_mode)

    def forget_begun(self) -> None:
        """Remove one that was begun."""
        if self.is_begun():
            os.unlink(_FRESH, dir_fd=self._folder.fd)
        elif self._is_there(_FRESH):  # a folder, which is none of ours
            self._set_aside(_FRESH, SET_ASIDE)

    def read(self) -> bytes:
        """What is in it; nothing where it is no file, or too large to be one of ours.

        Raises:
            OSError: It cannot be read now, and perhaps in a moment.
        """
        try:
            content = self._content()
        except OSError as error:
            if is_passing(error):
                raise
            return b""
        return content if len(content) <= LARGEST else b""

    def write(self, content: bytes) -> None:
        """Put it there, whole and on the disk when this returns."""
        self.forget_begun()
        fd = create(self._folder, _FRESH, mode=0o600)
        try:
            write_all(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
        self._rename(_FRESH, NAME)

    def set_aside(self, name: str = SET_ASIDE) -> str:
        """Keep one that is none of ours, or cannot be finished, for a person to look at; the name it gets."""
        return self._set_aside(NAME, name)

    def drop(self) -> None:
        """The move is over."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(NAME, dir_fd=self._folder.fd)
        flush(self._folder.fd)

    def _content(self) -> bytes:
        fd = os.open(NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=self._folder.fd)
        try:
            return read_all(fd, LARGEST + 1)
        finally:
            os.close(fd)

    def _set_aside(self, name: str, other: str) -> str:
        try:
            self._rename(name, other)
        except OSError:  # a folder has that name
            other = f"{other.removesuffix('.json')}-{secrets.token_hex(4)}.json"
            self._rename(name, other)
        return other

    def _is_there(self, name: str) -> bool:
        return self._status(name) is not None

    def _status(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._folder.fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def _rename(self, name: str, other: str) -> None:
        os.replace(name, other, src_dir_fd=self._folder.fd, dst_dir_fd=self._folder.fd)
        flush(self._folder.fd)
