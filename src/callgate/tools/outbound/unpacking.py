"""Unpacking: the bytes of a packed answer, as they come and within a bound, and whether its packing came to its end."""

from __future__ import annotations

import zlib
from typing import Protocol

CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
"""What is asked for and unpacked; anything else would be one more way to unpack a bomb."""
_GZIP = zlib.MAX_WBITS | 16
_BARE = -zlib.MAX_WBITS
_MEMBER = b"\x1f\x8b"
"""How a member of a gzip file begins."""
_MAGIC = 2
"""Bytes that tell what comes."""
_PIECE = 4096
"""Bytes at a time: what stands behind the end of a member is copied, and members can be as short as 20."""
_METHOD, _DEFLATED, _CHECKED_BY = 0x0F, 8, 31


class PackedWrongly(ValueError):
    """What came cannot be unpacked."""


class _Member(Protocol):
    """What `zlib` has for one of them, which it gives no public name."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class Unpacking:
    """One answer. A gzip body may be several members, one behind the other; what follows the last is no part of it."""

    def __init__(self, coding: str) -> None:
        self._gzip = coding != "deflate"
        self._member: _Member | None = None
        self._waiting = b""
        """Came already, and is too little to tell what it is."""
        self._begun = self._over = False

    @property
    def whole(self) -> bool:
        """Whether what came until now is all there is: packing says where it ends, and nothing at all is whole."""
        return self._member is None and not self._waiting

    def unpack(self, packed: bytes, room: int) -> bytes:
        """What the next bytes hold, and no more than `room`; whoever gets that much asks no further.

        Raises:
            PackedWrongly: They are not what they were said to be.
        """
        taken = bytearray()
        for at in range(0, len(packed), _PIECE):
            rest = packed[at : at + _PIECE]
            while rest and len(taken) < room:
                unpacked, rest = self._next(rest, room - len(taken))
                taken += unpacked
        return bytes(taken)

    def _next(self, packed: bytes, room: int) -> tuple[bytes, bytes]:
        """What one member has of these bytes, and those behind its end."""
        if self._member is None:
            packed = self._begin(packed)
        if self._member is None:
            return b"", b""
        try:
            unpacked = self._member.decompress(packed, room)
        except zlib.error as error:
            raise PackedWrongly(str(error)) from error
        if not self._member.eof:
            return unpacked, b""
        rest, self._member = self._member.unused_data, None
        return unpacked, rest

    def _begin(self, packed: bytes) -> bytes:
        """Begin a member, if these bytes do; gives all that it begins with."""
        packed, self._waiting = self._waiting + packed, b""
        if self._over:
            return b""
        if len(packed) < _MAGIC and (not self._begun or (self._gzip and _MEMBER.startswith(packed))):
            self._waiting = packed
            return b""
        if self._begun and not (self._gzip and packed.startswith(_MEMBER)):
            self._over = True  # zeros, or whatever else some servers put behind: browsers read over it
            return b""
        self._begun = True
        self._member = zlib.decompressobj(_GZIP if self._gzip else _bits_of(packed))
        return packed


def _bits_of(packed: bytes) -> int:
    """Of what is called deflate: with the head that the standard wants, or bare, as some servers send it."""
    first, second = packed[:_MAGIC]
    headed = first & _METHOD == _DEFLATED and not (first << 8 | second) % _CHECKED_BY
    return zlib.MAX_WBITS if headed else _BARE
