"""Copied: an archive as one call sees it, in a file without a name that nobody else can change.

Whoever may write the archive may do so while it is read: what was examined, what the digest was made of and what is
unpacked would be three different things.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import tempfile
from collections.abc import Callable, Generator
from typing import Any

from callgate.tools.archives.limits import LARGEST_ARCHIVE, Hostile
from callgate.tools.confined import Held, write_all

_CHUNK = 64 * 1024
DIGITS = 32
"""Of the digest, in hexadecimal."""


class Copied(io.BufferedReader):
    """The copy, open for reading, with the digest of its bytes."""

    def __init__(self, raw: _Watched, digest: str) -> None:
        super().__init__(raw, _CHUNK)
        self.digest = digest
        self.watch = raw.watch
        """Raises when the call is over."""


class Nested(io.BytesIO):
    """An archive that lies in another one, in memory; reading it ends with the call as well."""

    def __init__(self, data: bytes | bytearray, watch: Callable[[], None]) -> None:
        super().__init__(data)
        self.watch = watch

    def read(self, size: int | None = -1, /) -> bytes:
        self.watch()
        return super().read(size)


Source = Copied | Nested
"""What an archive is read from; both know whether anybody still waits."""


@contextlib.contextmanager
def copied(held: Held, watch: Callable[[], None]) -> Generator[Copied]:
    """Copy a file that is held, as far as it reached when it was opened.

    Raises:
        Hostile: It is larger than is taken, or became shorter.
    """
    size = held.status.st_size
    if size > LARGEST_ARCHIVE:
        raise Hostile(f"the archive is larger than {LARGEST_ARCHIVE} bytes")
    with tempfile.TemporaryFile(buffering=0) as own:
        seen = hashlib.sha256()
        at = 0
        while at < size:
            watch()
            piece = os.pread(held.fd, min(_CHUNK, size - at), at)
            if not piece:
                raise Hostile("the archive became shorter while it was read")
            write_all(own.fileno(), piece)
            seen.update(piece)
            at += len(piece)
        yield Copied(_Watched(own.fileno(), size=size, watch=watch), seen.hexdigest()[:DIGITS])


class _Watched(io.RawIOBase):
    """Reads a file by its handle. It has no name: what reads archives must not open it again by one."""

    def __init__(self, fd: int, *, size: int, watch: Callable[[], None]) -> None:
        super().__init__()
        self.watch = watch
        self._fd = fd
        self._size = size
        self._at = 0

    def fileno(self) -> int:
        return self._fd

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self.watch()
        data = os.pread(self._fd, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        if start + offset < 0:
            raise OSError(errno.EINVAL, "before the beginning of the file")
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at
