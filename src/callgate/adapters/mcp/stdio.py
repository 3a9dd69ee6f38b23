"""A server as a child process: messages are lines of its stdin and stdout, each of bounded size. Knows no protocol.

The SDK's own transport reads lines without a bound, hands on more of the environment, and tells nobody that the child
has ended; all of that matters where the child is not trusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.adapters.mcp.last_words import LastWords

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.client._transport import TransportStreams
    from mcp.shared.message import SessionMessage

LARGEST_MESSAGE = 16 * 1024 * 1024
_WAITING = 256
"""Messages that may wait to be written before a sender waits: a server that does not read holds up nobody else."""
_PATIENCE = 2.0
"""Seconds for each: to end by itself once its stdin is closed, after SIGTERM, after SIGKILL."""
_LAST_WORDS = 0.5
"""Seconds to read what it wrote to stderr before it ended."""
_LOOK_AGAIN = 0.01
_STDERR_CHUNK = 4096
_KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""Windows has only one way to end a process, and it is final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """What is started."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None
    on_line: Callable[[str, str], None]
    """Told what the child writes beside the protocol: the text, and where (`stderr` or `garbage`)."""
    on_end: Callable[[str], None]
    """Told that nothing more will come, and why; where the child ended by itself, once more, how it did."""


@asynccontextmanager
async def child_transport(child: Child) -> AsyncGenerator[TransportStreams]:
    """Start the child; its streams for a session. On leaving, it and everything it started is gone.

    Raises:
        OSError: It cannot be started.
    """
    import anyio  # noqa: PLC0415 - comes with the SDK

    process = await _start(child)
    words = LastWords()
    incoming, read = anyio.create_memory_object_stream[Any](0)
    write, outgoing = anyio.create_memory_object_stream[Any](_WAITING)
    tasks = [
        asyncio.ensure_future(_read(child, process, incoming=incoming)),
        asyncio.ensure_future(_write(process, outgoing)),
    ]
    listening = asyncio.ensure_future(_listen(child, process, words=words))
    try:
        yield read, write
    finally:
        for stream in (read, write, incoming, outgoing):
            stream.close()
        left = tasks[0].done()  # it closed its output, and was not told to go
        ending = asyncio.ensure_future(_end(process, tasks, listening=listening))
        # The child must not outlive us, however hastily we are told to go.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(ending)
        code = await ending
        if left and code is not None:
            child.on_end(words.told(code))


async def _start(child: Child) -> asyncio.subprocess.Process:
    program = shutil.which(child.command[0], path=child.env.get("PATH")) or child.command[0]
    return await asyncio.create_subprocess_exec(
        program,
        *child.command[1:],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(child.env),
        cwd=child.cwd,
        limit=LARGEST_MESSAGE,
        start_new_session=True,
    )


async def _read(child: Child, process: asyncio.subprocess.Process, *, incoming: MemoryObjectSendStream[Any]) -> None:
    import anyio  # noqa: PLC0415 - comes with the SDK

    assert process.stdout is not None  # noqa: S101 - it was asked for
    reason = "it closed its output"
    try:
        while True:
            message = _parsed(await process.stdout.readuntil(b"\n"))
            if message is None:
                child.on_line("a line that is no message", "garbage")
            else:
                await incoming.send(message)
    except asyncio.IncompleteReadError:
        pass
    except asyncio.LimitOverrunError:
        reason = f"it sent a message of more than {LARGEST_MESSAGE} bytes"
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        reason = "the session was closed"
    except OSError as error:
        reason = f"reading from it failed ({type(error).__name__})"
    finally:
        incoming.close()
        child.on_end(reason)


def _parsed(line: bytes) -> SessionMessage | None:
    from mcp.shared.message import SessionMessage  # noqa: PLC0415 - the SDK is loaded when it is needed
    from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - as above

    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _write(process: asyncio.subprocess.Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
    assert process.stdin is not None  # noqa: S101 - it was asked for
    with contextlib.suppress(OSError):
        async for message in outgoing:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(text.encode() + b"\n")
            await process.stdin.drain()
    outgoing.close()


async def _listen(child: Child, process: asyncio.subprocess.Process, *, words: LastWords) -> None:
    """What it writes to stderr, line by line; a line without an end is cut, and never kept whole."""
    assert process.stderr is not None  # noqa: S101 - it was asked for
    rest = b""
    while chunk := await process.stderr.read(_STDERR_CHUNK):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _STDERR_CHUNK:
            lines.append(rest)
            rest = b""
        for line in lines:
            _hear(child, line, words=words)
    if rest:
        _hear(child, rest, words=words)


def _hear(child: Child, line: bytes, *, words: LastWords) -> None:
    text = line.decode(errors="replace")
    words.add(text)
    child.on_line(text, "stderr")


async def _end(
    process: asyncio.subprocess.Process, tasks: Sequence[asyncio.Future[None]], *, listening: asyncio.Future[None]
) -> int | None:
    """First politely, as the protocol says: close its stdin and wait; then not. Its exit code, if that is its own."""
    if process.stdin is not None:
        process.stdin.close()
    code: int | None = None
    for number in (None, signal.SIGTERM, _KILL):
        if number is not None:
            _signal(process, number)
        if await _ended(process):
            code = process.returncode if number is None else None
            break
    # What it left running in its group goes too.
    _signal(process, _KILL)
    # What it wrote last is still on its way; who left the group may hold the other end for ever.
    await asyncio.wait({listening}, timeout=_LAST_WORDS)
    for task in (*tasks, listening):
        task.cancel()
    await asyncio.gather(*tasks, listening, return_exceptions=True)
    _close_pipes(process)
    # The loop takes a turn to close what was closed.
    await asyncio.sleep(0)
    return code


async def _ended(process: asyncio.subprocess.Process) -> bool:
    """By looking, because waiting for a process waits for everybody who inherited its pipes as well."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _PATIENCE
    while process.returncode is None and loop.time() < until:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(_LOOK_AGAIN)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        elif process.returncode is None:
            process.send_signal(number)


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """A grandchild may hold the other ends for as long as it likes; ours are closed."""
    transport = getattr(process, "_transport", None)
    close = getattr(transport, "close", None)
    if close is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            close()
