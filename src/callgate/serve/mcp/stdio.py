"""MCP over stdio: one client, which started us, and whose pipes carry the protocol and nothing else."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TextIO

import anyio
from mcp.server.stdio import stdio_server

from callgate.serve.mcp.asker import always
from callgate.serve.mcp.door import McpDoor

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.runtime.gate import Callgate


@dataclass(frozen=True, slots=True)
class Wire:
    """The pipes of the protocol, ours alone: what others read and print goes elsewhere."""

    stdin: TextIO
    stdout: TextIO

    @classmethod
    def take(cls) -> Self:
        """Take the process's own, so that tools and the programs they start neither read nor write them."""
        stdin = os.fdopen(os.dup(0), encoding="utf-8", errors="replace")
        stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return cls(stdin, stdout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Who started us, as the one who did says."""

    context: Context
    attended: bool = False
    source: str | None = None
    url: str | None = None
    """Where people decide, where there is a console."""


async def serve_stdio(gate: Callgate, client: Client, *, wire: Wire) -> None:
    """Serve one client until it closes its end."""
    who = always(client.context, attended=client.attended, source=client.source)
    async with _door(McpDoor(gate, who, url=client.url)) as door:
        streams = stdio_server(anyio.wrap_file(wire.stdin), anyio.wrap_file(wire.stdout))
        async with streams as (reading, writing):
            await door.run(reading, writing, door.create_initialization_options())


@asynccontextmanager
async def _door(door: McpDoor) -> AsyncGenerator[McpDoor]:
    try:
        yield door
    finally:
        door.close()
