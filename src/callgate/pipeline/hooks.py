"""Hooks: running a tool author's own function beside a call, bounded in time and never on the event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from callgate.model.tool_context import ToolContext
from callgate.pipeline.parts import running
from callgate.pipeline.shield import contained
from callgate.registry.health import connector_of

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Asked, Parts
    from callgate.pipeline.threads import Running

SECONDS = 10.0
"""How long a check, a preview or a look at what was read may take."""

_left_behind: set[asyncio.Task[Any]] = set()
"""Functions that were told to stop and have not: nobody waits for them, and nobody forgets them."""


@contextmanager
def only_looking(parts: Parts, asked: Asked, tool: Tool) -> Generator[ToolContext]:
    """While a function looks at a call that nobody has let through: what it starts through the gate may read only."""
    around = running.get()
    context = ToolContext(
        only_reads=True,
        reaches=None if around is None else around.reaches,
        context=asked.context,
        tool=tool.name,
        call_id=asked.call_id,
        working_directory=parts.directory_of(asked.context),
        grounds=partial(parts.policy.grounds, tool, asked.context),
    )
    token = running.set(context)
    try:
        yield context
    finally:
        context.end()
        running.reset(token)


def hook_limit(context: Context) -> float:
    """Seconds a hook may take under this context, whose own limit caps everything."""
    return SECONDS if context.timeout is None else min(SECONDS, context.timeout)


async def run_hook(
    parts: Parts, tool: Tool, hook: Callable[..., Any], *given: Any, seconds: float | None = None
) -> Any:
    """What the function says. A plain one runs on a thread, in a lane beside its connector's calls.

    Raises:
        TimeoutError: It did not answer in time, or every thread for such functions is busy.
        Exception: Whatever it raises; more than an exception, and giving up by itself, is a RuntimeError.
    """
    seconds = SECONDS if seconds is None else seconds
    if inspect.iscoroutinefunction(hook):
        return await _in_time(hook(*given), seconds)
    on_thread = await _on_thread(parts, tool, lambda: hook(*given), seconds)
    answer = await _in_time(asyncio.shield(on_thread), seconds)
    return await _in_time(answer, seconds) if inspect.isawaitable(answer) else answer


async def _on_thread(parts: Parts, tool: Tool, function: Callable[[], Any], seconds: float) -> Running:
    lane = parts.threads.lane(f"hooks:{connector_of(tool)}")
    if not await lane.take(seconds):
        message = f"every thread for the functions of {tool.name} is busy"
        raise TimeoutError(message)
    try:
        on_thread = lane.run(function)
    except BaseException:
        lane.give()
        raise
    on_thread.afterwards(lane.give)
    return on_thread


async def _in_time(work: Awaitable[Any], seconds: float) -> Any:
    """The answer, if it comes in time. A function that does not stop when it is told to holds up nobody."""
    task = asyncio.ensure_future(contained(work))
    try:
        await asyncio.wait({task}, timeout=seconds)
    finally:
        if not task.done():
            _leave_behind(task)
    if not task.done():
        message = f"no answer within {seconds:g} seconds"
        raise TimeoutError(message)
    if task.cancelled():
        message = "the function gave up by itself"
        raise RuntimeError(message)
    return task.result()


def _leave_behind(task: asyncio.Task[Any]) -> None:
    task.cancel()
    _left_behind.add(task)
    task.add_done_callback(_forget)


def _forget(task: asyncio.Task[Any]) -> None:
    _left_behind.discard(task)
    if not task.cancelled():
        task.exception()  # read, so that nobody is told of an exception that was never asked for
