"""Unpacking: what a member of a zip file holds, in pieces that are bounded whatever the packed bytes say.

The standard library's reader gives some methods no bound: a few bytes would fill the memory before anybody counts.
"""

from __future__ import annotations

import bz2
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Protocol

from callgate.tools.archives.limits import MIB, Hostile
from callgate.tools.archives.pouring import CHUNK

_LARGEST_DICTIONARY = 64 * MIB
_LZMA_HEAD = struct.Struct("<2BHBL")
_LZMA_PROPERTIES = 5


class _Decompressor(Protocol):
    """What bz2 and lzma have, and zlib is given."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Deflated:
    """zlib, used as the others are."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        self._full = False

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._full

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        got = self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)
        # What fills the bound may be followed by more, though all that was packed is taken in.
        self._full = len(got) == max_length
        return got


def unpacked(file: BinaryIO, start: int, *, size: int, method: int) -> Iterator[bytes]:
    """What is in these packed bytes, piece by piece.

    Raises:
        Hostile: They cannot be unpacked.
    """
    packed = _pieces(file, start, size=size)
    if method == zipfile.ZIP_STORED:
        yield from packed
        return
    decompressor = _decompressor(method, packed)
    while not decompressor.eof:
        wants = decompressor.needs_input  # before it is given something: afterwards it may want what has not been read
        more = next(packed, b"") if wants else b""
        data = decompressor.decompress(more, CHUNK)
        if data:
            yield data
        elif wants and not more:
            return  # cut, or without a mark of its end: the size and the checksum tell


def _pieces(file: BinaryIO, start: int, *, size: int) -> Iterator[bytes]:
    at, end = start, start + size
    while at < end:
        file.seek(at)  # each time: others read the file as well
        data = file.read(min(CHUNK, end - at))
        if not data:
            raise EOFError
        at += len(data)
        yield data


def _decompressor(method: int, packed: Iterator[bytes]) -> _Decompressor:
    if method == zipfile.ZIP_DEFLATED:
        return _Deflated()
    if method == zipfile.ZIP_BZIP2:
        return bz2.BZ2Decompressor()
    return _Lzma(next(packed, b""))


class _Lzma:
    """lzma behind the head that zip gives it, which says how much memory it takes."""

    def __init__(self, first: bytes) -> None:
        _, _, length, levels, dictionary = _LZMA_HEAD.unpack_from(first)
        if length != _LZMA_PROPERTIES or dictionary > _LARGEST_DICTIONARY:
            raise Hostile(f"a member is packed with lzma in a way that takes more than {_LARGEST_DICTIONARY} bytes")
        rest, lc = divmod(levels, 9)
        pb, lp = divmod(rest, 5)
        options = {"id": lzma.FILTER_LZMA1, "dict_size": dictionary, "lc": lc, "lp": lp, "pb": pb}
        self._lzma = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=[options])
        self._first = first[_LZMA_HEAD.size :]

    @property
    def eof(self) -> bool:
        return self._lzma.eof

    @property
    def needs_input(self) -> bool:
        return self._lzma.needs_input and not self._first

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        first, self._first = self._first, b""
        return self._lzma.decompress(first + data, max_length)
