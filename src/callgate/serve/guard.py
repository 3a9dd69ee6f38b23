"""The guard: what every request passes before anybody looks at it. Host, origin, size, time; and headers out."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from callgate.serve.addresses import Addresses
from callgate.serve.problems import problem

_READS = frozenset({"GET", "HEAD", "OPTIONS"})
_OF_OURS = frozenset({"same-origin", "none"})
"""Values of `Sec-Fetch-Site`: from a page of ours, or typed by a person."""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class _Limits(NamedTuple):
    """How much of a request is read, and for how long."""

    size: int
    seconds: float

    @property
    def told(self) -> str:
        return f"a request has at most {self.size} bytes"


class _Broken(Exception):
    """A request that is not read to its end: too large, or too slow."""

    def __init__(self, status: int, text: str, *, code: str) -> None:
        super().__init__(text)
        self.answer = problem(status, text, code=code)


class Guard:
    """ASGI middleware around everything that is served.

    Args:
        app: What is guarded.
        addresses: Which hosts and origins are ours.
        body_bytes: The largest request that is read.
    """

    seconds = 30.0
    """How long a request may take to arrive, from its head on."""

    def __init__(self, app: ASGIApp, *, addresses: Addresses, body_bytes: int) -> None:
        self._app = app
        self._addresses = addresses
        self._limits = _Limits(body_bytes, self.seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: PLR0917 - ASGI's signature
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        passage = _Passage(receive, send, self._limits, measured=_has_body(headers))
        if refusal is not None:
            await problem(*refusal[:2], code=refusal[2])(scope, receive, passage.send_own)
            return
        with contextlib.suppress(_Broken):
            await self._app(scope, passage.receive, passage.send)
        if passage.broken is not None and not passage.started:
            # Whoever read the request may have taken its end for a fault of the sender's; it was ours.
            await passage.broken.answer(scope, receive, passage.send_own)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str, str] | None:
        # Of two names one reader takes the first and another the last: a request has one.
        hosts = [each.lower() for each in headers.getlist("host")]
        if len(hosts) != 1 or hosts[0] not in self._addresses.hosts:
            return 421, "this server is not called that; name it in serve.hosts to be answered", "unknown_host"
        if self._is_foreign(method, headers):
            return 403, "pages of other sites may not ask here", "foreign_origin"
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > self._limits.size:
            return 413, self._limits.told, "too_large"
        return None

    def _is_foreign(self, method: str, headers: Headers) -> bool:
        """Browsers name the page a request comes from. One of another site looks at nothing, and writes nothing."""
        origins = {each.lower() for each in headers.getlist("origin")}
        if origins:
            return not origins <= self._addresses.origins
        return method not in _READS and headers.get("sec-fetch-site", "none") not in _OF_OURS


class _Passage:
    """One request on its way in, as far and for as long as it is read, and its answer on the way out."""

    def __init__(self, receive: Receive, send: Send, limits: _Limits, *, measured: bool) -> None:  # noqa: PLR0917 - ASGI
        self._receive = receive
        self._send = send
        self._limits = limits
        self._read = 0
        self._complete = not measured
        self._until = asyncio.get_running_loop().time() + limits.seconds
        self.broken: _Broken | None = None
        self.started = False

    async def receive(self) -> Message:
        if self.broken is not None:
            raise self.broken
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                message = await self._receive()
        except TimeoutError:
            self.broken = _Broken(408, f"a request arrives within {self._limits.seconds:g} seconds", code="too_slow")
            raise self.broken from None
        self._read += len(message.get("body", b""))
        self._complete = not message.get("more_body", False)
        if self._read > self._limits.size:
            self.broken = _Broken(413, self._limits.told, code="too_large")
            raise self.broken
        return message

    async def send(self, message: Message) -> None:
        if self.broken is None or self.started:
            await self.send_own(message)

    async def send_own(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _has_body(headers: Headers) -> bool:
    return headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
