"""Asking a server for its tools, page by page, within bounds: a list without an end is no list."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from callgate.errors import ConfigurationError
from callgate.model.source import Failure
from callgate.model.visible import brief

if TYPE_CHECKING:
    from mcp import Client
    from mcp_types import Tool

    from callgate.adapters.mcp.sieve import Sieve

MOST_TOOLS = 2000
_MOST_PAGES = 100
_LONGEST = 30.0


class Listing(NamedTuple):
    """What a server lists."""

    tools: list[Tool]
    failures: tuple[Failure, ...] = ()
    """What it lists and is no tool, by name and reason."""


async def list_tools(client: Client, sieve: Sieve) -> Listing:
    """Every tool the server has.

    Raises:
        ConfigurationError: It has too many, or does not come to an end.
        MCPError: The server refuses, or is gone.
        TimeoutError: It takes too long.
    """
    if client.server_capabilities.tools is None:
        return Listing([])
    sieve.begin(client.protocol_version)
    found: list[Tool] = []
    cursor: str | None = None
    async with asyncio.timeout(_LONGEST):
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            found += page.tools
            cursor = page.next_cursor
            if len(found) + len(sieve.faults) > MOST_TOOLS:
                raise ConfigurationError(f"the server lists more than {MOST_TOOLS} tools")
            if cursor is None:
                return Listing(found, (*sieve.faults, *_dropped(sieve.names, found)))
    raise ConfigurationError(f"the server's list of tools has more than {_MOST_PAGES} pages")


def _dropped(names: Iterable[str], found: Iterable[Tool]) -> Iterable[Failure]:
    """What the SDK leaves out without a word: the protocol forbids to call it."""
    kept = {brief(tool.name) for tool in found}
    for name in names:
        if name not in kept:
            yield Failure(name, "it asks for HTTP headers that cannot be sent (x-mcp-header), so it must not be called")
