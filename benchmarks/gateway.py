"""A call through the MCP gateway, against the same call made straight with the SDK's client; each in turns."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.ratios import Loop, compare

_ROOT = Path(__file__).parents[1]
_PATH = f"{_ROOT / 'src'}:{_ROOT}"
_CALLGATE = [sys.executable, "-m", "callgate"]
_UPSTREAM = [sys.executable, "-m", "benchmarks.upstream"]
_DECLARE = "declare: {echo: {effects: [read_only, network_access]}}"


def _one_at_a_time(client: Client, tool: str) -> Loop:
    async def loop(times: int) -> None:
        for _ in range(times):
            await _called(client, tool)

    return loop


def _at_once(client: Client, tool: str, *, width: int = 32) -> Loop:
    async def loop(times: int) -> None:
        async def some() -> None:
            for _ in range(times // width):
                await _called(client, tool)

        await asyncio.gather(*(some() for _ in range(width)))

    return loop


async def _called(client: Client, tool: str) -> None:
    answer: Any = await client.call_tool(tool, {"text": "hello"})
    if answer.is_error or answer.content[0].text != "hello":
        raise RuntimeError(answer)


@contextmanager
def _started(command: list[str], pattern: str, *, folder: Path) -> Generator[str]:
    """A program, and what it prints that fits; stopped with the block."""
    with subprocess.Popen(
        command, cwd=folder, env=_environment(folder), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None  # it was asked for
            found = (match for line in process.stdout if (match := re.search(pattern, line)))
            yield next(found)[1]
        finally:
            process.terminate()


def _environment(folder: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(folder), "NO_PROXY": "*", "PYTHONPATH": _PATH}


@asynccontextmanager
async def _client(url: str, token: str | None = None) -> AsyncGenerator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield client


def _token(folder: Path) -> str:
    command = [*_CALLGATE, "tokens", "agent", "bench", "--json"]
    issued = subprocess.run(command, cwd=folder, env=_environment(folder), capture_output=True, check=True)
    return json.loads(issued.stdout)["token"]


async def _over_http(folder: Path) -> dict[str, Any]:
    with _started([*_UPSTREAM, "http"], r"^(\d+)$", folder=folder) as port:
        upstream = f"http://127.0.0.1:{port}/mcp"
        server = f"{{url: '{upstream}', {_DECLARE}}}"
        (folder / "callgate.yaml").write_text(f"version: 1\nmcp_servers: {{up: {server}}}\n")
        token = await asyncio.to_thread(_token, folder)
        with _started([*_CALLGATE, "serve", "--port", "0"], r"at (http://\S+)", folder=folder) as url:
            async with _client(upstream) as straight, _client(f"{url}/mcp", token) as through:
                alone = await compare(_one_at_a_time(straight, "echo"), _one_at_a_time(through, "up__echo"), times=200)
                together = await compare(_at_once(straight, "echo"), _at_once(through, "up__echo"), times=640)
    return {"http_alone": alone.to_json(), "http_32_at_once": together.to_json()}


async def _over_stdio(folder: Path) -> dict[str, Any]:
    words = json.dumps([*_UPSTREAM, "stdio"])
    env = json.dumps({"PYTHONPATH": _PATH})
    (folder / "callgate.yaml").write_text(
        f"version: 1\nmcp_servers: {{up: {{command: {words}, env: {env}, {_DECLARE}}}}}\n"
    )
    surroundings = _environment(folder)
    straight_way = StdioServerParameters(command=_UPSTREAM[0], args=[*_UPSTREAM[1:], "stdio"], env=surroundings)
    through_way = StdioServerParameters(
        command=sys.executable, args=["-m", "callgate", "mcp"], env=surroundings, cwd=folder
    )
    async with Client(stdio_client(straight_way)) as straight, Client(stdio_client(through_way)) as through:
        alone = await compare(_one_at_a_time(straight, "echo"), _one_at_a_time(through, "up__echo"), times=200)
    return {"stdio_alone": alone.to_json()}


async def measure() -> dict[str, Any]:
    """Over streamable HTTP on both sides, alone and 32 at once; and over stdio on both sides."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        return await _over_http(Path(first)) | await _over_stdio(Path(second))
