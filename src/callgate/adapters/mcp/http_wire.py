"""One plain HTTP connection to a server: a request goes out in one piece, and its answer is read as it comes.

Knows neither what is asked nor who asks. Imports the HTTP client, and the parser that `callgate serve` reads with.
"""

from __future__ import annotations

import asyncio
import select
import socket
from asyncio.staggered import staggered_race
from functools import partial
from typing import Any, cast

import httptools
import httpx2

_UNREAD_AT_MOST = 256 * 1024
_LARGEST_HEAD = 100 * 1024
_WITHOUT_BODY = frozenset({204, 304})
_FIRST_FINAL = 200
_NEXT_ADDRESS = 0.25
"""Seconds until the next address of a host is tried beside one that does not answer."""


class Answer:
    """An answer as it comes; the parser calls what is named `on_...`."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.headers: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.begun = False
        """Whether its head is complete."""
        self.done = False
        self.lets_go_on = False
        """Whether another may follow over the same connection."""
        self.pieces: list[bytes] = []
        """Of its body, until they are taken."""
        self.unread = 0
        """Bytes of them."""
        self._loose = 0
        """Bytes that came since, and are neither a whole head nor a piece of a body: the parser keeps them."""
        self._went_on = False

    def feed(self, data: bytes) -> None:
        """Take what came.

        Raises:
            httpx2.RemoteProtocolError: It is no answer.
        """
        self._went_on = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            raise httpx2.RemoteProtocolError(str(error)) from None
        self._loose = 0 if self._went_on else self._loose + len(data)
        if self._loose > _LARGEST_HEAD:
            raise httpx2.RemoteProtocolError("what stands around the answer is too large")

    def take(self) -> bytes:
        """What came of its body since."""
        found = b"".join(self.pieces)
        self.pieces.clear()
        self.unread = 0
        return found

    @property
    def ends_with_connection(self) -> bool:
        """Whether nothing else says where it ends."""
        told = {name.lower() for name, _ in self.headers}
        return self.begun and self.status not in _WITHOUT_BODY and not told & {b"content-length", b"transfer-encoding"}

    def on_message_begin(self) -> None:
        if self.done:
            raise ValueError("the server answers twice")
        self.headers, self.unread = [], 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.begun:
            return  # A trailer is no header: the answer was judged by its head already.
        self.unread += len(name) + len(value)
        if self.unread > _LARGEST_HEAD:
            raise ValueError("the head of the answer is too large")
        if name.lower() == b"transfer-encoding" and value.rstrip(b" ").lower() != b"chunked":
            # The parser takes what it does not know for an answer that ends with the connection.
            raise ValueError("the answer is in an encoding that nobody asked for")
        self.headers.append((name, value.strip(b" \t")))  # blanks around a value are none of it

    def on_headers_complete(self) -> None:
        self.status = self._parser.get_status_code()
        self.begun, self.unread = self.status >= _FIRST_FINAL, 0
        self._went_on = self.begun

    def on_body(self, body: bytes) -> None:
        self.pieces.append(body)
        self.unread += len(body)
        self._went_on = True

    def on_message_complete(self) -> None:
        self.done = self.begun
        self.lets_go_on = self.done and self._parser.should_keep_alive()


class Wire(asyncio.Protocol):  # noqa: PLR0904 - half of them are the protocol's
    """A connection, and the answer that comes over it; one request at a time."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._answer: Answer | None = None
        """What is waited for; None while nothing was asked."""
        self._over = False
        self._held = False
        """Whether more has come than is taken, and the server has to wait."""
        self._room: asyncio.Future[bool] | None = None
        self._news: asyncio.Future[bool] | None = None
        self._fault: Exception | None = None
        self.rested_at = 0.0
        """When its last answer had been read."""

    @property
    def rests(self) -> bool:
        """Whether it waits for another request."""
        return not self._over and self._answer is None and self._transport is not None and _is_quiet(self._transport)

    async def ask(self, request: bytes, *, write: float | None, read: float | None) -> Answer:
        """Send it, and wait for the head of the answer.

        Raises:
            httpx2.TransportError: The connection was lost, or what came is not HTTP.
        """
        if self._over or self._transport is None:
            raise httpx2.WriteError("the connection was closed")
        answer = self._answer = Answer()
        self._transport.write(request)
        if self._room is not None and not await self._heard(self._room, write):
            raise httpx2.WriteTimeout("the server does not read")
        while not answer.begun:
            await self._more(read)
        return answer

    async def piece(self, answer: Answer, patience: float | None) -> bytes:
        """More of the answer, as it comes; nothing when it is over.

        Raises:
            httpx2.TransportError: The connection was lost, or what came is not HTTP.
        """
        while not (answer.pieces or answer.done):
            await self._more(patience)
        if self._held and self._transport is not None and not self._over:
            self._held = False
            self._transport.resume_reading()
        return answer.take()

    def rest(self) -> bool:
        """The answer was read: be ready for another request; whether it can be."""
        if self._over or self._answer is None or not self._answer.lets_go_on:
            return False
        self._answer = None
        self.rested_at = self._loop.time()
        return True

    def close(self) -> None:
        """Let go; of an answer that is not whole by then, nobody knows how it ends."""
        self._over = True
        self._fault = self._fault or httpx2.ReadError("the connection was closed on this side")
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            self.close()  # Nobody asked, so whatever it says is the answer to nothing.
            return
        try:
            answer.feed(data)
        except httpx2.RemoteProtocolError as error:
            self._fault = error
            self.close()
        if answer.unread > _UNREAD_AT_MOST and self._transport is not None and not (self._held or self._over):
            self._held = True
            self._transport.pause_reading()
        _tell(self._news)

    def connection_lost(self, exc: Exception | None) -> None:
        self._over = True
        if exc is not None:
            self._fault = self._fault or httpx2.ReadError(str(exc))
        elif self._fault is None and self._answer is not None and self._answer.ends_with_connection:
            self._answer.done = True
        _tell(self._news)
        _tell(self._room)

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        _tell(self._room)
        self._room = None

    async def _more(self, patience: float | None) -> None:
        if self._over:
            raise self._fault or httpx2.RemoteProtocolError("the server disconnected before its answer was complete")
        self._news = self._loop.create_future()
        try:
            if not await self._heard(self._news, patience):
                raise httpx2.ReadTimeout("the server is silent")
        finally:
            self._news = None

    async def _heard(self, waiter: asyncio.Future[bool], patience: float | None) -> bool:
        timer = None if patience is None else self._loop.call_later(patience, _tell, waiter, False)  # noqa: FBT003 - by place
        try:
            return await waiter
        finally:
            if timer is not None:
                timer.cancel()


async def connect(host: str, port: int, *, patience: float | None) -> Wire:
    """A connection to the first address of the host that answers.

    Raises:
        httpx2.TransportError: None does.
    """
    try:
        async with asyncio.timeout(patience):
            return await _connect(host, port)
    except TimeoutError:
        raise httpx2.ConnectTimeout("the server does not answer") from None
    except OSError as error:
        raise httpx2.ConnectError(str(error)) from error


async def _connect(host: str, port: int) -> Wire:
    loop = asyncio.get_running_loop()
    places = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    answered: list[socket.socket] = []
    ways = [partial(_dial, place, answered) for place in places]
    try:
        found, _, faults = await staggered_race(ways, _NEXT_ADDRESS)
    except BaseException:
        # Who waits may be told to go in the very turn in which an address answers.
        for each in answered:
            each.close()
        raise
    if found is None:
        raise next((fault for fault in faults if fault is not None), OSError(f"{host} has no address"))
    _, wire = await loop.create_connection(Wire, sock=found)
    return wire


async def _dial(place: tuple[Any, ...], answered: list[socket.socket]) -> socket.socket:
    dialled = socket.socket(*place[:3])
    dialled.setblocking(False)  # noqa: FBT003 - its only way
    try:
        await asyncio.get_running_loop().sock_connect(dialled, place[4])
    except BaseException:
        dialled.close()
        raise
    answered.append(dialled)
    return dialled


def _is_quiet(transport: asyncio.Transport) -> bool:
    """Whether nothing came, not even its end, that the loop has had no turn to tell."""
    number = -1 if transport.is_closing() else transport.get_extra_info("socket").fileno()
    if number < 0:
        return False
    if not hasattr(select, "poll"):
        return not select.select([number], [], [], 0)[0]
    looking = select.poll()
    looking.register(number, select.POLLIN)
    return not looking.poll(0)


def _tell(waiter: asyncio.Future[bool] | None, in_time: bool = True) -> None:  # noqa: FBT001, FBT002 - a timer calls it
    if waiter is not None and not waiter.done():
        waiter.set_result(in_time)
