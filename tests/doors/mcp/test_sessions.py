"""Sessions over MCP: they end with the credential that began them, and nobody has so many that others find none."""

import asyncio
import gc
from pathlib import Path
from weakref import WeakSet

import httpx2
import pytest
from mcp.server.streamable_http import StreamableHTTPServerTransport

from callgate import Callgate, tool
from callgate.errors import StoreError
from callgate.model.credential import Credential
from callgate.serve.mcp import hearing, sessions
from callgate.testing import HandClock
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import begin

_SECONDS = 20


@pytest.fixture(autouse=True)
def _looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hearing, "LOOK_AGAIN", 0.02)


class Kept:
    """Sessions in the memory of this process that were not there before."""

    def __init__(self) -> None:
        self._before: WeakSet[StreamableHTTPServerTransport] = WeakSet(self._all())

    @property
    def number(self) -> int:
        return sum(each not in self._before for each in self._all())

    async def until(self, number: int) -> None:
        async with asyncio.timeout(_SECONDS):
            while self.number != number:  # noqa: ASYNC110 - as below
                await asyncio.sleep(0.02)  # nothing tells of what is not kept any more

    @staticmethod
    def _all() -> list[StreamableHTTPServerTransport]:
        gc.collect()
        return [each for each in gc.get_objects() if isinstance(each, StreamableHTTPServerTransport)]


@pytest.fixture
def kept() -> Kept:
    return Kept()


async def test_the_sessions_of_a_revoked_credential_are_not_kept(kept: Kept):
    async with Served.open() as served, await served.agent("stays") as stays, await served.agent("ended") as ended:
        mine = await begin(stays)
        for _ in range(5):
            await begin(ended)
        assert kept.number == 6
        [credential] = [each for each in await served.gate.credentials() if each.name == "ended"]
        await served.gate.revoke_credential(credential.id, by="operator")
        await kept.until(1)
        assert (await _ping(stays, mine)).status_code == 200


async def test_the_sessions_of_a_credential_that_another_process_ended_are_not_kept(tmp_path: Path, kept: Kept):
    store = f"sqlite:///{tmp_path}/gate.db"
    async with served_gate(Callgate.open(store)) as served, Callgate.open(store) as elsewhere:
        async with await served.agent("ended") as client:
            await begin(client)
        [credential] = await elsewhere.credentials()
        await elsewhere.revoke_credential(credential.id, by="operator")
        await kept.until(0)


async def test_the_sessions_of_a_credential_whose_time_is_over_are_not_kept(kept: Kept):
    clock = HandClock()
    async with served_gate(Callgate.open("memory://", clock=clock)) as served:
        async with await served.agent("short", expires_at=clock.now() + 60) as client:
            await begin(client)
        assert kept.number == 1
        clock.turn(61)
        await kept.until(0)


async def test_a_call_that_runs_in_one_is_let_end_though_nobody_waits_for_it_any_more(kept: Kept):
    begun, go, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(effects="system_state", risk="low")
    async def linger() -> str:
        """Stay until somebody says go."""
        begun.set()
        await go.wait()
        done.set()
        return "lingered"

    async with Served.open() as served, await served.agent("ended") as client:
        served.gate.add(linger)
        session = await begin(client)
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "linger"}}
        calling = asyncio.ensure_future(client.post("/mcp", json=body, headers=session))
        await asyncio.wait_for(begun.wait(), _SECONDS)
        calling.cancel()
        [credential] = await served.gate.credentials()
        looks = _looks(served)
        await served.gate.revoke_credential(credential.id, by="operator")
        for _ in range(3):
            await asyncio.wait_for(looks.get(), _SECONDS)
        assert kept.number == 1
        go.set()
        await kept.until(0)
        assert done.is_set()
        assert [event.type async for event in served.gate.events(types=["tool_call.succeeded"])]


async def test_what_cannot_be_found_out_ends_no_session(monkeypatch: pytest.MonkeyPatch):
    async with Served.open() as served, await served.agent() as client:
        session = await begin(client)
        looks: asyncio.Queue[None] = asyncio.Queue()

        async def nobody_knows(_credential: object) -> bool:
            looks.put_nowait(None)
            raise StoreError("the disk is away")

        monkeypatch.setattr(served.gate, "still_counts", nobody_knows)
        for _ in range(3):
            await asyncio.wait_for(looks.get(), _SECONDS)
        assert (await _ping(client, session)).status_code == 200


async def test_one_credential_has_so_many_sessions_at_most(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sessions, "MOST", 2)
    async with Served.open() as served, await served.agent("greedy") as greedy, await served.agent("other") as other:
        first = await begin(greedy)
        await begin(greedy)
        refused = await greedy.post("/mcp", json={}, headers={"Accept": "application/json, text/event-stream"})
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_sessions")
        assert (await _ping(other, await begin(other))).status_code == 200
        assert (await _ping(greedy, first)).status_code == 200
        await greedy.delete("/mcp", headers=first)
        assert (await _ping(greedy, await begin(greedy))).status_code == 200


async def _ping(client: httpx2.AsyncClient, session: dict[str, str]) -> httpx2.Response:
    return await client.post("/mcp", json={"jsonrpc": "2.0", "id": 9, "method": "ping"}, headers=session)


def _looks(served: Served) -> "asyncio.Queue[bool]":
    """What was found out about credentials, each time somebody looked."""
    found: asyncio.Queue[bool] = asyncio.Queue()
    look = served.gate.still_counts

    async def looked(credential: Credential) -> bool:
        counts = await look(credential)
        if not counts:
            found.put_nowait(counts)
        return counts

    served.gate.still_counts = looked
    return found
