"""The guard in front of every network door: foreign hosts and pages, large and slow requests."""

import asyncio
from urllib.parse import urlsplit

import pytest

from tests.doors.http.conftest import Served

_CALL = {"tool": "word_count", "arguments": {"text": "a b"}}


async def test_a_foreign_host_is_not_answered(served: Served):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls", json=_CALL, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.json()["code"]) == (421, "unknown_host")


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1"])
async def test_pages_of_other_sites_may_not_ask(served: Served, origin: str):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls", json=_CALL, headers={"Origin": origin})
        looked = await client.get("/healthz", headers={"Origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
    assert looked.status_code == 403


async def test_its_own_pages_may_ask(served: Served):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls", json=_CALL, headers={"Origin": served.url})
    assert answer.status_code == 200


async def test_too_large_a_request_is_not_read(served: Served):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls", content=b"x" * (1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_a_request_that_does_not_say_its_size_is_cut_off(served: Served):
    async def parts():
        for _ in range(20):
            yield b"x" * 100_000

    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls", content=parts())
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


async def test_every_answer_tells_browsers_to_keep_it_to_themselves(served: Served):
    async with served.nobody() as client:
        answer = await client.get("/healthz")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert "server" not in answer.headers


async def test_what_is_no_http_is_refused_and_the_server_lives(served: Served):
    where = urlsplit(served.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    writer.write(b"\x16\x03\x01 nothing of the kind\r\n\r\n")
    assert b"400" in await reader.read(200)
    writer.close()
    async with served.nobody() as client:
        assert (await client.get("/healthz")).status_code == 200
