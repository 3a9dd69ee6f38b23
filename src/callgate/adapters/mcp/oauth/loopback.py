"""A place on this machine that a person's browser is sent back to: one answer to one question, and nothing else.

Whatever comes with another state is turned away, and waiting goes on: any page in a browser can knock at a port.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from callgate.errors import SignInFailed
from callgate.model.visible import brief

PATH = "/callback"
_LARGEST_REQUEST = 16 * 1024
_PATIENCE = 10.0
_PAGE = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Callgate</title><body><p>{text}</p></body></html>'
_HEAD = (
    "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {length}\r\n"
    "cache-control: no-store\r\ncontent-security-policy: default-src 'none'\r\nreferrer-policy: no-referrer\r\n"
    "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
)
_DONE = ("200 OK", "You are signed in, or were told why not where you began. You can close this window.")
_STRANGE = ("400 Bad Request", "This is not the answer that is waited for here.")


@dataclass(frozen=True, slots=True, repr=False)
class Landing:
    """What a person came back with."""

    code: str
    state: str
    iss: str | None = None


class _Strange(Exception):
    """Nothing that was asked for."""


def read_landing(address: str, state: str) -> Landing:
    """What an address that a person was sent back to says.

    Raises:
        SignInFailed: The authorization server says no, or it is no answer to our question.
    """
    try:
        return _landing(address, state)
    except _Strange:
        raise SignInFailed("the answer is for another question than the one that was asked") from None


def _landing(address: str, state: str) -> Landing:
    query = parse_qs(urlsplit(address).query, keep_blank_values=True, max_num_fields=20)
    single = {name: values[0] for name, values in query.items() if len(values) == 1}
    if len(single) < len(query) or not hmac.compare_digest(single.get("state", "").encode(), state.encode()):
        raise _Strange
    if "error" in single:
        raise SignInFailed(f"the authorization server says no: {brief(single['error'])}")
    if not single.get("code"):
        raise _Strange
    return Landing(single["code"], state, single.get("iss"))


class Loopback:
    """Where a person is sent back to."""

    def __init__(self) -> None:
        self._landed: asyncio.Future[Landing] = asyncio.get_running_loop().create_future()
        self._state: str | None = None
        self._host = ""

    @property
    def redirect_uri(self) -> str:
        """What the authorization server is told."""
        return f"http://{self._host}{PATH}"

    def expect(self, state: str) -> None:
        """From now on the answer to this question is waited for."""
        self._state = state

    async def landed(self) -> Landing:
        """Wait for the answer.

        Raises:
            SignInFailed: The authorization server says no.
        """
        return await self._landed

    def at(self, port: int) -> None:
        """Where it listens."""
        self._host = f"127.0.0.1:{port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            async with asyncio.timeout(_PATIENCE):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status, text = self._judge(head)
                body = _PAGE.format(text=text).encode()
                writer.write(_HEAD.format(status=status, length=len(body)).encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, OSError):
            pass
        finally:
            writer.close()

    def _judge(self, head: str) -> tuple[str, str]:
        request, *lines = head.split("\r\n")
        hosts = [line.partition(":")[2].strip() for line in lines if line.lower().startswith("host:")]
        method, _, rest = request.partition(" ")
        address = rest.partition(" ")[0]
        # A name that leads here is another page's: only our own address is meant.
        fits = method == "GET" and hosts == [self._host] and address.partition("?")[0] == PATH
        if not fits or self._state is None or self._landed.done():
            return _STRANGE
        try:
            self._landed.set_result(_landing(address, self._state))
        except SignInFailed as refused:
            self._landed.set_exception(refused)
        except (_Strange, ValueError):
            return _STRANGE
        return _DONE


@asynccontextmanager
async def listening(port: int | None) -> AsyncGenerator[Loopback]:
    """Listen on this machine, at that port or any that is free.

    Raises:
        SignInFailed: Somebody else listens there.
    """
    place = Loopback()
    try:
        server = await asyncio.start_server(place.serve, "127.0.0.1", port or 0, limit=_LARGEST_REQUEST)
    except OSError as error:
        raise SignInFailed(f"port {port} of this machine cannot be listened on: {error.strerror}") from error
    place.at(server.sockets[0].getsockname()[1])
    try:
        yield place
    finally:
        server.close()
