"""A served gate that is told to stop: what runs ends and is answered, nothing new begins, and who listens is let go."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.doors.mcp.conftest import text_of
from tests.doors.running import Cli, environment

pytestmark = pytest.mark.slow
ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
_TOOLS = '''
import asyncio, pathlib
from callgate import tool

@tool(effects="system_state", risk="low")
async def linger() -> str:
    """Stay until somebody says go."""
    pathlib.Path("begun").touch()
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.01)
    with open("done", "a") as done:
        done.write("lingered\\n")
    return "lingered"
'''


class Server:
    """`callgate serve` in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self._process = process
        self.url = url

    def stop(self) -> None:
        os.kill(self._process.pid, signal.SIGTERM)

    async def says(self, pattern: str) -> str:
        """Wait for a line of its stderr."""
        assert self._process.stderr is not None
        async with asyncio.timeout(60):
            while line := (await self._process.stderr.readline()).decode():
                found = re.search(pattern, line)
                if found:
                    return found[0]
        pytest.fail("it ended")

    async def ended(self) -> int:
        return await asyncio.wait_for(self._process.wait(), 60)


@asynccontextmanager
async def _serving(folder: Path) -> AsyncGenerator[Server]:
    (folder / "linger_tools.py").write_text(_TOOLS)
    words = ("-m", "callgate", "serve", "--port", "0", "--module", "linger_tools.py")
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *words,
        cwd=folder,
        env=environment(),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    server = Server(process, "")
    try:
        server.url = await server.says(r"http://127\.0\.0\.1:\d+")
        yield server
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _there(path: Path) -> None:
    """Wait for a file that another process writes."""
    async with asyncio.timeout(60):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - nobody tells
            await asyncio.sleep(0.01)  # between two looks


def _client(server: Server, token: str, **choices: Any) -> Client:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, trust_env=False, timeout=60)
    return Client(streamable_http_client(f"{server.url}/mcp", http_client=http), cache=None, **choices)


@ERAS
async def test_a_call_that_runs_is_answered_a_new_one_refused_and_listeners_end(cli: Cli, era: str):
    token = (await asyncio.to_thread(cli, "tokens", "agent", "crawler")).out.strip()
    reader = (await asyncio.to_thread(cli, "tokens", "person", "ada")).out.strip()
    async with _serving(cli.folder) as server:
        begun = asyncio.Event()
        listening = asyncio.ensure_future(_listened(server, reader, begun))
        await asyncio.wait_for(begun.wait(), 60)
        answer = await _called(server, token, era=era)
        heard = await listening
        assert await server.ended() == 0
    assert answer == "lingered"
    assert heard == "ended"
    assert (cli.folder / "done").read_text() == "lingered\n"
    rows = (await asyncio.to_thread(cli, "outcomes", "list", "--all", "--json")).body["outcomes"]
    assert [(each["tool"], each["state"]) for each in rows] == [("linger", "succeeded")]
    assert (await asyncio.to_thread(cli, "audit", "verify")).code == 0


async def _called(server: Server, token: str, *, era: str) -> str:
    """A call that runs while the server is told to stop; what it answers."""
    folder = Path.cwd()
    async with _client(server, token, mode=era) as client:
        await client.list_tools()  # or the client would ask for output schemas once it has its answer
        calling = asyncio.ensure_future(client.call_tool("linger"))
        await _there(folder / "begun")
        server.stop()
        await server.says("Stopping")
        with pytest.raises(httpx2.HTTPError):
            await _until_refused(server)
        assert not calling.done()
        (folder / "go").touch()
        return text_of(await asyncio.wait_for(calling, 60))


async def _until_refused(server: Server) -> None:
    """Nobody new is let in: the port is closed soon after it was told."""
    async with asyncio.timeout(30):
        while True:
            async with httpx2.AsyncClient(trust_env=False, timeout=60) as client:
                await client.get(f"{server.url}/healthz")


async def _listened(server: Server, token: str, begun: asyncio.Event) -> str:
    """Listen to events until the server ends the stream, in good order."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as client,
        client.stream("GET", f"{server.url}/api/v1/events/stream") as stream,
    ):
        assert stream.status_code == 200, await stream.aread()
        async for _ in stream.aiter_lines():
            begun.set()
    return "ended"
