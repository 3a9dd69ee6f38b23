"""What reaches the other side while things go on: other lists to clients, and a cancellation to the server behind."""

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from callgate.adapters.mcp import McpServer
from tests.adapters.mcp.processes import HERE
from tests.doors.http.conftest import Served
from tests.doors.mcp.conftest import client_of
from tests.doors.running import Cli, environment

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
_TOOLS = '''
from callgate import tool

@tool(effects="read_only")
def shout(text: str) -> str:
    """Make it loud."""
    return text.upper()
'''


class Told:
    """Whether a client was told that its tools are others."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    async def __call__(self, message: Any) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            self._event.set()

    async def wait(self) -> None:
        await asyncio.wait_for(self._event.wait(), 30)
        self._event.clear()


@asynccontextmanager
async def _hearing(client: Client, era: str) -> AsyncGenerator[None]:
    """From 2026-07-28 on a client hears only what it listens for."""
    await client.list_tools()
    if era == "legacy":
        yield
        return
    async with client.listen(tools_list_changed=True):
        yield


async def _names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


@ERAS
async def test_what_a_person_holds_and_trusts_changes_the_list_over_http(served: Served, era: str):
    told = Told()
    async with client_of(served, mode=era, message_handler=told) as client, _hearing(client, era):
        await served.gate.distrust("word_count", by="ada", why="looks odd")
        await told.wait()
        assert "word_count" not in await _names(client)
        looked_at = served.gate.difference("word_count").definition_hash
        await served.gate.trust("word_count", by="ada", definition_hash=looked_at)
        await told.wait()
        assert "word_count" in await _names(client)


@pytest.mark.slow
@ERAS
async def test_what_a_person_holds_elsewhere_changes_the_list_over_stdio(cli: Cli, era: str):
    module = f"shouting_{era[:4]}.py"
    (cli.folder / module).write_text(_TOOLS)
    place = ("--store", "gate.db", "--module", module)
    args = ["-m", "callgate", "mcp", *place]
    server = StdioServerParameters(command=sys.executable, args=args, cwd=cli.folder, env=environment())
    told = Told()
    async with (
        Client(stdio_client(server), mode=era, cache=None, message_handler=told) as client,
        _hearing(client, era),
    ):
        assert "shout" in await _names(client)
        held = await asyncio.to_thread(cli, "tools", "distrust", "shout", "--why", "odd", "--by", "ada", *place)
        assert held.code == 0, held
        await told.wait()
        assert "shout" not in await _names(client)


@ERAS
async def test_a_cancelled_call_is_cancelled_at_the_server_behind(served: Served, tmp_path: Path, era: str):
    command = [sys.executable, str(HERE / "modern_server.py"), str(tmp_path)]
    declared = {"*": {"effects": ["read_only"]}}
    await served.gate.attach(McpServer("modern", command=command, declare=declared))
    async with client_of(served, path="/mcp/modern", mode=era) as client:
        calling = asyncio.ensure_future(client.call_tool("hang"))
        await _there(tmp_path / "hangs")
        calling.cancel()
        await _there(tmp_path / "cancelled")


async def _there(path: Path) -> None:
    """Wait for a file that another process writes."""
    async with asyncio.timeout(30):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - nobody tells
            await asyncio.sleep(0.01)  # between two looks
