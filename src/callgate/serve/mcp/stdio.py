"""MCP over stdio: one client, which started us, and whose pipes carry the protocol and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TextIO

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from callgate.serve.hooks.answering import prepare
from callgate.serve.mcp.asker import always
from callgate.serve.mcp.door import McpDoor
from callgate.serve.mcp.prompting import PromptingDoor

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from callgate.model.context import Context
    from callgate.runtime.gate import Callgate


LARGEST_MESSAGE = 16 * 1024 * 1024
"""A client that sends more in one line is not read any further."""
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
    prompts: bool = False
    """Whether it asks here before its own tools run."""


async def serve_stdio(gate: Callgate, client: Client, *, wire: Wire) -> None:
    """Serve one client until it closes its end."""
    who = always(client.context, attended=client.attended, source=client.source)
    kind = PromptingDoor if client.prompts else McpDoor
    if client.prompts:
        prepare(gate, Path.cwd())
    async with _door(kind(gate, who, url=client.url)) as door, _streams(wire) as (reading, writing):
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
    coming, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, going = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [asyncio.ensure_future(_read(reader, coming)), asyncio.ensure_future(_write(writer, going))]
    try:
        yield incoming, outgoing
    finally:
        outgoing.close()
        await asyncio.wait(tasks[1:], timeout=_LAST_WORDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for stream in (coming, incoming, outgoing, going):
            stream.close()
        for end in (wire.stdin, wire.stdout):
            # Others may have the same pipe or terminal, and found it blocking.
            os.set_blocking(end.fileno(), True)


async def _on_loop(wire: Wire) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LARGEST_MESSAGE)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), wire.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, wire.stdout)
    return reader, asyncio.StreamWriter(transport, protocol, None, loop)


async def _read(reader: asyncio.StreamReader, coming: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    with coming, contextlib.suppress(asyncio.IncompleteReadError, anyio.BrokenResourceError):
        while True:
            line = await reader.readuntil(b"\n")
            try:
                message = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
            except ValueError as error:
                await coming.send(error)
            else:
                await coming.send(message)


async def _write(writer: asyncio.StreamWriter, going: MemoryObjectReceiveStream[SessionMessage]) -> None:
    with going, contextlib.suppress(OSError):
        async for message in going:
            writer.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
            await writer.drain()
