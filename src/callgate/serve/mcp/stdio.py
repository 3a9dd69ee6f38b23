"""MCP over stdio: one client, which started us, and whose pipes carry the protocol and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

import anyio
from mcp.server.stdio import stdio_server

from callgate.runtime.message_lines import LARGEST_MESSAGE, Incoming, LinesEnded, Outgoing, read_message
from callgate.serve.hooks.answering import prepare
from callgate.serve.mcp.asker import always
from callgate.serve.mcp.door import McpDoor
from callgate.serve.mcp.prompting import PromptingDoor
from callgate.serve.showing import Show, show_here

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

    from callgate.model.context import Context
    from callgate.runtime.gate import Callgate


_log = logging.getLogger("callgate.mcp")
_LAST_WORDS = 5.0


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
    show: Show = show_here
    """How they find a question, where there is none."""
    prompts: bool = False
    """Whether it asks here before its own tools run."""


async def serve_stdio(gate: Callgate, client: Client, *, wire: Wire) -> None:
    """Serve one client until it closes its end."""
    who = always(client.context, attended=client.attended, source=client.source)
    kind = PromptingDoor if client.prompts else McpDoor
    if client.prompts:
        prepare(gate, Path.cwd())
    async with _door(kind(gate, who, url=client.url, show=client.show)) as door, _streams(wire) as (reading, writing):
        await door.run(reading, writing, door.create_initialization_options())


@asynccontextmanager
async def _door(door: McpDoor) -> AsyncGenerator[McpDoor]:
    try:
        yield door
    finally:
        door.close()


@asynccontextmanager
async def _streams(wire: Wire) -> AsyncGenerator[tuple[Any, Any]]:
    """What comes and what goes, as the SDK takes it: on the loop, where the pipes are pipes, and bounded."""
    try:
        reader, writer = await _on_loop(wire)
    except ValueError:  # a file, say: somebody tries out what we answer
        async with stdio_server(anyio.wrap_file(wire.stdin), anyio.wrap_file(wire.stdout)) as streams:
            yield streams
        return
    try:
        yield _Coming(reader), Outgoing(writer)
    finally:
        await _flush(writer)
        for end in (wire.stdin, wire.stdout):
            # Others may have the same pipe or terminal, and found it blocking. One whose other end is gone is closed.
            if not end.closed:
                os.set_blocking(end.fileno(), True)


async def _flush(writer: asyncio.StreamWriter) -> None:
    """Have all that was said written, unless the client has gone."""
    if not writer.is_closing():
        writer.transport.set_write_buffer_limits(0)
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_LAST_WORDS):
                await writer.drain()


async def _on_loop(wire: Wire) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LARGEST_MESSAGE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), wire.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, wire.stdout)
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


class _Coming(Incoming):
    """What the client says."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        super().__init__()
        self._reader = reader
        self._ended = False

    async def receive(self) -> SessionMessage | Exception:
        """The next message, or why it is none.

        Raises:
            anyio.EndOfStream: The client has closed its end, or says more in one line than is read.
        """
        try:
            return await read_message(self._reader)
        except LinesEnded as why:
            if not (why.closed or self._ended):  # the SDK asks once more
                _log.warning("the client is not read any further: %s", why)
            self._ended = True
            raise anyio.EndOfStream from None
