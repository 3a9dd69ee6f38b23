"""A web server of the tests, on loopback, that answers what it is told and remembers who asked for what."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

Raw = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(slots=True)
class Site:
    """Its answers by path, without the query, and what was asked of it."""

    port: int = 0
    scheme: str = "http"
    answers: dict[str, bytes | Raw] = field(default_factory=dict[str, "bytes | Raw"])
    asked: list[Asked] = field(default_factory=list[Asked])

    def url(self, path: str) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}{path}"

    def targets(self) -> list[str]:
        return [asked.target for asked in self.asked]


def page(body: str | bytes, kind: str = "text/html; charset=utf-8", *, status: str = "200 OK", more: str = "") -> bytes:
    """A whole answer."""
    content = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(content)}\r\n{more}\r\n"
    return head.encode() + content


def redirect(location: str, status: str = "302 Found") -> bytes:
    """An answer that leads elsewhere."""
    return b"HTTP/1.1 %s\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n" % (status.encode(), location.encode("utf-8"))


class _Server:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.running: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.running.add(task)
        try:
            with suppress(OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError):
                await self._answer(reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.site.asked.append(Asked(method, target, headers, body))
        told = self.site.answers.get(target.partition("?")[0], page("not here", status="404 Not Found"))
        if isinstance(told, bytes):
            writer.write(told)
            await writer.drain()
        else:
            await told(writer)

    async def end(self) -> None:
        for task in self.running:
            task.cancel()
        await asyncio.gather(*self.running, return_exceptions=True)


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None) -> AsyncGenerator[Site]:
    """The site, while it is served; with a certificate, by https."""
    site = Site(scheme="https" if tls else "http")
    own = _Server(site)
    server = await asyncio.start_server(own.serve, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        await own.end()
        await server.wait_closed()
