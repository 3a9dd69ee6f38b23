"""Asking a server for its tools, page by page, within bounds: a list without an end is no list."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool

MOST_TOOLS = 2000
_MOST_PAGES = 100
_LONGEST = 30.0


async def list_tools(client: Client) -> list[Tool]:
    """Every tool the server has.

    Raises:
        ConfigurationError: It has too many, or does not come to an end.
        MCPError: The server refuses, or is gone.
        TimeoutError: It takes too long.
    """
    if client.server_capabilities.tools is None:
        return []
    found: list[Tool] = []
    cursor: str | None = None
    async with asyncio.timeout(_LONGEST):
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            found += page.tools
            cursor = page.next_cursor
            if len(found) > MOST_TOOLS:
                raise ConfigurationError(f"the server lists more than {MOST_TOOLS} tools")
            if cursor is None:
                return found
    raise ConfigurationError(f"the server's list of tools has more than {_MOST_PAGES} pages")
