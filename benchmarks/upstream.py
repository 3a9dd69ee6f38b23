"""An MCP server that answers at once, for `benchmarks.gateway`: over stdio, or over HTTP at a port it prints."""

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

import uvicorn
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult, TextContent, Tool


async def _tools(_asked: Any, _params: Any) -> ListToolsResult:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
    return ListToolsResult(tools=[Tool(name="echo", description="Say it again.", input_schema=schema)])


async def _call(_asked: Any, params: CallToolRequestParams) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=str((params.arguments or {})["text"]))])


def _server() -> Server[Any]:
    return Server("echo", on_list_tools=_tools, on_call_tool=_call)


async def _stdio() -> None:
    server = _server()
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def _http() -> None:
    # With its protocol named, so that small answers do not wait for an acknowledgement: the fair comparison.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen(128)
    print(listening.getsockname()[1], flush=True)  # whoever started it waits for this
    config = uvicorn.Config(_server().streamable_http_app(), log_config=None, access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1:] == ["stdio"]:
        asyncio.run(_stdio())
    else:
        _http()
