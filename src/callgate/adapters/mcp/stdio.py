"""A server as a child process: messages are lines of its stdin and stdout, each of bounded size. Knows no protocol.

The SDK's own transport hands on more of the environment, and tells nobody that the child has ended; that matters where
the child is not trusted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from callgate.adapters.mcp.last_words import LastWords
from callgate.adapters.mcp.lines import LARGEST_MESSAGE, Incoming, LinesEnded, Outgoing, read_message

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

_UNSENT = 1024 * 1024
"""Bytes that may wait to be written before a sender waits."""
_PATIENCE = 2.0
"""Seconds for each: to end by itself once its stdin is closed, after SIGTERM, after SIGKILL."""
_LAST_WORDS = 0.5
"""Seconds to read what it wrote to stderr before it ended."""
_LOOK_AGAIN = 0.01
_STDERR_CHUNK = 4096
_GARBAGE_AT_MOST = 10_000
"""Lines in a row that are no messages."""


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
async def child_transport(child: Child) -> AsyncGenerator[Any]:
    """Start the child; its streams for a session. On leaving, it and everything it started is gone.

    Raises:
        OSError: It cannot be started.
    """
    process = await _start(child)
    words = LastWords()
    assert process.stdin is not None  # noqa: S101 - both were asked for
    assert process.stdout is not None  # noqa: S101 - as above
    read, write = _Said(child, process.stdout), _told(process.stdin)
    listening = asyncio.ensure_future(_listen(child, process, words=words))
    try:
        yield read, write
    finally:
        left = read.ended  # it closed its output, and was not told to go
        await read.aclose()
        await write.aclose()
        ending = asyncio.ensure_future(_end(process, listening=listening))
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


class _Said(Incoming):
    """What the child says."""

    def __init__(self, child: Child, stdout: asyncio.StreamReader) -> None:
        super().__init__()
        self._child = child
        self._stdout = stdout
        self.ended = False
        """Whether nothing more will come."""
        self._garbage = 0
        """Lines since the last message."""

    async def receive(self) -> SessionMessage:
        """The next message; lines that are none are told, and left out.

        Raises:
            anyio.EndOfStream: Nothing more will come; who has to know was told.
        """
        import anyio  # noqa: PLC0415 - comes with the SDK

        while not (self.closed or self.ended):
            try:
                message = await read_message(self._stdout)
            except LinesEnded as why:
                self._end(str(why))
                break
            if not isinstance(message, ValueError):
                self._garbage = 0
                return message
            self._hear_garbage()
            # What waits to be read is read without a turn of the loop, which belongs to everybody.
            await asyncio.sleep(0)
        raise anyio.EndOfStream

    def _hear_garbage(self) -> None:
        self._garbage += 1
        self._child.on_line("a line that is no message", "garbage")
        if self._garbage >= _GARBAGE_AT_MOST:
            self._end(f"it wrote {_GARBAGE_AT_MOST} lines that are no messages")

    def _end(self, reason: str) -> None:
        self.ended = True
        self._child.on_end(reason)


def _told(stdin: asyncio.StreamWriter) -> Outgoing:
    """What the child is told."""
    if not stdin.is_closing():
        stdin.transport.set_write_buffer_limits(high=_UNSENT)
    return Outgoing(stdin)


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


async def _end(process: asyncio.subprocess.Process, *, listening: asyncio.Future[None]) -> int | None:
    """First politely, as the protocol says: close its stdin and wait; then not. Its exit code, if that is its own."""
    if process.stdin is not None:
        process.stdin.close()
    code: int | None = None
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            _signal(process, number)
        if await _ended(process):
            code = process.returncode if number is None else None
            break
    # What it left running in its group goes too.
    _signal(process, signal.SIGKILL)
    # What it wrote last is still on its way; who left the group may hold the other end for ever.
    await asyncio.wait({listening}, timeout=_LAST_WORDS)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)
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
        os.killpg(process.pid, number)


def _close_pipes(process: asyncio.subprocess.Process) -> None:
    """A grandchild may hold the other ends for as long as it likes; ours are closed."""
    transport = getattr(process, "_transport", None)
    close = getattr(transport, "close", None)
    if close is not None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            close()
