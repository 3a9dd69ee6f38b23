"""Packed streams: one behind the other in a file, as `cat` joins files, unpacked as the whole that they are.

Zeros may lie between them and behind them, and nothing else. The readers of the standard library take what they cannot
read behind the first stream for nothing, and so a stream that is broken there as well.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import BinaryIO, Protocol

_CHUNK = 64 * 1024
"""Read at a time; what lies behind the end of a small stream is copied for each of them."""


class Unpacking(Protocol):
    """Unpacks one stream, as `lzma.LZMADecompressor` and `bz2.BZ2Decompressor` do."""

    @property
    def eof(self) -> bool:
        """Whether its end was read."""
        ...

    @property
    def needs_input(self) -> bool:
        """Whether nothing comes of it before it is given more."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What was read behind its end."""
        ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """What comes of these bytes; the rest of it waits for the next time."""
        ...


class PackedStreams(io.RawIOBase):
    """What the streams of a file hold.

    Args:
        file: Where they lie.
        begin: What unpacks one of them.
    """

    def __init__(self, file: BinaryIO, begin: Callable[[], Unpacking]) -> None:
        super().__init__()
        self._file = file
        self._begin = begin
        self._unpacking = begin()
        self._next = b""
        """The beginning of the next stream, which was read behind the end of the last."""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        while not self._unpacking.eof or self._another():
            packed = b""
            if self._unpacking.needs_input:
                packed, self._next = self._next or self._file.read(_CHUNK), b""
                if not packed:
                    raise EOFError
            if data := self._unpacking.decompress(packed, max_length=size):
                return data
        return b""

    def _another(self) -> bool:
        """Turn to the next stream, if there is one."""
        behind = self._unpacking.unused_data.lstrip(b"\0")
        while not behind:
            packed = self._file.read(_CHUNK)
            if not packed:
                return False
            behind = packed.lstrip(b"\0")
        self._unpacking, self._next = self._begin(), behind
        return True
