"""A connection: the head of a request has a size and a time, before there is a request that the guard could look at."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from callgate.serve.problems import problem

_MOST_BYTES = 64 * 1024
_SECONDS = 10.0
_REFUSALS = {
    400: ("this is no request of HTTP", "invalid_request"),
    408: (f"the head of a request arrives within {_SECONDS:g} seconds", "too_slow"),
    431: (f"the address and the headers of a request have at most {_MOST_BYTES} bytes", "too_large"),
}


class _HeadTooLarge(Exception):
    """Ends the parsing of a request: nothing more of it is read."""


class Connection(HttpToolsProtocol):
    """uvicorn's connection, which by itself reads headers without end and waits for them for ever."""

    seconds = _SECONDS
    """How long the head of a request may take to arrive, and how long a new connection may say nothing."""
    _waiting: asyncio.TimerHandle | None = None
    _read = 0
    _fault = 400

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride] - uvicorn's
        """Somebody is there."""
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._end_of_head()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """A piece of a request, or of several."""
        self._read += len(data)
        super().data_received(data)
        if self._waiting is not None and self._read > _MOST_BYTES:
            # The parser gathers one endless header and tells nothing of it before its end.
            self._refuse(431)

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        super().on_message_begin()
        self._read = 0
        self._await_head()

    def on_headers_complete(self) -> None:
        """The last byte of a head."""
        self._end_of_head()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > _MOST_BYTES:
            self._fault = 431
            raise _HeadTooLarge
        super().on_headers_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser cannot go on with."""
        del msg  # the parser's words; ours say what to do
        self._refuse(self._fault)

    def _await_head(self) -> None:
        if self._waiting is None:
            self._waiting = self.loop.call_later(self.seconds, self._refuse, 408)

    def _end_of_head(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _refuse(self, status: int) -> None:
        """Say why, and hang up."""
        self._end_of_head()
        if self.transport.is_closing():
            return
        detail, code = _REFUSALS[status]
        answer = problem(status, detail, code=code, headers={"Connection": "close"})
        head = b"".join(b"%s: %s\r\n" % each for each in answer.raw_headers)
        self.transport.write(b"HTTP/1.1 %d Refused\r\n%s\r\n%s" % (status, head, answer.body))
        self.transport.close()
