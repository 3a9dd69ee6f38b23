"""Hearing news over MCP: a client that does not read harms nobody, and a credential that ended hears nothing more."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
import pytest
from mcp import Client

from callgate import Callgate, tool
from callgate.adapters.mcp import McpServer
from callgate.model.credential import Credential, CredentialKind
from callgate.serve.mcp import hearing
from callgate.testing import HandClock
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import begin, client_of, with_token
from tests.doors.mcp.everything_server import Everything, everything_server

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
WATCHED = "every-thing+test://watched-resource"
ALL = {"*": {"effects": ["read_only", "network_access"]}}
_SECONDS = 20


class Heard:
    """What one client was told, in order."""

    def __init__(self) -> None:
        self.told: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, message: Any) -> None:
        self.told.put_nowait(type(message).__name__.removesuffix("Notification"))

    def by(self, era: str) -> "Heard | None":
        """How a client of that era hears: a later one listens by itself."""
        return self if era == "legacy" else None

    async def next(self) -> str:
        return await asyncio.wait_for(self.told.get(), _SECONDS)


@asynccontextmanager
async def _gateway(gate: Callgate) -> AsyncGenerator[tuple[Served, Everything]]:
    async with everything_server() as (server, url), served_gate(gate) as served:
        await served.gate.attach(McpServer("everything", url=url, prefix="every_thing", declare=ALL))
        yield served, server


@asynccontextmanager
async def _hearing(client: Client, era: str, heard: Heard) -> AsyncGenerator[asyncio.Event]:
    """Hear of tools and of the watched resource; the event is set when the stream is over."""
    over = asyncio.Event()
    if era == "legacy":
        await _subscribe(client, WATCHED)
        yield over
        return
    ready = asyncio.Event()

    async def listen() -> None:
        async with client.listen(tools_list_changed=True, resource_subscriptions=[WATCHED]) as changes:
            ready.set()
            async for event in changes:
                heard.told.put_nowait(type(event).__name__.replace("ToolsList", "ToolList"))
        over.set()

    task = asyncio.ensure_future(listen())
    await asyncio.wait_for(ready.wait(), _SECONDS)
    try:
        yield over
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _subscribe(client: Client, uri: str) -> None:
    await client.session.send_request(types.SubscribeRequest(params={"uri": uri}), types.EmptyResult)  # pyright: ignore[reportArgumentType]


def _add(served: Served, name: str) -> None:
    @tool(name=name, effects="read_only")
    def fresh() -> str:
        """Something new."""
        return "new"

    served.gate.add(fresh)


async def test_a_client_that_does_not_read_keeps_nobody_from_hearing():
    long = "test://long/" + "x" * 300_000
    heard = Heard()
    async with (
        _gateway(Callgate.open("memory://")) as (served, server),
        _deaf(served, f"every-thing+{long}"),
        client_of(served, mode="legacy", message_handler=heard) as client,
    ):
        await _subscribe(client, f"every-thing+{long}")
        for _ in range(60):  # far more than the buffers between the server and who does not read
            await server.change(long)
            assert await heard.next() == "ResourceUpdated"
        for name in ("first", "second", "third"):
            _add(served, name)
            assert await heard.next() == "ToolListChanged"


async def test_saying_twice_that_one_is_there_makes_nobody_hear_twice():
    heard = Heard()
    async with (
        _gateway(Callgate.open("memory://")) as (served, server),
        client_of(served, mode="legacy", message_handler=heard) as client,
    ):
        for _ in range(3):
            await client.session.send_notification(types.InitializedNotification())
        await _subscribe(client, WATCHED)
        _add(served, "fresh")
        assert await heard.next() == "ToolListChanged"
        await server.change("test://watched-resource")
        assert await heard.next() == "ResourceUpdated"


@ERAS
async def test_a_credential_that_another_process_ended_hears_nothing_more(tmp_path: Path, era: str):
    store = f"sqlite:///{tmp_path}/gate.db"
    mine, theirs = Heard(), Heard()
    async with _gateway(Callgate.open(store)) as (served, server), Callgate.open(store) as elsewhere:
        credential, token = await served.gate.admit_agent("ended", by="operator")
        async with (
            with_token(f"{served.url}/mcp", token, mode=era, message_handler=mine.by(era)) as one,
            client_of(served, mode=era, message_handler=theirs.by(era)) as two,
            _hearing(one, era, mine),
            _hearing(two, era, theirs),
        ):
            await elsewhere.revoke_credential(credential.id, by="operator")
            await _both_change(served, server, theirs)
            assert mine.told.empty()


@ERAS
async def test_a_credential_whose_time_is_over_hears_nothing_more(era: str):
    clock = HandClock()
    mine, theirs = Heard(), Heard()
    async with _gateway(Callgate.open("memory://", clock=clock)) as (served, server):
        _, token = await served.gate.admit_agent("short", by="operator", expires_at=clock.now() + 60)
        async with (
            with_token(f"{served.url}/mcp", token, mode=era, message_handler=mine.by(era)) as one,
            client_of(served, mode=era, message_handler=theirs.by(era)) as two,
            _hearing(one, era, mine),
            _hearing(two, era, theirs),
        ):
            clock.turn(61)
            await _both_change(served, server, theirs)
            assert mine.told.empty()


async def _both_change(served: Served, server: Everything, witness: Heard) -> None:
    await server.change("test://watched-resource")
    assert await witness.next() == "ResourceUpdated"
    _add(served, "fresh")
    assert await witness.next() == "ToolListChanged"


async def test_the_stream_of_a_credential_that_ended_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hearing, "LOOK_AGAIN", 0.05)
    async with Served.open() as served, await served.agent("ended") as client:
        session = await begin(client)
        [credential] = await served.gate.credentials()
        async with asyncio.timeout(_SECONDS), client.stream("GET", "/mcp", headers=session) as stream:
            assert stream.status_code == 200
            await served.gate.revoke_credential(credential.id, by="operator")
            assert "data:" not in "".join([text async for text in stream.aiter_text()])


async def test_who_listens_is_told_the_end_when_its_credential_ends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hearing, "LOOK_AGAIN", 0.05)
    async with _gateway(Callgate.open("memory://")) as (served, _):
        credential, token = await served.gate.admit_agent("ended", by="operator")
        async with (
            with_token(f"{served.url}/mcp", token, mode="2026-07-28") as client,
            _hearing(client, "2026-07-28", Heard()) as over,
        ):
            await served.gate.revoke_credential(credential.id, by="operator")
            await asyncio.wait_for(over.wait(), _SECONDS)


async def test_clients_hear_of_tools_that_somebody_trusts_in_another_process(tmp_path: Path):
    @tool(effects="read_only")
    def looked_at() -> str:
        """Something to look at."""
        return "here"

    store = f"sqlite:///{tmp_path}/gate.db"
    heard = Heard()
    async with served_gate(Callgate.open(store)) as served, Callgate.open(store) as elsewhere:
        for gate in (served.gate, elsewhere):
            gate.add(looked_at)
        async with client_of(served, mode="legacy", message_handler=heard) as client:
            found = await elsewhere.distrust("looked_at", by="ada", why="it changed")
            assert await heard.next() == "ToolListChanged"
            assert "looked_at" not in {each.name for each in (await client.list_tools()).tools}
            await elsewhere.trust("looked_at", by="ada", definition_hash=found.definition_hash)
            assert await heard.next() == "ToolListChanged"
            assert "looked_at" in {each.name for each in (await client.list_tools()).tools}


async def test_an_access_token_of_another_server_counts_until_its_own_end():
    clock = HandClock()
    async with Callgate.open("memory://", clock=clock) as gate:
        issued = Credential(
            id="oauth-1",
            kind=CredentialKind.AGENT,
            name="oauth:ada",
            created_at=0,
            created_by="https://issuer.example",
            expires_at=clock.now() + 60,
        )
        assert await gate.still_counts(issued)
        clock.turn(61)
        assert not await gate.still_counts(issued)


async def test_one_client_subscribes_to_so_many_resources_at_most(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("callgate.serve.mcp.news._MOST", 2)
    async with (
        _gateway(Callgate.open("memory://")) as (served, server),
        client_of(served, mode="legacy") as client,
    ):
        for number in (1, 2, 2):
            await _subscribe(client, f"every-thing+test://{number}")
        with pytest.raises(Exception, match="2 resources at most"):
            await _subscribe(client, "every-thing+test://3")
        assert set(server.watched) == {"test://1", "test://2"}


@asynccontextmanager
async def _deaf(served: Served, uri: str) -> AsyncGenerator[None]:
    """A client that subscribes, opens a stream for news, and never reads it."""
    where = urlsplit(served.url)
    async with await served.agent("deaf") as client:
        session = await begin(client)
        body = {"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": {"uri": uri}}
        await client.post("/mcp", json=body, headers=session)
        headers = dict(client.headers) | session
    sent = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with closing(socket.socket()) as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        wire.connect((where.hostname, where.port))
        wire.sendall(f"GET /mcp HTTP/1.1\r\nHost: {where.netloc}\r\n{sent}\r\n".encode())
        yield
