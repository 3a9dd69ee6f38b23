"""Reading files that somebody else wrote: no links, no pipes, never more than allowed. Knows no content."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from callgate.errors import ConfigurationError

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Stamp(NamedTuple):
    """What a file looks like from outside; another stamp is another writing of it."""

    device: int
    inode: int
    size: int
    written: int
    """What its owner may set to any time."""
    changed: int
    """What only the system sets."""


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp in a status."""
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@contextmanager
def open_directory(path: Path) -> Generator[int]:
    """A handle of a directory that is none by a link.

    Raises:
        ConfigurationError: It is a link, or no directory.
        OSError: It cannot be opened.
    """
    try:
        handle = os.open(path, _FOLDER)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise ConfigurationError("is a link or no folder; put the folder itself there", file=str(path)) from None
        raise
    try:
        yield handle
    finally:
        os.close(handle)


def read_file(name: str, *, folder: int, at_most: int) -> tuple[bytes, Stamp]:
    """The content of a file in an open folder, and its stamp when it was read.

    Raises:
        ConfigurationError: It is a link, no ordinary file, or too large.
        OSError: It is not there, or cannot be read.
    """
    try:
        handle = os.open(name, _READ, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ConfigurationError("is a link; put the file itself there", file=name) from None
        raise
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigurationError("is no ordinary file", file=name)
        content = _read(handle, at_most + 1)
    finally:
        os.close(handle)
    if len(content) > at_most:
        raise ConfigurationError(f"is larger than {at_most} bytes", file=name)
    return content, stamp_of(status)


def _read(handle: int, at_most: int) -> bytes:
    parts: list[bytes] = []
    left = at_most
    while left > 0 and (part := os.read(handle, left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
