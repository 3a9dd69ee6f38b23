"""What is not ours, too large or too slow is refused at every network door, and nothing is done: a witness says so."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode, urlsplit

import httpx2
import pytest

from callgate import Callgate, Context, Pending
from callgate.model.approval import ApprovalState
from callgate.model.levels import Autonomy
from callgate.serve.guard import Guard
from callgate.settings.values import ServeSettings, Settings
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import begin

DOORS = ("api", "mcp", "console")
_LARGE = 64 * 1024
_WAIT = 60.0


@dataclass
class Door:
    """One request that does something, and the witness that says whether it was done."""

    where: str
    """The name under which it is meant to come."""
    path: str
    headers: dict[str, str]
    body: bytes
    done: Callable[[], Awaitable[bool]]
    url: str
    """Our own page."""

    def head(self, *lines: str, host: str | None, length: int | None = None) -> bytes:
        """The request as it goes over the wire, up to its body."""
        named = [] if host is None else [f"Host: {host}"]
        size = [] if length is None else [f"Content-Length: {length}"]
        own = [f"{name}: {value}" for name, value in self.headers.items()] + ["Connection: close"]
        return "\r\n".join([f"POST {self.path} HTTP/1.1", *named, *own, *size, *lines, "", ""]).encode()

    async def send(self, *lines: str, host: str | None = "", body: bytes | None = None) -> int:
        """Make the request, with these lines besides; the status it is answered with."""
        shown = self.body if body is None else body
        return await self.raw(self.head(*lines, host=self.where if host == "" else host, length=len(shown)) + shown)

    async def raw(self, sent: bytes) -> int:
        """Send this; the status it is answered with."""
        port = self.where.rpartition(":")[2]
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        try:
            async with asyncio.timeout(_WAIT):
                writer.write(sent)
                status = int((await reader.readline()).split()[1])
                if status == HTTPStatus.OK:
                    await reader.read()  # over MCP it has begun only
                return status
        finally:
            writer.close()


async def _api(served: Served) -> Door:
    _, token = await served.gate.admit_agent("crawler", by="operator")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"tool": "pay", "arguments": {"amount": 5}}).encode()
    return Door(urlsplit(served.url).netloc, "/api/v1/calls", headers, body, _paid(served), served.url)


async def _mcp(served: Served) -> Door:
    _, token = await served.gate.admit_agent("crawler", by="operator")
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    async with httpx2.AsyncClient(base_url=served.url, headers=headers, trust_env=False, timeout=60) as client:
        headers |= await begin(client)
    params = {"name": "pay", "arguments": {"amount": 5}}
    body = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}).encode()
    return Door(urlsplit(served.url).netloc, "/mcp", headers, body, _paid(served), served.url)


async def _console(served: Served) -> Door:
    gate = served.gate
    asked = await gate.call("pay", {"amount": 5}, Context(principal="crawler", autonomy=Autonomy.A1))
    assert isinstance(asked, Pending)
    which = asked.approval_id
    person, _ = await gate.admit_person("ada", by="operator")
    cookie = await gate.enter_by_link(await gate.sign_in_link(person.id))
    visit = await gate.visit(cookie or "")
    assert visit is not None
    seen = (await gate.approval(which)).digest
    headers = {"Cookie": f"callgate_visit={cookie}", "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode({"stamp": visit.stamp, "answer": "approve", "seen": seen}).encode()

    async def approved() -> bool:
        return (await gate.approval(which)).state is ApprovalState.APPROVED

    return Door(urlsplit(served.console).netloc, f"/approvals/{which}", headers, body, approved, served.console)


def _paid(served: Served) -> Callable[[], Awaitable[bool]]:
    async def paid() -> bool:
        return served.paid != []

    return paid


@asynccontextmanager
async def _opened(kind: str) -> AsyncGenerator[Door]:
    """One door of a gate that pays at once; at the console a question of somebody who may not."""
    gate = Callgate.open("memory://", config=Settings(autonomy=Autonomy.A4))
    async with served_gate(gate, ServeSettings(port=0, body_bytes=_LARGE)) as served:
        yield await {"api": _api, "mcp": _mcp, "console": _console}[kind](served)


@pytest.fixture(params=DOORS)
async def door(request: pytest.FixtureRequest):
    async with _opened(request.param) as found:
        yield found


@pytest.mark.parametrize("how", ["a program", "its own page", "a page of a browser that names no origin"])
async def test_what_comes_as_it_should_is_done(door: Door, how: str):
    """So that every other test here can fail."""
    lines = {"its own page": [f"Origin: {door.url}"], "a program": []}.get(how, ["Sec-Fetch-Site: same-origin"])
    assert await door.send(*lines) in {200, 303}
    assert await door.done()


@pytest.mark.parametrize(
    "line",
    [
        "Origin: https://evil.example",
        "Origin: null",
        "Origin: http://127.0.0.1",
        "Origin: http://127.0.0.1:1",
        "Origin: http://localhost:3000",
        "Origin: http://evil.localhost:3000",
        "Origin: ",
        "Sec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: same-site",
    ],
)
async def test_pages_of_others_do_nothing(door: Door, line: str):
    assert await door.send(line) == 403
    assert not await door.done()


@pytest.mark.parametrize(
    "host", ["evil.example", "NAME:1", "evil.example:PORT", "127.0.0.1", "NAME.evil.example:PORT", None]
)
async def test_under_a_foreign_name_nothing_is_done(door: Door, host: str | None):
    name, _, port = door.where.rpartition(":")
    shown = None if host is None else host.replace("NAME", name).replace("PORT", port)
    assert await door.send(host=shown) == 421
    assert not await door.done()


async def test_two_names_at_once_do_nothing(door: Door):
    for hosts in ((door.where, "evil.example"), ("evil.example", door.where)):
        assert await door.send(*[f"Host: {each}" for each in hosts], host=None) == 421
    assert not await door.done()


async def test_two_pages_at_once_do_nothing(door: Door):
    for origins in ((door.url, "https://evil.example"), ("https://evil.example", door.url)):
        assert await door.send(*[f"Origin: {each}" for each in origins]) == 403
    assert not await door.done()


async def test_the_console_takes_nothing_under_the_name_of_the_api():
    async with _opened("console") as door:
        port = door.where.rpartition(":")[2]
        for name in ("127.0.0.1", "localhost", "[::1]"):
            assert await door.send(host=f"{name}:{port}") == 421
        assert not await door.done()


def _padded(door: Door, size: int) -> bytes:
    """The same request, and as valid, with so many bytes more."""
    return door.body + (b"&more=" + b"x" * size if door.body.startswith(b"stamp") else b" " * size)


async def test_a_request_that_is_too_large_does_nothing(door: Door):
    assert await door.send(body=_padded(door, _LARGE)) == 413
    assert not await door.done()
    assert await door.send(body=_padded(door, 100)) in {200, 303}
    assert await door.done()


async def test_a_request_that_does_not_say_how_large_it_is_does_nothing(door: Door):
    parts = _padded(door, _LARGE)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in (parts[:100], parts[100:]))
    head = door.head("Transfer-Encoding: chunked", host=door.where)
    assert await door.raw(head + chunks + b"0\r\n\r\n") == 413
    assert not await door.done()


async def test_a_request_with_too_large_a_head_does_nothing(door: Door):
    assert await door.send("X-A: " + "a" * 70_000) == 431
    assert not await door.done()


@pytest.mark.parametrize("length", ["-1", "+5", "5_0", "x", "\u0665"])
async def test_a_size_that_is_none_does_nothing(door: Door, length: str):
    head = door.head(f"Content-Length: {length}", host=door.where)
    assert await door.raw(head + door.body) in {400, 413}
    assert not await door.done()


@pytest.mark.parametrize("kind", DOORS)
async def test_a_request_that_does_not_come_to_its_end_does_nothing(kind: str, monkeypatch: pytest.MonkeyPatch):
    async with _opened(kind) as ready:
        assert await ready.send() in {200, 303}
    monkeypatch.setattr(Guard, "seconds", 0.2)
    async with _opened(kind) as door:
        head = door.head(host=door.where, length=len(door.body) + 1)
        assert await door.raw(head + door.body) == 408
        assert not await door.done()


@pytest.mark.parametrize("path", ["/healthz", "/sign-in", "/api/v1/tools", "/mcp"])
async def test_pages_of_others_look_at_nothing(served: Served, path: str):
    async with await served.agent() as client:
        for origin in ("https://evil.example", "null"):
            answer = await client.get(path, headers={"Origin": origin})
            assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
            assert "access-control-allow-origin" not in answer.headers
