"""Servers that others wrote, killed in the middle of a session: they are back without the gate being opened again.

What was on its way at that moment is told by what the operator declared: a read is tried again, an effect is unknown.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Refused, Unknown
from callgate.adapters.mcp import McpServer
from callgate.settings.values import DEFAULT_FAMILIES, Family
from tests.adapters.mcp.pages import Site, site
from tests.adapters.mcp.processes import come, free_port, running
from tests.adapters.mcp.real_servers import FIVE, git, npm_server, real_server, relayed
from tests.adapters.mcp.servers import FREE, READS, WRITES, gate_of, until_available, until_told, witnessed
from tests.waiting import until

pytestmark = pytest.mark.slow

KEY = Context(idempotency_key="once")


@pytest.fixture
def pages() -> Generator[Site]:
    with site() as served:
        yield served


def opened(folder: Path) -> Callgate:
    families = {**DEFAULT_FAMILIES, "net": Family(hosts=("127.0.0.1",), private_addresses=True)}
    return gate_of(config=replace(FREE, families=families), working_directory=str(folder))


async def kill_with(folder: Path, calling: asyncio.Future[Any]) -> None:
    """Kill the server, by its id, once it has answered and the answer is kept back."""
    await until(lambda: witnessed(folder, "held") or calling.done())
    (folder / "hold").unlink()
    os.kill(int(witnessed(folder, "starts")[-1]), signal.SIGKILL)


@pytest.mark.requirement("ADP-05")
@pytest.mark.parametrize("name", FIVE)
async def test_a_read_on_its_way_when_the_server_is_killed_is_tried_again(
    tmp_path: Path, pages: Site, name: str
) -> None:
    real = real_server(name, tmp_path, page=pages.url("/page"))
    tool, arguments = real.read
    server = McpServer("srv", command=relayed(tmp_path, real.command), declare={tool: READS}, startup=30)
    async with opened(tmp_path) as gate:
        await gate.attach(server)
        (tmp_path / "hold").touch()
        reading = asyncio.ensure_future(gate.call(f"srv.{tool}", arguments, timeout=60))
        await kill_with(tmp_path, reading)
        assert real.answer in str((await reading).unwrap())
        assert len(await until_told(gate, "source.back")) == 1
        assert real.answer in str((await gate.call(f"srv.{tool}", arguments)).unwrap())
    assert witnessed(tmp_path, "calls") == [tool] * 3
    assert len(witnessed(tmp_path, "starts")) == 2
    assert name != "fetch" or pages.asked == ["/page"] * 3


@pytest.mark.parametrize("name", FIVE)
async def test_an_effect_on_its_way_when_the_server_is_killed_is_unknown_and_not_repeated(
    tmp_path: Path, pages: Site, name: str
) -> None:
    real = real_server(name, tmp_path, page=pages.url("/page"))
    tool, arguments = real.effect
    declared = {tool: WRITES, real.read[0]: READS} if real.read[0] != tool else {tool: WRITES}
    server = McpServer("srv", command=relayed(tmp_path, real.command), declare=declared, startup=30)
    async with opened(tmp_path) as gate:
        await gate.attach(server)
        (tmp_path / "hold").touch()
        effect = asyncio.ensure_future(gate.call(f"srv.{tool}", arguments, KEY, timeout=60))
        await kill_with(tmp_path, effect)
        assert isinstance(await effect, Unknown)
        await until_available(gate)
        again = await gate.call(f"srv.{tool}", arguments, KEY)
        assert isinstance(again, Refused)
        assert again.error is not None
        assert again.error.code == "outcome_unknown"
        if real.read[0] != tool:
            assert real.answer in str((await gate.call(f"srv.{real.read[0]}", real.read[1])).unwrap())
    assert witnessed(tmp_path, "calls").count(tool) == 1
    assert len(witnessed(tmp_path, "starts")) == 2
    # It had happened: that is why nobody may repeat it.
    assert name != "git" or git(tmp_path / "work", "rev-list", "--count", "HEAD") == "2"
    assert name != "filesystem" or (tmp_path / "work" / "new.txt").read_text() == "written"
    assert name != "fetch" or pages.asked == ["/page"]


@pytest.mark.requirement("ADP-05")
@pytest.mark.parametrize("declared", [READS, WRITES], ids=["a read", "an effect"])
async def test_everything_over_http_is_killed_and_back_on_the_same_port(
    tmp_path: Path, declared: dict[str, Any]
) -> None:
    command, port = npm_server("server-everything", "streamableHttp"), free_port()
    tool, arguments = "srv.trigger_long_running_operation", {"duration": 2, "steps": 20}
    declare = {"trigger-long-running-operation": declared, "echo": READS}
    server = McpServer("srv", url=f"http://127.0.0.1:{port}/mcp", declare=declare, startup=30)
    async with opened(tmp_path) as gate:
        with running(*command, env={"PORT": str(port)}):
            await come(port)
            await gate.attach(server)
            calling = asyncio.ensure_future(gate.call(tool, arguments, KEY, timeout=60))
            await until_told(gate, "tool_call.progress")
        await until_available(gate, available=False)
        with running(*command, env={"PORT": str(port)}):
            if declared is READS:
                assert "completed" in (await calling).unwrap()
            else:
                assert isinstance(await calling, Unknown)
                await until_available(gate)
                assert isinstance(await gate.call(tool, arguments, KEY), Refused)
            assert (await gate.call("srv.echo", {"message": "back"})).unwrap() == "Echo: back"


@pytest.mark.parametrize("declared", [READS, WRITES], ids=["a read", "an effect"])
async def test_a_call_after_everything_was_restarted_unnoticed_reaches_the_new_one(
    tmp_path: Path, declared: dict[str, Any]
) -> None:
    """The new process knows nothing of the session: it takes nothing in it, so that nothing happened."""
    command, port = npm_server("server-everything", "streamableHttp"), free_port()
    server = McpServer("srv", url=f"http://127.0.0.1:{port}/mcp", declare={"echo": declared}, startup=30)
    async with opened(tmp_path) as gate:
        with running(*command, env={"PORT": str(port)}):
            await come(port)
            await gate.attach(server)
            assert (await gate.call("srv.echo", {"message": "before"})).ok
        with running(*command, env={"PORT": str(port)}):
            await come(port)
            assert (await gate.call("srv.echo", {"message": "after"}, KEY)).unwrap() == "Echo: after"
