"""A server without a network: it gives what it has as fast as it is read, and remembers how it was."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import httpcore2

Pieces = Callable[[], Iterable[bytes]]


@dataclass(slots=True, kw_only=True)
class Feed:
    """A connector to it, whatever the address."""

    pieces: Pieces
    """What is sent over one connection."""
    tls: ssl.SSLContext | None = None
    """What it is encrypted with: each piece by itself."""
    says_end: bool = True
    """Whether what is encrypted ends as it should, with a word of the server."""
    note: Callable[[], object] = lambda: None
    given: list[int] = field(default_factory=list[int])
    """Bytes, with each reading."""
    noted: list[object] = field(default_factory=list[object])
    """What `note` said at each reading."""

    async def connect(self, address: str, port: int, *, timeout: float) -> httpcore2.AsyncNetworkStream:
        return FedStream(self)


class FedStream(httpcore2.AsyncNetworkStream):
    """One connection. None of its methods ever waits."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._pieces: Iterator[bytes] = iter(feed.pieces())
        self._came, self._sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = feed.tls.wrap_bio(self._came, self._sent, server_side=True) if feed.tls else None

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if not self._sent.pending:
            self._send_on()
        given = self._sent.read(max_bytes)
        self._feed.given.append(len(given))
        self._feed.noted.append(self._feed.note())
        return given

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._came.write(buffer)
        if self._tls is not None:
            with suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()

    async def aclose(self) -> None:
        self._pieces = iter(())

    def _send_on(self) -> None:
        piece = next(self._pieces, None)
        if self._tls is None:
            self._sent.write(piece or b"")
        elif piece is not None:
            self._tls.write(piece)
        elif self._feed.says_end:
            with suppress(ssl.SSLError):
                self._tls.unwrap()
