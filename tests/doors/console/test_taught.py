"""What empty pages teach: it works as it stands there, and does what the page says."""

import asyncio
import html
import json
import re
import shutil
from typing import Any

import pytest

from callgate import Callgate, tool
from callgate.serve.server import serving
from callgate.settings.values import ServeSettings
from tests.doors.console.conftest import Console
from tests.needed import missing


@pytest.fixture
def curl() -> None:
    if shutil.which("curl") is None:
        missing("curl is not installed")


async def _command(console: Console, path: str) -> str | None:
    async with console.signed_in() as client:
        found = re.search(r'<pre class="command">(.*?)</pre>', (await client.get(path)).text, re.DOTALL)
    return None if found is None else html.unescape(found[1])


async def _done(console: Console, command: str) -> dict[str, Any]:
    """Do it in a shell, but for the token: no other process can open a gate in memory."""
    first, _, rest = command.partition("\n")
    assert first == "TOKEN=$(callgate tokens agent crawler)"
    _, token = await console.gate.admit_agent("crawler", by="operator")
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", rest, env={"TOKEN": token, "PATH": "/usr/bin:/bin"}, stdout=asyncio.subprocess.PIPE
    )
    async with asyncio.timeout(60):
        said, _ = await process.communicate()
    return json.loads(said)


@pytest.mark.usefixtures("curl")
async def test_the_call_that_is_taught_is_made_as_the_page_says(console: Console):
    asks, reads = await _command(console, "/"), await _command(console, "/calls")
    assert asks is not None
    assert reads is not None
    waits = await _done(console, asks)
    assert (waits["status"], waits["tool"]) == ("pending", "pay")
    assert [each.tool for each in await console.gate.approvals()] == ["pay"]
    assert (await _done(console, reads))["status"] == "succeeded"
    assert console.paid == []
    assert await _command(console, "/") is None
    assert await _command(console, "/calls") is None


@pytest.mark.usefixtures("curl")
async def test_what_tools_say_of_themselves_is_no_command():
    asked: list[str] = []

    @tool(effects="read_only", examples=[{"text": "it's $(touch /tmp/x) `id` \u00e9\n</pre>"}])
    def echo(text: str) -> str:
        """Say it again."""
        asked.append(text)
        return text

    async with Callgate.open("memory://") as gate, serving(gate, ServeSettings(port=0)) as where:
        gate.add(echo)
        console = Console(gate, where, [])
        command = await _command(console, "/calls")
        assert command is not None
        assert command.isascii()
        assert (await _done(console, command))["status"] == "succeeded"
    assert asked == ["it's $(touch /tmp/x) `id` \u00e9\n</pre>"]


async def test_where_no_tool_fits_none_is_named():
    async with Callgate.open("memory://") as gate, serving(gate, ServeSettings(port=0)) as where:
        console = Console(gate, where, [])
        assert await _command(console, "/") is None
        assert await _command(console, "/calls") is None
