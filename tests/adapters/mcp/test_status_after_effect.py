"""Servers over HTTP that do a thing and answer with a status that says they did not: one key, one effect."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Refused, Unknown
from callgate.adapters.mcp import McpServer
from tests.adapters.mcp.authorization import issuing, protecting
from tests.adapters.mcp.processes import come, free_port, running_script
from tests.adapters.mcp.servers import FREE, READS, WRITES, gate_of, until_available, witnessed
from tests.adapters.mcp.signing_in import Person, at, kept_in

pytestmark = pytest.mark.slow

KEY = Context(session="s", idempotency_key="k")
MORE_RIGHTS = 'Bearer error="insufficient_scope", scope="notes:write"'
STATUSES = ["400 error", "400", "404 error", "404", "401", "401 Bearer", f"403 {MORE_RIGHTS}"]


@asynccontextmanager
async def attached(folder: Path, **declared: dict[str, Any]) -> AsyncGenerator[Callgate]:
    port = free_port()
    server = McpServer("srv", url=f"http://127.0.0.1:{port}/mcp", declare={**declared, "*": READS}, startup=20)
    with running_script("http_server.py", folder, port):
        await come(port)
        async with gate_of(config=FREE) as gate:
            assert (await gate.attach(server)).ok
            yield gate


@pytest.mark.parametrize("status", STATUSES)
async def test_an_effect_is_sent_once_and_stays_unknown(tmp_path: Path, status: str) -> None:
    async with attached(tmp_path, note_then=WRITES) as gate:
        first = await gate.call("srv.note_then", {"text": status}, KEY)
        assert isinstance(first, Unknown), first
        assert "may have happened" in first.to_human()
        await until_available(gate)
        again = await gate.call("srv.note_then", {"text": status}, KEY)
        assert isinstance(again, Refused)
        assert again.error is not None
        assert again.error.code == "outcome_unknown"
    assert witnessed(tmp_path, "notes") == [status]


@pytest.mark.parametrize("declared", [READS, {**WRITES, "idempotent": True}], ids=["a read", "twice is once"])
async def test_what_may_be_sent_twice_is_sent_again_in_a_new_session(tmp_path: Path, declared: dict[str, Any]) -> None:
    async with attached(tmp_path, read_then=declared) as gate:
        assert not (await gate.call("srv.read_then", {"text": "400 error"}, KEY)).ok
        await until_available(gate)
        assert (await gate.call("srv.echo", {"text": "still here"})).ok
    assert len(witnessed(tmp_path, "notes")) > 1


async def test_a_signed_in_effect_is_not_sent_again_with_a_new_token(tmp_path: Path) -> None:
    with issuing() as (issuer, _), protecting(issuer) as server:
        async with gate_of(config=kept_in(tmp_path)) as gate:
            await gate.attach(at(server, Person()))
            server.front.takes_back = "pay"
            assert isinstance(await gate.call("srv.note", {"text": "pay"}, KEY), Unknown)
            await until_available(gate)
            assert isinstance(await gate.call("srv.note", {"text": "pay"}, KEY), Refused)
            assert (await gate.call("srv.note", {"text": "another"})).ok
    assert server.notes == ["pay", "another"]


async def test_a_signed_in_read_is_sent_once_more_with_a_new_token_and_then_given_up(tmp_path: Path) -> None:
    with issuing() as (issuer, front), protecting(issuer) as server:
        async with gate_of(config=kept_in(tmp_path)) as gate:
            await gate.attach(at(server, Person(), declare={"*": READS}))
            server.front.takes_back = "look"
            outcome = await gate.call("srv.note", {"text": "look"})
            assert "does not take a sign-in that was renewed a moment ago" in outcome.to_human()
    assert server.notes == ["look", "look"]
    assert [asked.form.get("grant_type") for asked in front.seen if asked.path == "/token"][1:2] == ["refresh_token"]
