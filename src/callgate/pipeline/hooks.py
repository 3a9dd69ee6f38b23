"""Hooks: running a tool author's own function beside a call, bounded in time and never on the event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from callgate.registry.health import connector_of

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Parts

SECONDS = 10.0
"""How long a check, a preview or a look at what was read may take."""


def hook_limit(context: Context) -> float:
    """Seconds a hook may take under this context, whose own limit caps everything."""
    return SECONDS if context.timeout is None else min(SECONDS, context.timeout)


async def run_hook(
    parts: Parts, tool: Tool, hook: Callable[..., Any], *given: Any, seconds: float | None = None
) -> Any:
    """What the function says. A plain one runs on a thread, in a lane beside its connector's calls.

    Raises:
        TimeoutError: It did not answer in time, or every thread for such functions is busy.
        Exception: Whatever it raises.
    """
    seconds = SECONDS if seconds is None else seconds
    if inspect.iscoroutinefunction(hook):
        return await asyncio.wait_for(hook(*given), seconds)
    lane = parts.threads.lane(f"hooks:{connector_of(tool)}")
    if not await lane.take(seconds):
        message = f"every thread for the functions of {tool.name} is busy"
        raise TimeoutError(message)
    future = lane.run(lambda: hook(*given))
    future.add_done_callback(lambda _done: lane.give())
    answer = await asyncio.wait_for(asyncio.shield(future), seconds)
    return await asyncio.wait_for(answer, seconds) if inspect.isawaitable(answer) else answer
