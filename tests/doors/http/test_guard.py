"""The guard and the connection before it: how much of a request is read, and for how long."""

import asyncio
import json
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

from callgate.serve.connection import Connection
from callgate.serve.guard import Guard
from tests.doors.http.conftest import Served

_SOON = 0.2
_WAIT = 20.0


@asynccontextmanager
async def _connected(served: Served):
    where = urlsplit(served.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    try:
        async with asyncio.timeout(_WAIT):
            yield reader, writer
    finally:
        writer.close()


def _head(served: Served, *lines: str, path: str = "/healthz", verb: str = "GET") -> bytes:
    host = urlsplit(served.url).netloc
    return "\r\n".join([f"{verb} {path} HTTP/1.1", f"Host: {host}", *lines, ""]).encode()


def _refused(answer: bytes) -> tuple[int, str]:
    """Status and code of an answer as it came over the wire."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["code"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 405), ({"Host": "evil.example"}, 421), ({"Origin": "null"}, 403), ({"X-Large": "yes"}, 413)],
    ids=["answered", "host", "origin", "size"],
)
async def test_every_answer_tells_browsers_to_keep_it_to_themselves(
    served: Served, headers: dict[str, str], status: int
):
    async with served.nobody() as client:
        body = b"x" * (1024 * 1024 + 1 if "X-Large" in headers else 1)
        answer = await client.post("/healthz", headers=headers, content=body)
    assert answer.status_code == status
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers


async def test_what_is_no_http_is_refused_and_the_server_lives(served: Served):
    async with _connected(served) as (reader, writer):
        writer.write(b"\x16\x03\x01 nothing of the kind\r\n\r\n")
        assert _refused(await reader.read()) == (400, "invalid_request")
    async with served.nobody() as client:
        assert (await client.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    "lines",
    [["X-A: " + "a" * 70_000], ["X-A: " + "a" * 1000] * 70, ["X-" + "a" * 70_000 + ": 1"]],
    ids=["one", "many", "name"],
)
async def test_headers_have_a_size(served: Served, lines: list[str]):
    async with _connected(served) as (reader, writer):
        writer.write(_head(served, *lines, "", ""))
        assert _refused(await reader.read()) == (431, "too_large")


async def test_an_address_has_a_size(served: Served):
    async with _connected(served) as (reader, writer):
        writer.write(_head(served, "", "", path="/healthz?" + "a" * 70_000))
        assert _refused(await reader.read()) == (431, "too_large")


async def test_a_header_without_end_is_cut_off(served: Served):
    async with _connected(served) as (reader, writer):
        writer.write(_head(served, "X-A: "))
        answer = asyncio.ensure_future(reader.readline())
        while not answer.done():
            writer.write(b"a" * 1000)
            await asyncio.sleep(0)
        assert b"431" in answer.result()


async def test_headers_of_a_later_request_have_a_size_too(served: Served):
    async with _connected(served) as (reader, writer):
        writer.write(_head(served, "", ""))
        assert b"200" in await reader.readline()
        writer.write(_head(served, "X-A: " + "a" * 70_000, "", ""))
        assert b"431" in await reader.read()


@pytest.mark.parametrize("said", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: a"])
async def test_a_head_that_does_not_come_is_not_waited_for(
    served: Served, monkeypatch: pytest.MonkeyPatch, said: bytes
):
    monkeypatch.setattr(Connection, "seconds", _SOON)
    async with _connected(served) as (reader, writer):
        writer.write(said)
        assert _refused(await reader.read()) == (408, "too_slow")


async def test_a_head_in_drops_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Connection, "seconds", _SOON)
    async with _connected(served) as (reader, writer):
        writer.write(_head(served))
        # The answer, and no more: a drop that comes after it is answered with a reset.
        answer = asyncio.ensure_future(reader.read(65_536))
        while not answer.done():
            writer.write(b"X-A: a\r\n")
            await asyncio.wait([answer], timeout=_SOON / 10)
        assert _refused(answer.result()) == (408, "too_slow")


async def test_a_body_in_drops_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Guard, "seconds", _SOON)
    async with Served.open() as served:
        _, token = await served.gate.admit_agent("crawler", by="operator")
        async with _connected(served) as (reader, writer):
            writer.write(
                _head(
                    served, f"Authorization: Bearer {token}", "Content-Length: 100000", "", "",
                    path="/api/v1/calls", verb="POST",
                )
            )  # fmt: skip
            answer = asyncio.ensure_future(reader.readline())
            while not answer.done():
                writer.write(b" ")
                await asyncio.wait([answer], timeout=_SOON / 10)
            assert b"408" in answer.result()


async def test_a_long_answer_is_not_cut_by_the_time_of_a_head(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Connection, "seconds", _SOON)
    async with await served.agent() as agent:
        asked = asyncio.create_task(
            agent.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 3}, "wait": 2})
        )
        found = await served.question()
        await served.gate.approve(found.id, by="ada")
        assert (await asked).status_code == 200


async def test_no_other_protocol_goes_past_the_guard(served: Served):
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="]
    async with _connected(served) as (reader, writer):
        writer.write(_head(served, *upgrade, "Origin: https://evil.example", "", "", path="/live"))
        assert b"403" in await reader.readline()
