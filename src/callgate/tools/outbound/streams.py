"""Streams: what comes over one connection, counted, in small pieces, and with a certain end. Knows no HTTP.

All bytes count, those that frame an answer or encrypt it too: a server that sends nothing but frames would otherwise
be read for as long as it likes. Between two pieces others have their turn, since taking one apart gives way to nobody.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import httpcore2
from anyio import BrokenResourceError, EndOfStream
from anyio.abc import ByteStream
from anyio.streams.tls import TLSAttribute, TLSStream

from callgate.tools.outbound.troubles import AnswerUnfit

_PIECE = 4096
"""Bytes: even of chunks of one byte each they are taken apart in some hundredths of a second."""
_FRAMED = 8
"""Bytes for each of the content: a chunk of one byte comes as six, one of five as ten, and as 32 if it is encrypted."""
_HEADS = 256 * 1024
"""Bytes on top: certificates, and headers of 100 KB, of answers before the last one too (103, Early Hints)."""


class CountedStream(httpcore2.AsyncNetworkStream):
    """A connection for one request."""

    def __init__(self, stream: httpcore2.AsyncNetworkStream, *, host: str) -> None:
        self._stream = stream
        self._host = host
        self._left = _HEADS
        self.torn = False
        """Whether an encrypted answer ended without its server saying so: anybody on the way can end it like that."""

    def held(self, content: int) -> None:
        """So many bytes of content were in what came: as much more may come as frames them."""
        self._left += _FRAMED * content

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        await asyncio.sleep(0)
        piece = await self._stream.read(min(max_bytes, _PIECE), timeout=timeout)
        self._left -= len(piece)
        if self._left < 0:
            raise AnswerUnfit(f"{self._host} sends far more around its answer than is in it; it was not read on")
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout=timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(  # noqa: PLR0917 - as its port has it
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - one time covers all of it, see `client`
    ) -> httpcore2.AsyncNetworkStream:
        try:
            secured = await TLSStream.wrap(_Encrypted(self), ssl_context=ssl_context, hostname=server_hostname)
        except (ssl.SSLError, BrokenResourceError, httpcore2.NetworkError) as error:
            await self.aclose()
            raise _refused(error) or httpcore2.ConnectError(str(error) or "it broke off") from error
        except BaseException:
            await self.aclose()
            raise
        return _DecryptedStream(self, secured)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _DecryptedStream(httpcore2.AsyncNetworkStream):
    """What is inside of an encrypted connection."""

    def __init__(self, counted: CountedStream, secured: TLSStream) -> None:
        self._counted = counted
        self._secured = secured

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - see `start_tls`
        await asyncio.sleep(0)
        try:
            return await self._secured.receive(min(max_bytes, _PIECE))
        except EndOfStream:
            return b""
        except (ssl.SSLError, BrokenResourceError) as error:
            if not isinstance(error.__cause__, ssl.SSLError):
                raise _refused(error) or httpcore2.ReadError(str(error) or "it broke off") from error
            self._counted.torn = True
            return b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - see `start_tls`
        try:
            await self._secured.send(buffer)
        except (ssl.SSLError, BrokenResourceError) as error:
            raise _refused(error) or httpcore2.WriteError(str(error) or "it broke off") from error

    async def aclose(self) -> None:
        # Without a word: the server would have to answer it, and need not.
        await self._counted.aclose()

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object":
            return self._secured.extra(TLSAttribute.ssl_object)  # noqa: S610 - no database is near
        return self._counted.get_extra_info(info)


class _Encrypted(ByteStream):
    """A counted stream, as that is called which encryption is put upon."""

    def __init__(self, counted: CountedStream) -> None:
        self._counted = counted

    async def receive(self, max_bytes: int = _PIECE) -> bytes:
        piece = await self._counted.read(max_bytes)
        if not piece:
            raise EndOfStream
        return piece

    async def send(self, item: bytes) -> None:
        await self._counted.write(item)

    async def send_eof(self) -> None:
        raise NotImplementedError

    async def aclose(self) -> None:
        await self._counted.aclose()


def _refused(error: Exception) -> AnswerUnfit | None:
    """Our own no, which reads like a broken connection to those in between."""
    return error.__cause__ if isinstance(error.__cause__, AnswerUnfit) else None
