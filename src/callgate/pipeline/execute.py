"""Step 7, execute: run the handler under its time limit, with secrets. The only place a handler is entered."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Token
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from callgate.errors import SecretsClosed
from callgate.model.shapes import own_copy
from callgate.pipeline.handed import Handed
from callgate.pipeline.parts import running
from callgate.pipeline.processes import packed, run_in_process
from callgate.pipeline.shield import Bell, contained, finish
from callgate.pipeline.threads import NotStarted, Running
from callgate.pipeline.trouble import resets_at, retryable

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.model.tool_context import ToolContext
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit

Way = Callable[["Parts", "Executed"], Coroutine[Any, Any, None]]
_TRIES = 3
_FIRST_PAUSE = 0.1
_GRACE = 1.0
"""How long a cancelled handler may take to clean up before the caller is let go."""


class ParentEnded(Exception):
    """The handler that made this call has ended, so its own is not entered."""


class FenceLost(Exception):
    """The row is no longer this owner's; the handler was not entered."""


@dataclass(slots=True, eq=False)
class Executed:
    """How the handler ended, before anybody judged what that means."""

    permit: Permit
    context: ToolContext
    started: float
    task: asyncio.Task[Any]
    """Who waits for it."""
    cancelled_before: int = 0
    """How often that was cancelled, and went on, before the handler was entered."""
    value: Any = None
    error: BaseException | None = None
    timed_out: bool = False
    cancelled: bool = False
    """Somebody outside cancelled the call."""
    entered: bool = False
    came_through: bool = False
    """It returned although it was being stopped: its value counts."""
    tries: int = 1
    ended: float = 0.0
    still_running: asyncio.Future[Any] | None = field(default=None)
    """A handler that outlived its limit; its late result is settled when it comes."""

    def stop(self) -> None:
        """Cancel whoever waits for it, from any thread; where its loop has ended, nobody does."""
        with suppress(RuntimeError):
            self.task.get_loop().call_soon_threadsafe(self.task.cancel)

    @property
    def duration_ms(self) -> float:
        """How long it took, to the microsecond."""
        return round((self.ended - self.started) * 1_000_000) / 1000  # rounding to digits takes thrice as long


async def execute(parts: Parts, permit: Permit) -> Executed:
    """Run the handler. Never raises for what the handler does, nor for cancellation: both are facts to settle."""
    now = parts.clock.monotonic()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - a coroutine always runs in a task here
    executed = Executed(permit, Handed(parts, permit, now + permit.limit), now, task, task.cancelling())
    parent = running.get()
    token: Token[ToolContext | None] | None = running.set(executed.context)
    try:
        if permit.let_go or permit.row is not None or parent is not None:
            await _make_sure(parts, executed, parent)
        permit.use()
        executed.entered = True
        await _run(parts, executed)
    except asyncio.CancelledError as error:
        # Somebody cancelled the caller, or the handler gave up by itself: only the first is the caller's to hear.
        if permit.let_go or task.cancelling() > executed.cancelled_before:
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
    """Right before the handler is entered: is it still wanted, is the row still ours, does the call around it run?"""
    permit = executed.permit
    if permit.let_go:
        raise asyncio.CancelledError  # settled like any other cancellation
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
    late.ended = parts.clock.monotonic()
    late.cancelled = isinstance(error, asyncio.CancelledError)
    late.error = None if late.cancelled else error
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
    run_once = _way_to_run(executed.permit.tool)
    while True:
        try:
            return await run_once(parts, executed)
        except Exception as error:
            pause = _pause(parts, executed, error)
            if pause is None:
                raise
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
    left = executed.context.remaining(parts.clock.monotonic()) or 0.0
    return pause if pause < left else None


def _may_repeat(executed: Executed) -> bool:
    tool = executed.permit.tool
    if tool.read_only:
        return not executed.context.effect_inside  # it reads by itself, and something it called may have done more
    return tool.idempotent


def _way_to_run(tool: Tool) -> Way:
    if tool.isolation == "process":
        return _run_process
    if not tool.is_async:
        return _run_thread
    return _run_inline if tool.read_only else _run_task


async def _run_inline(parts: Parts, executed: Executed) -> None:
    """A read runs in the caller's own task: it has nothing to lose by being cancelled with it."""
    permit, task = executed.permit, executed.task
    handler = permit.tool.handler
    assert handler is not None  # noqa: S101 - resolved tools have one
    # Trying again takes from the same limit.
    limit = permit.limit if executed.tries == 1 else executed.context.remaining(parts.clock.monotonic()) or 0.0
    executed.context.runs_in = task
    deadline = parts.deadlines.start(task.get_loop(), task.cancel, limit)
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
    running_child = asyncio.ensure_future(run_in_process(permit.tool.name, work, executed.context))
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
    else:
        executed.value = future.result()
        executed.timed_out = False
        executed.came_through = True
