"""An MCP server made with the official SDK, of the protocol 2026-07-28, over stdio or HTTP; a folder is its witness."""

import os
import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import Context, Image, MCPServer

FOLDER = Path(sys.argv[1])
server = MCPServer("modern")


def witness(name: str, text: str = "") -> None:
    with (FOLDER / name).open("a") as file:
        file.write(f"{text}\n")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def note(text: str) -> str:
    """Note a text."""
    witness("notes", text)
    return "noted"


@server.tool()
def picture() -> Image:
    """Draw."""
    return Image(data=b"hi", format="png")


@server.tool()
async def steps(context: Context) -> str:
    """Take two steps."""
    await context.report_progress(1, 2, "half")
    await context.report_progress(2, 2, "whole")
    return f"done over {context.protocol_version}"


@server.tool()
async def hang() -> str:
    """Never end."""
    witness("hangs")
    try:
        await anyio.sleep_forever()
    except BaseException:
        witness("cancelled")
        raise
    return ""


@server.tool()
def die_after(text: str) -> str:
    """Note a text and die."""
    witness("notes", text)
    os._exit(1)


@server.tool()
async def change(context: Context) -> str:
    """Have other tools from now on."""

    def brand_new() -> str:
        """New."""
        return "new"

    server.add_tool(brand_new)
    server.remove_tool("picture")
    await context.notify_tools_changed()
    return "changed"


witness("starts", str(os.getpid()))
if len(sys.argv) > 2:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")
