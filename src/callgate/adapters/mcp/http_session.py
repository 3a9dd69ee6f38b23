"""How the requests of a session travel: plain ones over connections of our own, all others over the library's.

The library takes a dozen layers and turns of the loop for what is two messages, which is a good part of what a call
through the gate costs. What has to be proven and kept secret on the way is left to it. Imports the HTTP client.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from types import TracebackType

import httpx2

from callgate.adapters.mcp.http_bounds import BoundedStream, BoundedTransport, is_stream
from callgate.adapters.mcp.http_wire import Answer, Wire, connect

_AT_ONCE = 100
_AT_REST = 32
_RESTS_FOR = 4.0
"""Seconds a connection is kept for another request: fewer than after which usual servers close it."""
_OK = 200

Place = tuple[str, int]
Limits = dict[str, float | None]


class Wires:
    """Connections by where they lead: as few as are needed at once."""

    def __init__(self) -> None:
        self._resting: defaultdict[Place, list[Wire]] = defaultdict(list)
        self._busy: dict[Wire, Place] = {}
        self._room = asyncio.Semaphore(_AT_ONCE)
        self._over = False

    async def take(self, place: Place, limits: Limits) -> Wire:
        """One that nobody else uses until it is given back.

        Raises:
            httpx2.TransportError: There is none in time.
        """
        await self._wait(limits.get("pool"))
        try:
            wire = self._rested(place) or await connect(*place, patience=limits.get("connect"))
        except BaseException:
            self._room.release()
            raise
        self._busy[wire] = place
        if self._over:
            self.give(wire, read=False)
            raise httpx2.ConnectError("the session is over")
        return wire

    def give(self, wire: Wire, *, read: bool) -> None:
        """It is no longer used; where its answer was read to the end it may serve another request."""
        place = self._busy.pop(wire)
        self._room.release()
        resting = self._resting[place]
        if read and len(resting) < _AT_REST and wire.rest():
            resting.append(wire)
        else:
            wire.close()

    async def close(self) -> None:
        """Let go of all, for good."""
        self._over = True
        for wire in [*self._busy, *(each for some in self._resting.values() for each in some)]:
            wire.close()
        self._resting.clear()
        # The loop takes a turn to close what was closed.
        await asyncio.sleep(0)

    async def _wait(self, patience: float | None) -> None:
        if not self._room.locked():
            await self._room.acquire()
            return
        try:
            async with asyncio.timeout(patience):
                await self._room.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout(f"{_AT_ONCE} requests are under way already") from None

    def _rested(self, place: Place) -> Wire | None:
        resting, since = self._resting[place], asyncio.get_running_loop().time() - _RESTS_FOR
        while resting:
            wire = resting.pop()
            if wire.rests and wire.rested_at >= since:
                return wire
            wire.close()
        return None


class SessionTransport(BoundedTransport):
    """Answers of bounded size, over connections that are kept."""

    def __init__(self) -> None:
        super().__init__()
        self._wires = Wires()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.scheme != "http" or "transfer-encoding" in request.headers:
            return await super().handle_async_request(request)
        limits: Limits = request.extensions.get("timeout", {})
        said = _written(request, await request.aread())
        wire = await self._wires.take((request.url.raw_host.decode("ascii"), request.url.port or 80), limits)
        try:
            answer = await wire.ask(said, write=limits.get("write"), read=limits.get("read"))
        except BaseException:
            self._wires.give(wire, read=False)
            raise
        return await _response(answer, _Body(self._wires, wire, answer=answer, patience=limits.get("read")))

    async def aclose(self) -> None:
        await self._wires.close()
        await super().aclose()

    async def __aexit__(  # noqa: PLR0917 - as the client calls it, which does not call `aclose`
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self._wires.close()
        await super().__aexit__(exc_type, exc_value, traceback)


class _Body(httpx2.AsyncByteStream):
    """What follows the head of an answer; its connection is free once it was read, or closed."""

    def __init__(self, wires: Wires, wire: Wire, *, answer: Answer, patience: float | None) -> None:
        self._wires = wires
        self._wire = wire
        self._answer = answer
        self._patience = patience
        self._ended = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await self._wire.piece(self._answer, self._patience):
            yield piece
        self._end(read=True)

    async def aclose(self) -> None:
        self._end(read=False)

    def _end(self, *, read: bool) -> None:
        if not self._ended:
            self._ended = True
            self._wires.give(self._wire, read=read)


async def _response(answer: Answer, body: _Body) -> httpx2.Response:
    # Nothing compressed was asked for, and what unpacks to a thousand times its size is not unpacked.
    headers = httpx2.Headers([each for each in answer.headers if each[0].lower() != b"content-encoding"])
    if is_stream(headers):
        return httpx2.Response(answer.status, headers=headers, stream=body)
    bounded = BoundedStream(body)
    if answer.status != _OK or headers.get("content-type") != "application/json":
        return httpx2.Response(answer.status, headers=headers, stream=bounded)
    # What everybody waits for, at once; of all else the SDK may want to read nothing.
    try:
        whole = b"".join([piece async for piece in bounded])
    finally:
        await body.aclose()
    return httpx2.Response(_OK, headers=headers, content=whole)


def _written(request: httpx2.Request, body: bytes) -> bytes:
    """The request as it is sent.

    Raises:
        httpx2.LocalProtocolError: A header would be more than one.
    """
    lines = [b"%s %s HTTP/1.1" % (request.method.encode("ascii"), request.url.raw_path)]
    lines += [b"%s: %s" % header for header in request.headers.raw]
    head = b"\r\n".join(lines)
    breaks = len(lines) - 1
    if head.count(b"\r") != breaks or head.count(b"\n") != breaks or b"\0" in head:
        raise httpx2.LocalProtocolError("a header has a line break in it")
    return head + b"\r\n\r\n" + body
