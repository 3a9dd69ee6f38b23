"""Tar, plain or packed with gzip, bzip2 or xz: read from its beginning to its end, never further than it may grow."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
from collections.abc import Callable, Collection, Iterator
from typing import BinaryIO, cast

from callgate.tools.archives.limits import (
    LARGEST_TOTAL,
    MIB,
    MOST_ENTRIES,
    MOST_RATIO,
    Hostile,
    TooMuch,
    parsing,
)
from callgate.tools.archives.members import Member, member
from callgate.tools.archives.packed_streams import PackedStreams
from callgate.tools.archives.pax_headers import CheckedInfo
from callgate.tools.archives.pouring import CHUNK, Into

_BLOCK = tarfile.BLOCKSIZE
_FRAME = MOST_ENTRIES * 4 * _BLOCK
"""What headers and padding may take up besides the members."""
_LONGEST_HEADER = MIB
_MEMORY = 128 * MIB
"""What unpacking xz may take."""


class TarArchive:
    """A tar file whose every header was read."""

    def __init__(self, file: BinaryIO, size: int, *, packing: str) -> None:
        self._file = file
        self._packing = packing
        room = LARGEST_TOTAL if not packing else min(LARGEST_TOTAL, MOST_RATIO * size)
        self._room = room + _FRAME
        with parsing("the tar archive"):
            self.members = tuple(_member(info) for info, _ in self._walk())

    def pour(self, wanted: Collection[Member], into: Into) -> None:
        named = {each.raw: each for each in wanted}
        with parsing("the tar archive"):
            for info, tar in self._walk():
                each = named.get(info.name)
                if each is None or each.is_directory:
                    continue
                sink = into(each)
                source = cast("io.BufferedReader", tar.extractfile(info))
                while data := source.read(CHUNK):
                    sink.write(data)
                sink.end()

    def _walk(self) -> Iterator[tuple[tarfile.TarInfo, tarfile.TarFile]]:
        self._file.seek(0)
        stream = _Forward(_OPENERS[self._packing](self._file), self._room)
        source = cast("BinaryIO", stream)
        with tarfile.TarFile(fileobj=source, mode="r", errorlevel=2, tarinfo=CheckedInfo) as tar:
            number = 0
            while (info := tar.next()) is not None:
                number += 1
                if number > MOST_ENTRIES:
                    raise TooMuch(f"the tar archive has more than {MOST_ENTRIES} entries")
                yield info, tar
            stream.refuse_leftovers()


def _member(info: tarfile.TarInfo) -> Member:
    found = member(info.name, info.size, is_directory=info.isdir())
    if not (info.isdir() or info.isreg()) or info.issparse() or (info.isdir() and info.size):
        raise Hostile(f"member {found.name!r} is a link, a device or a file with holes")
    return found


class _Forward(io.RawIOBase):
    """A stream that is read onwards only, in bounded pieces, and only so far."""

    def __init__(self, source: BinaryIO, room: int) -> None:
        super().__init__()
        self._source = source
        self._room = room
        self._at = 0
        self._ahead = b""
        """What was looked at already, and is read next."""
        self._last = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        self._last = self.peek(size)
        self._ahead = self._ahead[size:]
        self._at += len(self._last)
        return self._last

    def peek(self, size: int) -> bytes:
        """So many bytes of what is read next, or fewer at the end."""
        if not 0 <= size <= _LONGEST_HEADER:
            raise Hostile("the tar archive has a header that is too long")
        pieces = [self._ahead]
        left = size - len(self._ahead)
        while left > 0 and (piece := self._source.read(left)):
            pieces.append(piece)
            left -= len(piece)
        self._ahead = b"".join(pieces)
        if self._at + len(self._ahead) > self._room:
            raise TooMuch(f"the tar archive grows to more than {self._room} bytes: a bomb")
        return self._ahead[:size]

    def seek(self, offset: int, whence: int = 0, /) -> int:
        if whence or offset < self._at:
            raise Hostile("the tar archive cannot be read from its beginning to its end")
        while self._at < offset and self.read(min(CHUNK, offset - self._at)):
            pass
        return self._at

    def tell(self) -> int:
        return self._at

    def refuse_leftovers(self) -> None:
        """Where the archive ends there are zeros to the end: anything else is a header that could not be read.

        Read to the end, what is packed shows whether it is whole.
        """
        while self._last:
            if self._last.strip(b"\0"):
                raise Hostile("the tar archive is broken in the middle")
            self.read(CHUNK)


def _unpacking_xz() -> lzma.LZMADecompressor:
    return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MEMORY)  # a file of the standard library has no such limit


_OPENERS: dict[str, Callable[[BinaryIO], BinaryIO]] = {
    "": lambda file: file,
    "gzip": lambda file: cast("BinaryIO", gzip.GzipFile(fileobj=file)),
    "bzip2": lambda file: cast("BinaryIO", PackedStreams(file, bz2.BZ2Decompressor)),
    "xz": lambda file: cast("BinaryIO", PackedStreams(file, _unpacking_xz)),
}
