"""The ways to run a handler: in the caller's own task, in a task of its own, on a thread, in a process.

Each enters it once, under its time limit. Past the limit, or when the caller lets go, it says who still runs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from callgate.model.shapes import own_copy
from callgate.pipeline.processes import packed, run_in_process
from callgate.pipeline.shield import Bell, contained, finish
from callgate.pipeline.threads import NotStarted

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.pipeline.executed import Executed
    from callgate.pipeline.parts import Parts

Way = Callable[["Parts", "Executed"], Coroutine[Any, Any, None]]
_log = logging.getLogger("callgate")
_GRACE = 1.0
"""How long a cancelled handler may take to clean up before the caller is let go."""


def way_to_run(parts: Parts, tool: Tool) -> Way:
    """How a handler of this tool is run."""
    if tool.isolation == "process":
        return _run_process
    if not tool.is_async:
        return _run_thread
    return _run_inline if tool.read_only and tool.name not in parts.stubborn else _run_task


async def _run_inline(parts: Parts, executed: Executed) -> None:
    """A read runs in the caller's own task: it has nothing to lose by being cancelled with it, if it heeds that."""
    permit, task = executed.permit, executed.task
    handler = permit.tool.handler
    assert handler is not None  # noqa: S101 - resolved tools have one
    # Trying again takes from the same limit.
    limit = permit.limit if executed.tries == 1 else executed.context.remaining(parts.clock.monotonic()) or 0.0
    executed.context.runs_in = task
    deadline = parts.deadlines.start(task.get_loop(), partial(_tell_to_stop, parts, executed), limit)
    try:
        executed.value = await handler(own_copy(permit.arguments), executed.context)
    except asyncio.CancelledError:
        if not deadline.expired:
            raise
    finally:
        deadline.finish(deadline)
        if deadline.expired:
            executed.timed_out = True
            if task.uncancel() > executed.cancelled_before:
                executed.cancelled = True


def _tell_to_stop(parts: Parts, executed: Executed) -> None:
    """The limit of a read: its task is cancelled, and after the grace it is looked at what came of that."""
    executed.task.cancel()
    executed.task.get_loop().call_later(_GRACE, _look_again, parts, executed)


def _look_again(parts: Parts, executed: Executed) -> None:
    """A read that still runs holds its caller, in whose task it is; from now on its tool has tasks of its own."""
    name = executed.permit.tool.name
    if not executed.ended and name not in parts.stubborn:
        parts.stubborn.add(name)
        _log.warning("%s goes on after its limit, though it was cancelled: it holds its caller this once", name)


async def _run_task(parts: Parts, executed: Executed) -> None:
    """An effect runs in a task of its own, so that neither a stubborn handler nor a hasty caller decides its record."""
    permit = executed.permit
    handler = permit.tool.handler
    assert handler is not None  # noqa: S101 - resolved tools have one
    loop = executed.task.get_loop()
    bell = Bell(loop=loop)

    def ended() -> None:
        # In the handler's own last step: the loop would tell it a turn later.
        task.remove_done_callback(bell.ring)
        bell.ring()

    work = contained(handler(own_copy(permit.arguments), executed.context), ended)
    # Made by hand: a loop with eager tasks would have the first step run before it is known which task that is.
    task = executed.context.runs_in = asyncio.Task(work, loop=loop)
    await _await_limited(parts, executed, task, bell)


async def _run_thread(parts: Parts, executed: Executed) -> None:
    permit = executed.permit
    handler, lane = permit.tool.handler, permit.lane
    assert handler is not None  # noqa: S101 - resolved tools have one
    assert lane is not None  # noqa: S101 - the claim took a place
    arguments = own_copy(permit.arguments)
    try:
        future = lane.run(partial(handler, arguments, executed.context))
    except NotStarted:
        executed.entered = False
        raise
    bell = Bell(loop=executed.task.get_loop())
    future.tell_first(bell.ring)
    await _await_limited(parts, executed, future, bell, cancel=False)
    if asyncio.iscoroutine(executed.value):
        # A plain callable that returns a coroutine (a lambda around an async function): it still has to be awaited.
        bell = Bell(loop=executed.task.get_loop())
        await _await_limited(parts, executed, asyncio.ensure_future(executed.value), bell)


async def _run_process(parts: Parts, executed: Executed) -> None:
    permit = executed.permit
    executed.entered = False
    work = packed(permit.tool, permit.arguments, executed.context)
    executed.entered = True
    holding = parts.store.handles_for_children()
    running_child = asyncio.ensure_future(run_in_process(permit.tool.name, work, executed.context, holding=holding))
    try:
        await _await_limited(parts, executed, running_child, Bell(loop=executed.task.get_loop()))
    except NotStarted:
        executed.entered = False
        raise


async def _await_limited(
    parts: Parts, executed: Executed, future: asyncio.Future[Any], bell: Bell, *, cancel: bool = True
) -> None:
    """Wait for the handler until its limit; past it, or when cancelled, let go and remember who still runs."""
    left = executed.context.remaining(parts.clock.monotonic()) or 0.0
    # Awaiting the handler itself would cancel it with the caller, and wait for it however long it takes.
    future.add_done_callback(bell.ring)
    deadline = parts.deadlines.start(bell.get_loop(), bell.ring, left)
    try:
        await bell
    except asyncio.CancelledError:
        executed.cancelled = True
        await _let_go(executed, future, cancel=cancel)
        raise
    finally:
        deadline.finish(deadline)
    if future.done():
        executed.value = future.result()
        return
    executed.timed_out = True
    await _let_go(executed, future, cancel=cancel)


async def _let_go(executed: Executed, future: asyncio.Future[Any], *, cancel: bool) -> None:
    """Secrets and nested calls end at once; a handler that does not stop is left to finish by itself."""
    executed.context.end()
    if cancel:
        future.cancel()
        await _give_grace(executed, future)
    if not future.done():
        executed.still_running = future
    elif not future.cancelled():
        _take_late(executed, future)


async def _give_grace(executed: Executed, future: asyncio.Future[Any]) -> None:
    """Let a cancelled handler clean up; a caller who lets go meanwhile is heard, but only after it."""
    _, cancelled = await finish(asyncio.wait({future}, timeout=_GRACE))
    executed.cancelled = executed.cancelled or cancelled


def _take_late(executed: Executed, future: asyncio.Future[Any]) -> None:
    """The handler ended while it was being stopped. If it came through, that is known, and better than unknown."""
    error = future.exception()
    if error is not None:
        executed.error = error
    elif asyncio.iscoroutine(value := future.result()):
        value.close()  # of a plain callable: nobody waits for it any more, and so it is not run
    else:
        executed.value = future.result()
        executed.timed_out = False
        executed.came_through = True
