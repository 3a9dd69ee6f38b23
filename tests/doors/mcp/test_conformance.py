"""The official runner and inspector against the gate, which stands in front of a server with everything."""

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from callgate.serve.addresses import addresses
from callgate.serve.guard import Guard
from callgate.serve.mcp.http import McpEndpoint
from callgate.serve.rates import Rates
from tests.adapters.mcp import real_servers
from tests.doors.mcp.everything_server import everything_server, sdk_everything_server

# The SDK's server uses what the newest protocol leaves behind, and says so.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]
_POLICY = """
version: 1
autonomy: A4
scopes: {net: {hosts: ["*"], private_addresses: true}}
"""
_RUN = re.compile(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_LISTED = re.compile(r"^\s*- (\S+)", re.MULTILINE)
_OPEN = {"effects": ["read_only", "network_access"]}
_ALL = {"*": _OPEN, "sampling/createMessage": _OPEN, "elicitation/create": _OPEN}


class _WithToken:
    """The runner shows no token; this shows one for it."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._header = (b"authorization", f"Bearer {token}".encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "headers": [*scope["headers"], self._header]}, receive, send)


@contextlib.asynccontextmanager
async def _upstream(whose: str) -> AsyncGenerator[str]:
    """A server with everything: the SDK's own, or ours, which has what that one leaves out."""
    if whose == "the SDK's":
        async with sdk_everything_server() as url:
            yield url
    else:
        async with everything_server() as (_, url):
            yield url


@contextlib.asynccontextmanager
async def _served(folder: Path, *, whose: str = "ours") -> AsyncGenerator[str]:
    (folder / "callgate.yaml").write_text(_POLICY)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    found = addresses(address="127.0.0.1", port=port, url=None, hosts=())
    async with _upstream(whose) as upstream, Callgate.open("memory://", folder / "callgate.yaml") as gate:
        await gate.attach(McpServer("everything", url=upstream, declare=_ALL))
        _, token = await gate.admit_agent("conformance", by="operator")
        endpoint = McpEndpoint(gate, url=found.url, body_bytes=1_000_000, rates=Rates(per_second=1000, burst=10_000))
        app = _WithToken(Guard(endpoint, addresses=found, body_bytes=1_000_000), token)
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off", timeout_graceful_shutdown=1))
        async with endpoint.open():
            task = asyncio.ensure_future(server.serve(sockets=[listening]))
            try:
                yield f"http://127.0.0.1:{port}/mcp/everything"
            finally:
                server.should_exit = True
                endpoint.end_streams()
                await task


async def _run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of npm's; never over a proxy, and nothing of ours in its environment."""
    env = {"PATH": f"{real_servers.NODE.parent}:{os.environ['PATH']}", "HOME": str(folder), "NO_COLOR": "1"}
    return await asyncio.to_thread(
        subprocess.run, command, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("whose", ["the SDK's", "ours"])
async def test_every_scenario_of_the_official_runner_passes(tmp_path: Path, whose: str):
    command = real_servers.npm_server("conformance", "server", "--suite", "all", "--output-dir", str(tmp_path / "out"))
    async with _served(tmp_path, whose=whose) as url:
        done = await _run([*command, "--url", url], tmp_path)
    checks = [each for file in (tmp_path / "out").rglob("checks.json") for each in json.loads(file.read_text())]
    failed = {each["name"]: each.get("errorMessage") for each in checks if each["status"] == "FAILURE"}
    assert failed == {}, done.stdout[-4000:]
    assert done.returncode == 0
    # Every scenario it has for servers was run, and looked at something.
    runs = {found[1] for each in (tmp_path / "out").iterdir() if (found := _RUN.fullmatch(each.name))}
    listed = await _run(real_servers.npm_server("conformance", "list", "--server"), tmp_path)
    assert runs == set(_LISTED.findall(listed.stdout))
    assert len(runs) > 30
    assert all(json.loads((each / "checks.json").read_text()) for each in (tmp_path / "out").iterdir())


@pytest.mark.parametrize("whose", ["the SDK's", "ours"])
async def test_the_official_inspector_lists_and_calls(tmp_path: Path, whose: str):
    command = real_servers.npm_program("inspector", "clients/launcher/build/index.js", "--cli")
    async with _served(tmp_path, whose=whose) as url:
        listed = await _run([*command, url, "--transport", "http", "--method", "tools/list"], tmp_path)
        called = await _run(
            [*command, url, "--transport", "http", "--method", "tools/call", "--tool-name", "test_simple_text"],
            tmp_path,
        )
    names: list[Any] = [tool["name"] for tool in json.loads(listed.stdout)["tools"]]
    assert "test_simple_text" in names, listed.stderr
    [block] = json.loads(called.stdout)["content"]
    assert "This is a simple text response for testing." in block["text"]
