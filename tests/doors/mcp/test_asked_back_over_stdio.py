"""Servers on stdio that ask back: the one client of `callgate mcp` answers, and of a gate that serves many, nobody."""

import json
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from callgate.model.levels import Autonomy
from tests.adapters.mcp import real_servers
from tests.doors.http.conftest import served_gate
from tests.doors.mcp.conftest import client_of, text_of
from tests.doors.running import environment

pytestmark = pytest.mark.slow
_OPEN = {"effects": ["read_only", "network_access"], "risk": "low"}
_ALL: dict[str, Any] = {"*": _OPEN, "sampling/createMessage": _OPEN, "elicitation/create": _OPEN}


async def _sampled(_context: Any, _params: Any) -> types.CreateMessageResult:
    said = types.TextContent(type="text", text="said by the client's model")
    return types.CreateMessageResult(role="assistant", content=said, model="m", stop_reason="endTurn")


async def _elicited(_context: Any, _params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "Ada"})


def _gate(folder: Path, declare: dict[str, Any]) -> StdioServerParameters:
    server = {"command": real_servers.npm_server("server-everything", "stdio"), "declare": declare}
    settings = {"version": 1, "autonomy": "A4", "mcp_servers": {"everything": server}}
    (folder / "callgate.yaml").write_text(json.dumps(settings))  # which is YAML
    args = ["-m", "callgate", "mcp", "--store", "gate.db", "--source", "everything"]
    return StdioServerParameters(command=sys.executable, args=args, cwd=folder, env=environment(HOME=str(folder)))


async def test_the_one_client_is_asked(tmp_path: Path):
    can: dict[str, Any] = {"sampling_callback": _sampled, "elicitation_callback": _elicited}
    async with Client(stdio_client(_gate(tmp_path, _ALL)), mode="legacy", cache=None, **can) as client:
        form = await client.call_tool("trigger-elicitation-request")
        word = await client.call_tool("trigger-sampling-request", {"prompt": "hello"})
    assert "Name: Ada" in text_of(form)
    assert "said by the client's model" in text_of(word)


async def test_a_client_that_cannot_answer_is_not_asked_and_what_is_not_declared_does_not_ask(tmp_path: Path):
    async with Client(stdio_client(_gate(tmp_path, _ALL)), mode="legacy", cache=None) as client:
        form = await client.call_tool("trigger-elicitation-request")
    assert form.is_error
    asked: list[Any] = []

    async def ask(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="decline")

    folder = tmp_path / "other"
    folder.mkdir()
    can: dict[str, Any] = {"elicitation_callback": ask}
    async with Client(stdio_client(_gate(folder, {"*": _OPEN})), mode="legacy", cache=None, **can) as client:
        assert "trigger-elicitation-request" not in {tool.name for tool in (await client.list_tools()).tools}
    assert asked == []


async def test_where_many_are_served_nobody_is_asked_by_a_program_that_does_not_say_for_whom():
    asked: list[Any] = []

    async def ask(_context: Any, params: Any) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="accept", content={"name": "Eve"})

    command = real_servers.npm_server("server-everything", "stdio")
    async with served_gate(Callgate.open("memory://")) as served:
        await served.gate.attach(McpServer("everything", command=command, declare=_ALL))
        free: dict[str, Any] = {"limits": {"autonomy": Autonomy.A4}, "elicitation_callback": ask}
        async with client_of(served, path="/mcp/everything", mode="legacy", **free) as client:
            form = await client.call_tool("trigger-elicitation-request")
    assert form.is_error
    assert asked == []
