"""Handlers in a process of their own, for work that must be killable: when its time is up, it is really gone.

The child is spawned fresh (nothing of the parent's memory or locks), finds the handler by its import path, gets the
arguments and the secrets it asks for over a line, asks whether it may enter the function, and answers with one message.
It leads a process group: what it started ends with it, also when it answered and left something running. Starting and
ending take a thread, so that neither holds up the event loop, and a child whose start nobody waits for any more is
ended all the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pickle
import signal
import socket
import time
from functools import partial
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from callgate.errors import ConfigurationError, ToolExecutionError
from callgate.model.context_form import context_to_json
from callgate.pipeline.child import LENGTH, KeptOpen, child_main
from callgate.pipeline.shield import finish
from callgate.pipeline.threads import Lane, NotStarted
from callgate.ports.unshared import close_unshared, pipe_unshared, socketpair_unshared

if TYPE_CHECKING:
    from collections.abc import Generator
    from multiprocessing.process import BaseProcess

    from callgate.model.tool import Arguments, Tool
    from callgate.model.tool_context import ToolContext

_CHUNK = 256 * 1024
_PATIENCE = 30.0
"""How long the system is asked how a killed process ended; from then on it is enough that it is gone."""
_ASKS = frozenset({"enter", "secret", "effect", "shown"})
"""What a child waits for an answer to."""
_LOOK = 0.002


class OutputLost(Exception):
    """The handler returned, and what it returned cannot be sent from one process to another."""


async def run_in_process(name: str, work: bytes, context: ToolContext, *, holding: tuple[int, ...] = ()) -> Any:
    """Run what was `packed` in a child; cancelling this kills the child and waits for it to be gone.

    Args:
        name: The tool's.
        work: What is run.
        context: Of the call.
        holding: Handles that the child has open for as long as it lives.

    Raises:
        NotStarted: No child could be started, so that nothing was entered.
        ConnectionError: The child died without an answer.
        OutputLost: It returned what cannot be sent.
    """
    ours, theirs = socketpair_unshared()
    ours.settimeout(0.0)
    theirs.settimeout(None)
    spawn = multiprocessing.get_context("spawn")
    with ours, theirs, _life() as life:
        kept = KeptOpen(life, *holding)
        child = spawn.Process(target=child_main, args=(theirs, work, kept), daemon=True, name=f"callgate-{name}")
        lane = Lane(f"process-{name}", 2)
        starting = lane.run(child.start)
        try:
            await _started(starting)
            theirs.close()
            return await _Conversation(ours, lane, context).answer()
        finally:
            # An answer that came stands, even if somebody let go while the child was being ended.
            await finish(_ended(lane, child, starting))
            lane.close()


@contextlib.contextmanager
def _life() -> Generator[int]:
    """A handle that ends when we do, whatever we forked meanwhile; of multiprocessing's own a fork has a copy."""
    ends = pipe_unshared()
    try:
        yield ends[0]
    finally:
        for end in ends:
            close_unshared(end)


async def _started(starting: asyncio.Future[None]) -> None:
    try:
        await asyncio.shield(starting)
    except Exception as error:
        raise NotStarted(f"no process can be started for it ({type(error).__name__})") from error


async def _ended(lane: Lane, child: BaseProcess, starting: asyncio.Future[None]) -> None:
    await asyncio.wait({starting})
    if child.pid is not None:
        await lane.run(partial(_end, child, child.pid))


def _end(child: BaseProcess, number: int) -> None:
    """Kill it and all it started, and wait until it is gone."""
    _kill_group(number)
    child.kill()
    # Once more: it may have become a leader between the two.
    _kill_group(number)
    until = time.monotonic() + _PATIENCE
    # Where somebody else asked first, the system does not tell us; and one that cannot be killed is still running.
    while child.exitcode is None and not (time.monotonic() > until and wait([child.sentinel], 0)):
        time.sleep(_LOOK)
    child.join(0)


def _kill_group(number: int) -> None:
    """Kill every process of the group that the child leads; nothing, where it leads none."""
    # One platform says "not permitted" of a group in which nobody lives any more.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(number, signal.SIGKILL)


def packed(tool: Tool, arguments: Arguments, context: ToolContext) -> bytes:
    """The call as it travels to a child.

    Raises:
        ConfigurationError: The handler cannot be found from another process.
    """
    try:
        return pickle.dumps((tool.original, arguments, _facts(context)))
    except Exception as error:
        message = (
            f"{tool.name} cannot run in a process: define its function at the top of a module ({type(error).__name__})"
        )
        raise ConfigurationError(message) from error


def _facts(context: ToolContext) -> dict[str, Any]:
    """What the child needs to be told of the call."""
    return {
        "context": context_to_json(context.context),
        "tool": context.tool,
        "call_id": context.call_id,
        "key": context.key,
        "working_directory": context.working_directory,
        "seconds": context.remaining(time.monotonic()),
    }


class _Conversation:
    """What is said between the call and its child, until the child answers."""

    def __init__(self, ours: socket.socket, lane: Lane, context: ToolContext) -> None:
        self._ours = ours
        self._lane = lane
        self._context = context

    async def answer(self) -> Any:
        while True:
            kind, body = await self._receive()
            if kind in _ASKS:
                await self._reply(kind, body)
            elif kind == "progress":
                self._context.progress(*body)
            elif kind == "returned":
                return await self._returned(body)
            elif kind == "unsent":
                raise OutputLost(body)
            else:
                raise body if isinstance(body, Exception) else ToolExecutionError(str(body))

    async def _reply(self, kind: str, body: Any) -> None:
        if kind == "secret":
            await self._send(_secret(self._context, *body))
        elif kind == "effect":
            async with self._context.effect():
                await self._send(("ok", None))
        elif kind == "shown":
            await self._send(("ok", self._context.is_as_shown(body)))
        else:
            await self._send(("ok", None))

    async def _returned(self, body: bytes) -> Any:
        try:
            return await self._unpacked(body)
        except Exception as error:
            raise OutputLost(type(error).__name__) from error

    async def _send(self, message: tuple[str, Any]) -> None:
        body = pickle.dumps(message)
        await asyncio.get_running_loop().sock_sendall(self._ours, LENGTH.pack(len(body)) + body)

    async def _receive(self) -> tuple[str, Any]:
        try:
            (length,) = LENGTH.unpack(await self._read(LENGTH.size))
            body = await self._read(length)
        except (EOFError, OSError) as error:
            message = "the process that ran it died without an answer"
            raise ConnectionError(message) from error
        return await self._unpacked(body)

    async def _unpacked(self, body: bytes | bytearray) -> Any:
        if len(body) <= _CHUNK:
            return pickle.loads(body)  # noqa: S301 - our own child wrote it
        return await self._lane.run(lambda: pickle.loads(body))  # noqa: S301 - as above

    async def _read(self, length: int) -> bytearray:
        """So many bytes, a piece at a time: a long answer, or half of one, holds up nobody else."""
        loop = asyncio.get_running_loop()
        body = bytearray()
        while len(body) < length:
            chunk = await loop.sock_recv(self._ours, min(_CHUNK, length - len(body)))
            if not chunk:
                raise EOFError
            body += chunk
            if len(body) < length:
                # What is there already is read without a pause.
                await asyncio.sleep(0)
        return body


def _secret(context: ToolContext, connector: str, key: str) -> tuple[str, Any]:
    try:
        return "ok", context.get_secret(connector, key)
    except Exception as error:  # noqa: BLE001 - the child is told, in the words of the error
        return "error", str(error)
