"""MCPAdapter: pages of a list, and what becomes of a session that is lost or refuses."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import INVALID_PARAMS, Tool

from callgate import Context, Failed, Unknown
from callgate.compat import MCPAdapter, ToolExecutor, ToolRegistry
from callgate.errors import ConfigurationError
from callgate.testing import memory_gate
from tests.adapters.mcp.servers import DECLARED, FREE, SCRIPT, witnessed

MAY = Context(scopes=frozenset({"mcp:connect"}))


@dataclass
class Page:
    """A page of a list, as the SDK has it."""

    tools: list[Tool]
    next_cursor: str | None = None


@dataclass
class Pages:
    """A session with a list of so many pages that refuses every call."""

    pages: int
    server_name: str = "srv"
    cursors: list[Any] = field(default_factory=list[Any])

    async def list_tools(self, cursor: str | None = None) -> Page:
        self.cursors.append(cursor)
        number = int(cursor or 0)
        following = str(number + 1) if number + 1 < self.pages else None
        return Page([Tool(name=f"tool_{number}", input_schema={"type": "object"})], following)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        raise MCPError(INVALID_PARAMS, f"{name} takes no {arguments}")


async def test_a_list_is_read_page_by_page_and_has_an_end():
    session = Pages(3)
    found = await MCPAdapter(session).discover_tools()
    assert [each.name for each in found] == ["srv.tool_0", "srv.tool_1", "srv.tool_2"]
    assert session.cursors == [None, "1", "2"]
    with pytest.raises(ConfigurationError, match="more than 100 pages"):
        await MCPAdapter(Pages(1000)).discover_tools()


def test_a_declaration_that_is_wrong_is_told_before_anybody_is_asked():
    with pytest.raises(ConfigurationError, match="declares no 'efects'"):
        MCPAdapter(Pages(1), declare={"*": {"efects": "read_only"}})


async def test_what_a_session_refuses_has_failed():
    async with memory_gate(config=FREE) as gate:
        registry = ToolRegistry(gate)
        await registry.load_mcp_server(Pages(1), declare={"*": {"effects": "read_only", "scopes": "fs:read"}})
        assert gate.tool("srv.tool_0").scopes == {"mcp:connect", "fs:read"}
        outcome = await gate.call("srv.tool_0", {}, Context(scopes=frozenset({"mcp:connect", "fs:read"})))
        assert isinstance(outcome, Failed)


async def test_an_effect_whose_connection_is_lost_is_unknown(tmp_path: Path):
    command = StdioServerParameters(command=sys.executable, args=["-I", str(SCRIPT), str(tmp_path), "plain"])
    async with memory_gate(config=FREE) as gate, Client(command) as session:
        await ToolRegistry(gate).load_mcp_server(session, server_name="srv", declare=DECLARED)
        assert await ToolExecutor(gate).run("srv.echo", MAY, text="a") == "a "
        outcome = await gate.call("srv.die_after", {"text": "last"}, MAY)
        assert isinstance(outcome, Unknown)
    assert witnessed(tmp_path, "notes") == ["last"]
