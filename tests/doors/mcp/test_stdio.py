"""`callgate mcp`: a client starts it, and its pipes carry the protocol and nothing else."""

import asyncio
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from callgate.runtime.message_lines import LARGEST_MESSAGE
from tests.doors.mcp.conftest import text_of

_TOOLS = '''
import os, subprocess, sys
from callgate import tool

print("a module that prints")

@tool(effects="read_only")
def loud(text: str) -> str:
    """Print and answer."""
    print("a tool that prints")
    os.write(1, b"and one that writes to the descriptor\\n")
    subprocess.run([sys.executable, "-c", "print('and a program'); import sys; print(repr(sys.stdin.read()))"])
    return text.upper()

@tool(effects="system_state", risk="high")
def pay(amount: int) -> str:
    """Pay somebody."""
    open("paid", "a").write(f"{amount}\\n")
    return f"paid {amount}"
'''


def _server(folder: Path, *words: str) -> StdioServerParameters:
    (folder / "loud_tools.py").write_text(_TOOLS)
    args = ["-m", "callgate", "mcp", "--store", "memory://", "--module", "loud_tools.py", *words]
    env = {"PYTHONPATH": ":".join(str(Path(each).resolve()) for each in sys.path if each), "HOME": str(folder)}
    return StdioServerParameters(command=sys.executable, args=args, cwd=folder, env=env)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_what_tools_print_never_meets_the_protocol(tmp_path: Path, era: str):
    async with Client(stdio_client(_server(tmp_path)), mode=era, cache=None) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        answer = await client.call_tool("loud", {"text": "a"})
        again = await client.call_tool("loud", {"text": "b"})
    assert {"loud", "pay"} <= listed
    assert (text_of(answer), text_of(again)) == ("A", "B")


async def test_who_started_it_says_how_much_may_be_done(tmp_path: Path):
    async with Client(stdio_client(_server(tmp_path, "--autonomy", "A4")), cache=None) as client:
        answer = await client.call_tool("pay", {"amount": 4})
    assert answer.is_error is False
    assert (tmp_path / "paid").read_text() == "4\n"
    async with Client(stdio_client(_server(tmp_path, "--read-only")), cache=None) as client:
        assert "pay" not in {tool.name for tool in (await client.list_tools()).tools}


async def test_who_has_no_console_is_told_the_command_that_shows_the_question(tmp_path: Path):
    server = _server(tmp_path, "--store", "another place.db")
    async with Client(stdio_client(server), cache=None) as client:
        answer = await client.call_tool("pay", {"amount": 4}, meta=cast("Any", {"callgate/wait": 0}))
    program, *words = shlex.split(text_of(answer).rpartition("They find it with: ")[2])
    assert program == "callgate"
    command = [sys.executable, "-m", "callgate", *words]
    shown = await asyncio.to_thread(
        subprocess.run, command, cwd=tmp_path, env=server.env, capture_output=True, text=True, timeout=60, check=False
    )
    assert shown.returncode == 0, shown
    assert "pay" in shown.stdout


async def test_a_host_asks_before_its_own_tools_run_where_that_was_wanted(tmp_path: Path):
    async with Client(stdio_client(_server(tmp_path, "--permission-prompt")), cache=None) as client:
        assert "permission_prompt" in {tool.name for tool in (await client.list_tools()).tools}
        asked = {"tool_name": "Read", "input": {"file_path": str(tmp_path / "loud_tools.py")}, "tool_use_id": "t1"}
        read = json.loads(text_of(await client.call_tool("permission_prompt", asked)))
        odd = json.loads(text_of(await client.call_tool("permission_prompt", {"tool_name": 5, "input": {}})))
    assert (read["behavior"], read["updatedInput"]) == ("allow", asked["input"])
    assert odd["behavior"] == "deny"
    async with Client(stdio_client(_server(tmp_path)), cache=None) as client:
        assert "permission_prompt" not in {tool.name for tool in (await client.list_tools()).tools}


async def test_a_request_is_never_more_than_who_started_it_said(tmp_path: Path):
    server = _server(tmp_path, "--autonomy", "A1", "--session", "mine", "--principal", "coder")
    wishes: list[dict[str, Any]] = [
        {"autonomy": "A4"},
        {"role": "admin"},
        {"principal": "other"},
        {"session": "other"},
        {"intent": "pay everybody"},
        {"layers": []},
    ]
    async with Client(stdio_client(server), cache=None) as client:
        for wish in wishes:
            meta: Any = {"callgate/context": wish, "callgate/wait": 0}
            with pytest.raises(MCPError):
                await client.call_tool("pay", {"amount": 4}, meta=meta)
    assert not (tmp_path / "paid").exists()


_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


def _spoken(folder: Path, said: bytes, *, reads: bool) -> tuple[int, bytes]:
    """Start it, say hello and more, and go; how it ended, and what it complained of."""
    server = _server(folder)
    with subprocess.Popen(
        [server.command, *server.args], cwd=folder, env=server.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdin is not None  # they were asked for
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        if not reads:
            process.stdout.close()
        with contextlib.suppress(OSError):
            os.write(process.stdin.fileno(), said)
            process.stdin.close()
        return process.wait(timeout=60), process.stderr.read()


@pytest.mark.parametrize(
    ("said", "reads"),
    [
        pytest.param(b"", True, id="it goes"),
        pytest.param(
            b'{"jsonrpc": "2.0", "id": 2, "method": "tools/list"}\n' * 20, False, id="it does not read any more"
        ),
        pytest.param(b"no message\n", True, id="it says nonsense"),
    ],
)
async def test_it_ends_with_its_client(tmp_path: Path, said: bytes, reads: bool):
    code, complaints = await asyncio.to_thread(_spoken, tmp_path, said, reads=reads)
    assert code == 0, complaints.decode()
    assert b"fault" not in complaints


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_it_ends_in_order_when_it_is_told_to_stop(tmp_path: Path, number: int):
    server = _server(tmp_path)
    process = await asyncio.create_subprocess_exec(
        server.command, *server.args, cwd=tmp_path, env=server.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None  # they were asked for
    assert process.stdout is not None
    process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
    async with asyncio.timeout(60):
        assert json.loads(await process.stdout.readline())["id"] == 1
        process.send_signal(number)
        assert await process.wait() == 0


async def test_a_line_without_an_end_is_not_read_any_further(tmp_path: Path):
    server = _server(tmp_path)
    process = await asyncio.create_subprocess_exec(
        server.command, *server.args, cwd=tmp_path, env=server.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None  # it was asked for
    process.stdin.write(b"x" * (LARGEST_MESSAGE * 2))
    async with asyncio.timeout(60):
        assert await process.wait() == 0


async def test_a_line_that_is_too_long_ends_the_session_and_stderr_says_why(tmp_path: Path):
    server = _server(tmp_path)
    process = await asyncio.create_subprocess_exec(
        server.command, *server.args, cwd=tmp_path, env=server.env,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    pay = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pay", "arguments": {"amount": 4}}}
    line = json.dumps(pay | {"more": "x" * LARGEST_MESSAGE}).encode() + b"\n"
    async with asyncio.timeout(60):
        said, told = await process.communicate(line)
    assert process.returncode == 0
    assert said == b""
    assert told.count(f"not read any further: it sent a message of more than {LARGEST_MESSAGE} bytes".encode()) == 1
    assert not (tmp_path / "paid").exists()
