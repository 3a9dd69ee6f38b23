"""Handlers in a process of their own, for work that must be killable: when its time is up, it is really gone.

The child is spawned fresh (nothing of the parent's memory or locks), finds the handler by its import path, gets the
arguments and the secrets it asks for over a pipe, and answers with one message.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, cast

from callgate.errors import ConfigurationError, ToolExecutionError
from callgate.model.context_form import context_to_json
from callgate.pipeline.child import child_main

if TYPE_CHECKING:
    from callgate.model.tool import Arguments, Tool
    from callgate.model.tool_context import ToolContext


async def run_in_process(tool: Tool, arguments: Arguments, context: ToolContext) -> Any:
    """Run the handler in a child; cancelling this kills the child and waits for it to be gone.

    Raises:
        ConfigurationError: The handler cannot be found from another process.
        ConnectionError: The child died without an answer.
    """
    work = _pickled(tool, arguments, context)
    spawn = multiprocessing.get_context("spawn")
    pipe = spawn.Pipe()
    ours, theirs = cast("tuple[Connection, Connection]", pipe)
    process = spawn.Process(target=child_main, args=(theirs, work), daemon=True, name=f"callgate-{tool.name}")
    loop = asyncio.get_running_loop()
    await loop.run_in_executor(None, process.start)
    theirs.close()
    try:
        return await _converse(ours, context)
    finally:
        _kill(process)
        ours.close()


def _pickled(tool: Tool, arguments: Arguments, context: ToolContext) -> bytes:
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


async def _converse(ours: Connection, context: ToolContext) -> Any:
    while True:
        kind, body = await _receive(ours)
        if kind == "secret":
            ours.send(_secret(context, *body))
        elif kind == "progress":
            context.progress(*body)
        elif kind == "effect":
            async with context.effect():
                ours.send(("ok", None))
        elif kind == "returned":
            return body
        else:
            raise body if isinstance(body, Exception) else ToolExecutionError(str(body))


def _secret(context: ToolContext, connector: str, key: str) -> tuple[str, Any]:
    try:
        return "ok", context.get_secret(connector, key)
    except Exception as error:  # noqa: BLE001 - the child is told, in the words of the error
        return "error", str(error)


async def _receive(ours: Connection) -> tuple[str, Any]:
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    loop.add_reader(ours.fileno(), lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(ours.fileno())
    try:
        return ours.recv()
    except (EOFError, OSError) as error:
        message = "the process that ran it died without an answer"
        raise ConnectionError(message) from error


def _kill(process: BaseProcess) -> None:
    if process.is_alive():
        process.kill()
    process.join(5)
