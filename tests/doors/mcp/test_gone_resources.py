"""Resources that a server does not tell of any more: nobody else is kept from hearing, and nothing counts as told."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.server.subscriptions import ResourceUpdated

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import client_of
from tests.doors.mcp.everything_server import Everything, at_free_port, everything_server
from tests.doors.mcp.test_modern_upstream import URIS, Hearer, Modern

ALL = {"*": {"effects": ["read_only", "network_access"]}}
OPEN, OTHER = "test://open", "test://other"
_UPDATED = "ResourceUpdatedNotification"
_FIRST_ALONE = """\
version: 1
global:
  rules:
    - match: "modern.resources/read"
      when: 'args.resource == "%s" && context.principal != "first"'
      verdict: deny
      why: "not everybody's"
"""


@asynccontextmanager
async def _modern(folder: Path) -> AsyncGenerator[tuple[Modern, Served]]:
    """A server of 2026-07-28, whose first resource only the first agent may read."""
    config = folder / "callgate.yaml"
    config.write_text(_FIRST_ALONE % URIS[0])
    server = Modern()
    async with (
        at_free_port(server.streamable_http_app()) as url,
        served_gate(Callgate.open("memory://", config=str(config))) as served,
    ):
        await served.gate.attach(McpServer("modern", url=f"{url}/mcp", declare=ALL))
        yield server, served


@asynccontextmanager
async def _legacy() -> AsyncGenerator[tuple[Everything, Served]]:
    async with everything_server() as (server, url), served_gate(Callgate.open("memory://")) as served:
        await served.gate.attach(McpServer("everything", url=url, declare=ALL))
        yield server, served


def _at(served: Served, name: str, source: str, **choices: Any) -> Any:
    return client_of(served, path=f"/mcp/{source}", name=name, mode="legacy", **choices)


async def _subscribe(client: Client, uri: str) -> None:
    request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
    await client.session.send_request(request, types.EmptyResult)


async def test_what_one_agent_follows_and_is_gone_keeps_no_other_from_hearing(tmp_path: Path):
    mine, theirs = Hearer(), Hearer()
    async with (
        _modern(tmp_path) as (server, served),
        _at(served, "first", "modern", message_handler=mine) as first,
        _at(served, "second", "modern", message_handler=theirs) as second,
    ):
        with pytest.raises(MCPError, match="not everybody's"):
            await _subscribe(second, URIS[0])
        await _subscribe(first, URIS[0])
        server.gone.add(URIS[0])
        await _subscribe(second, URIS[1])
        await server.until({URIS[1]})
        # Who followed what is gone looks at it once more.
        assert await mine.next() == (_UPDATED, URIS[0])
        await server.bus.publish(ResourceUpdated(uri=URIS[1]))
        assert await theirs.next() == (_UPDATED, URIS[1])
        assert theirs.heard.empty()


async def test_what_is_gone_is_told_to_who_asks_for_it_and_the_others_are_followed_on(tmp_path: Path):
    async with (
        _modern(tmp_path) as (server, served),
        _at(served, "first", "modern") as first,
        _at(served, "second", "modern") as second,
    ):
        await _subscribe(second, URIS[1])
        server.gone.add(URIS[0])
        with pytest.raises(MCPError, match=f"does not tell of changes of '{URIS[0]}'"):
            await _subscribe(first, URIS[0])
        await server.until({URIS[1]})
        server.gone.clear()
        await _subscribe(first, URIS[0])
        await server.until(set(URIS))


async def test_what_a_stream_that_was_opened_again_leaves_out_is_asked_for_once_more(tmp_path: Path):
    hearer = Hearer()
    async with (
        _modern(tmp_path) as (server, served),
        _at(served, "first", "modern", message_handler=hearer) as first,
        _at(served, "other", "modern") as other,
    ):
        await _subscribe(first, URIS[1])
        server.gone.add(URIS[1])
        server.hang_up()
        while await hearer.next() != (_UPDATED, URIS[1]):  # Lists may be others by now, too.
            pass
        with pytest.raises(MCPError, match="does not tell of changes"):
            await _subscribe(other, URIS[1])
        server.gone.clear()
        await _subscribe(other, URIS[1])
        await server.until({URIS[1]})


async def test_a_server_that_refuses_all_for_one_names_to_nobody_what_others_follow(tmp_path: Path):
    async with (
        _modern(tmp_path) as (server, served),
        _at(served, "first", "modern") as first,
        _at(served, "second", "modern") as second,
    ):
        await _subscribe(first, URIS[0])
        server.gone.add(URIS[0])
        server.strict = True
        with pytest.raises(MCPError, match="beside those followed now") as refused:
            await _subscribe(second, URIS[1])
        assert URIS[0] not in str(refused.value)


async def test_a_subscription_that_a_server_refuses_when_asked_again_is_told_to_nobody_as_made():
    hearer = Hearer()
    async with (
        _legacy() as (server, served),
        _at(served, "first", "everything", message_handler=hearer) as first,
        _at(served, "second", "everything") as second,
    ):
        await _subscribe(first, OPEN)
        await _subscribe(first, OTHER)
        server.gone.add(OPEN)
        await served.gate.reload("everything")
        assert await hearer.next() == (_UPDATED, OPEN)
        assert set(server.watched) == {OTHER}
        asked = len(server.refused)
        for client in (first, second):
            with pytest.raises(MCPError, match=f"there is no {OPEN}"):
                await _subscribe(client, OPEN)
        assert len(server.refused) == asked + 2
        server.gone.clear()
        await served.gate.reload("everything")
        assert set(server.watched) == {OPEN, OTHER}
        await server.change(OPEN)
        assert await hearer.next() == (_UPDATED, OPEN)


async def test_who_subscribes_again_to_what_was_gone_subscribes_once():
    async with _legacy() as (server, served), _at(served, "first", "everything") as first:
        await _subscribe(first, OPEN)
        server.gone.add(OPEN)
        await served.gate.reload("everything")
        assert server.watched == {}
        server.gone.clear()
        await _subscribe(first, OPEN)
        assert set(server.watched) == {OPEN}
        left = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=OPEN))
        await first.session.send_request(left, types.EmptyResult)
        assert server.watched == {}
