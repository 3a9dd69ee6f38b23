"""Step 7, execute: run the handler under its time limit, with secrets. Nobody else runs one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextvars import Token
from typing import TYPE_CHECKING, Any

from callgate.errors import NoEffect, SecretsClosed
from callgate.pipeline.executed import Executed
from callgate.pipeline.handed import Handed
from callgate.pipeline.parts import running
from callgate.pipeline.threads import Running
from callgate.pipeline.trouble import resets_at, retryable
from callgate.pipeline.ways_to_run import way_to_run

if TYPE_CHECKING:
    from callgate.model.tool_context import ToolContext
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit

_TRIES = 3
_FIRST_PAUSE = 0.1


class ParentEnded(Exception):
    """The handler that made this call has ended, so its own is not entered."""


class FenceLost(Exception):
    """The row is no longer this owner's; the handler was not entered."""


async def execute(parts: Parts, permit: Permit) -> Executed:
    """Run the handler. Never raises for what the handler does, nor for cancellation: both are facts to settle."""
    now = parts.clock.monotonic()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task here
    executed = Executed(permit, Handed(parts, permit, now + permit.limit), now, task, task.cancelling())
    parent = running.get()
    token: Token[ToolContext | None] | None = running.set(executed.context)
    try:
        if permit.row is not None or parent is not None:
            await _make_sure(parts, executed, parent)
        permit.use()
        executed.entered = True
        await _run(parts, executed)
    except asyncio.CancelledError as error:
        # Somebody cancelled the caller, or the handler gave up by itself: only the first is the caller's to hear.
        if task.cancelling() > executed.cancelled_before:
            executed.cancelled = True
        else:
            executed.error = error
    except BaseException as error:
        if isinstance(error, GeneratorExit) and not _runs(task):
            # Destroyed with its loop, in somebody else's context: nothing can be awaited or settled any more.
            token = None
            raise
        executed.error = error  # whatever the handler raises is a fact to settle
    finally:
        if token is not None:
            running.reset(token)
        _leave(parts, executed, parent)
    return executed


def _runs(task: asyncio.Task[Any]) -> bool:
    """Whether this is the task's own step, and not somebody who destroys it."""
    try:
        return asyncio.current_task() is task
    except RuntimeError:
        return False


async def _make_sure(parts: Parts, executed: Executed, parent: ToolContext | None) -> None:
    """Right before the handler is entered: is the row still ours, does the call around it run?"""
    permit = executed.permit
    if permit.row is not None:
        await _check_fence(parts, permit)
    if parent is not None:
        _belong(executed, parent)


def _belong(executed: Executed, parent: ToolContext) -> None:
    """A call that a handler makes ends with that handler, wherever it runs.

    Raises:
        ParentEnded: The handler has ended already.
    """
    if parent.runs_in is not executed.task:  # else both are stopped by the same cancellation
        parent.nested.add(executed.stop)
    if parent.closed:
        raise _parent_ended(executed, parent)
    executed.context.reaches = parent.reaches
    executed.context.only_reads = parent.only_reads
    # Also of a read, which may make a call itself: whatever starts inside is told to all it is inside of.
    executed.context.on_mark = parent.took_effect
    if executed.permit.tool.effectful and not executed.permit.tool.marks_effect:
        _start_effect(executed, parent)


def _start_effect(executed: Executed, parent: ToolContext) -> None:
    try:
        parent.took_effect()
    except SecretsClosed:
        # On another loop it, or what it is inside of, may have ended at this very moment.
        raise _parent_ended(executed, parent) from None


def _parent_ended(executed: Executed, parent: ToolContext) -> ParentEnded:
    name = executed.permit.tool.name
    return ParentEnded(f"{name} was not entered: the call of {parent.tool} it belongs to has ended")


def _leave(parts: Parts, executed: Executed, parent: ToolContext | None) -> None:
    if parent is not None:
        parent.nested.discard(executed.stop)
    executed.context.end()
    executed.ended = parts.clock.monotonic()
    lane = executed.permit.lane
    if lane is not None and executed.still_running is None:
        lane.give()


def when_ended_late(parts: Parts, executed: Executed, then: Callable[[Executed], None]) -> None:
    """Tell how a handler that outlived its limit ended after all: on whichever thread, and also past its loop."""
    future = executed.still_running
    assert future is not None  # noqa: S101 - asked by the caller
    if isinstance(future, Running):
        thread = future
        thread.afterwards(lambda: then(_ended_late(parts, executed, thread.value, thread.error)))
    else:
        future.add_done_callback(lambda done: then(_ended_late(parts, executed, *_end_of(done))))


def _end_of(done: asyncio.Future[Any]) -> tuple[Any, BaseException | None]:
    if done.cancelled():
        return None, asyncio.CancelledError()
    error = done.exception()
    return (None, error) if error is not None else (done.result(), None)


def _ended_late(parts: Parts, executed: Executed, value: Any, error: BaseException | None) -> Executed:
    late = Executed(executed.permit, executed.context, executed.started, executed.task, entered=True)
    late.lost = executed.lost
    late.ended = parts.clock.monotonic()
    late.cancelled = isinstance(error, asyncio.CancelledError)
    late.error = None if late.cancelled else error
    if asyncio.iscoroutine(value):
        # A plain callable that returned a coroutine, for which it is too late: what was to be done in it was not.
        value.close()
        late.timed_out = True
    else:
        late.value = value
    return late


async def _check_fence(parts: Parts, permit: Permit) -> None:
    """Right before the handler is entered: is the row still ours?"""
    claimed = permit.row
    assert claimed is not None  # noqa: S101 - asked by the caller
    holder = await parts.store.peek(lambda reader: reader.holder(claimed.key))
    if holder != (claimed.fence, claimed.owner, claimed.call_id):
        raise FenceLost


async def _run(parts: Parts, executed: Executed) -> None:
    """Run once, or while the limit allows where a retryable error may be tried again."""
    run_once = way_to_run(parts, executed.permit.tool)
    while True:
        try:
            return await run_once(parts, executed)
        except Exception as error:
            pause = _pause(parts, executed, error)
            if pause is None:
                raise
            if executed.past_return and not isinstance(error, NoEffect):
                executed.lost += (error,)
            executed.tries += 1
            await asyncio.sleep(pause)


def _pause(parts: Parts, executed: Executed, error: Exception) -> float | None:
    """How long to wait before trying again; None to give up."""
    if executed.timed_out or executed.tries >= _TRIES or not _may_repeat(executed) or not retryable(error):
        return None
    resets = resets_at(error)
    if resets is not None:
        pause = max(0.0, resets - parts.clock.now())
    else:
        # Jitter spreads callers apart; it needs no cryptographic randomness.
        pause = _FIRST_PAUSE * 2 ** (executed.tries - 1) * random.uniform(0.5, 1.5)  # noqa: S311
    return pause if pause < _left(executed, parts.clock.monotonic()) else None


def _left(executed: Executed, now: float) -> float:
    """Seconds left for another try: of the limit, and of what the handler gave itself."""
    context = executed.context
    left = context.remaining(now) or 0.0
    return left if context.ends_at is None else min(left, context.ends_at - now)


def _may_repeat(executed: Executed) -> bool:
    tool = executed.permit.tool
    if tool.read_only:
        return not executed.context.effect_inside  # it reads by itself, and something it called may have done more
    return tool.idempotent
