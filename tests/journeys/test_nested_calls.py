"""Calls that a handler makes end with it, and a call that ends leaves whoever made it as they were."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import threading
from typing import Any, cast

import pytest

from callgate import Callgate, Context, Failed, Outcome, Refused, Succeeded, ToolContext, Unknown, tool
from callgate.model.levels import Autonomy, Happened
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)
WITHIN = 10


class Child:
    """A tool that runs until it is stopped, and says when it began and that it was."""

    def __init__(self, *, reads: bool = False) -> None:
        self.entered, self.stopped = threading.Event(), threading.Event()

        @tool(effects="read_only" if reads else "system_state", risk="low", concurrency_safe=True, name="child")
        async def child() -> str:
            """Run for ever."""
            self.entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.stopped.set()
            return "never"

        self.tool = child


async def seen(event: threading.Event) -> None:
    """Wait for something that happens on any loop."""
    assert await asyncio.to_thread(event.wait, WITHIN)


async def ends(gate: Callgate, name: str) -> list[str]:
    """How the calls of a tool ended, as the log has it."""
    calls = [event async for event in gate.events(types=["tool_call.*"])]
    return [each.type for each in calls if each.payload and each.payload["tool"] == name][1:]


# With its handler.


@pytest.mark.parametrize("reads", [True, False], ids=["a read", "an effect"])
async def test_a_call_in_a_task_ends_with_the_handler_that_began_it(reads: bool) -> None:
    child = Child(reads=reads)
    begun: list[asyncio.Task[Outcome]] = []

    @tool(effects="system_state", risk="low")
    async def parent() -> str:
        """Begin something, and do not wait for it."""
        begun.append(asyncio.ensure_future(gate.call("child", {})))
        await seen(child.entered)
        return "done"

    async with gate_of(parent, child.tool, config=FREE) as gate:
        assert (await asyncio.wait_for(gate.call("parent", {}), WITHIN)).ok
        await seen(child.stopped)
        await asyncio.wait({begun[0]}, timeout=WITHIN)
        assert begun[0].cancelled()
        assert await ends(gate, "child") == ["tool_call.failed" if reads else "tool_call.unknown"]


async def test_a_call_from_a_thread_ends_with_a_handler_that_is_past_its_limit() -> None:
    child, letting_go = Child(), threading.Event()
    nested: list[BaseException | Outcome] = []

    @tool(effects="system_state", risk="low")
    def parent() -> str:
        """Call, and wait on a thread."""
        try:
            nested.append(anywhere.call_blocking("child", {}))
        except BaseException as error:  # noqa: BLE001 - which one is the point
            nested.append(error)
        letting_go.set()
        return "done"

    async with gate_of(parent, child.tool, config=FREE) as gate:
        anywhere = gate.anywhere()
        call = asyncio.ensure_future(gate.call("parent", {}, timeout=0.5))
        await seen(child.entered)
        assert isinstance(await asyncio.wait_for(call, WITHIN), Unknown)
        await seen(child.stopped)
        await seen(letting_go)
    assert isinstance(nested[0], concurrent.futures.CancelledError)


@pytest.mark.parametrize("way", ["to_thread", "a pool that is handed the context"])
async def test_a_call_from_a_pool_is_not_entered_once_its_handler_has_ended(way: str) -> None:
    paid, ended, told = threading.Event(), threading.Event(), threading.Event()
    nested: list[Outcome] = []

    @tool(effects="system_state", risk="low")
    async def pay() -> str:
        """Pay."""
        paid.set()
        return "paid"

    def late() -> None:
        ended.wait(WITHIN)
        nested.append(anywhere.call_blocking("pay", {}))
        told.set()

    @tool(effects="read_only")
    async def survey() -> str:
        """Look at things in a pool, as libraries that block are used."""
        if way == "to_thread":
            await asyncio.to_thread(late)
        else:
            await asyncio.get_running_loop().run_in_executor(None, contextvars.copy_context().run, late)
        return "seen"

    async with gate_of(pay, survey, config=FREE) as gate:
        anywhere = gate.anywhere()
        outcome = await asyncio.wait_for(gate.call("survey", {}, timeout=0.1), WITHIN)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        ended.set()
        await seen(told)
    assert [each.error and each.error.message for each in nested] == ["the call of survey it belongs to has ended"]
    assert not paid.is_set()


async def test_a_call_on_a_loop_of_the_handlers_own_ends_with_it() -> None:
    child = Child()
    told: list[str] = []
    over = threading.Event()

    @tool(effects="system_state", risk="low")
    def parent() -> str:
        """Run a loop of its own."""
        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(gate.call("child", {}))  # pyright: ignore[reportArgumentType]
            told.append("went on")
        over.set()
        return "done"

    async with gate_of(parent, child.tool, config=FREE) as gate:
        call = asyncio.ensure_future(gate.call("parent", {}, timeout=0.5))
        await seen(child.entered)
        assert isinstance(await asyncio.wait_for(call, WITHIN), Unknown)
        await seen(over)
        assert child.stopped.is_set()
        assert await ends(gate, "child") == ["tool_call.unknown"]
    assert told == []


async def test_a_call_is_not_entered_if_its_handler_ended_while_it_was_claimed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    child = Child()
    begun: list[asyncio.Task[Outcome]] = []
    claiming, go_on = asyncio.Event(), asyncio.Event()

    @tool(effects="system_state", risk="low")
    async def parent() -> str:
        """Begin something, and leave while it is on its way."""
        begun.append(asyncio.ensure_future(gate.call("child", {}, Context(idempotency_key="k"))))
        await claiming.wait()
        return "done"

    async with gate_of(parent, child.tool, config=FREE) as gate:
        opened: Any = gate
        store = opened._opened.parts.store
        peek = store.peek

        async def held(query: Any) -> Any:
            found = await peek(query)
            if type(found) is tuple and cast("Any", found)[2] == await last_attempt(gate, "child"):
                claiming.set()  # the fence of the child is looked at, right before it is entered
                await go_on.wait()
            return cast("Any", found)

        monkeypatch.setattr(store, "peek", held)
        assert (await asyncio.wait_for(gate.call("parent", {}), WITHIN)).ok
        go_on.set()
        outcome = await asyncio.wait_for(begun[0], WITHIN)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        assert outcome.error is not None
        assert outcome.error.message == "child was not entered: the call of parent it belongs to has ended"
        assert await gate.outcome("k") is None
        assert await ends(gate, "child") == ["tool_call.failed"]
    assert not child.entered.is_set()


async def last_attempt(gate: Callgate, name: str) -> str | None:
    """The latest call of a tool that was attempted."""
    attempted = [event async for event in gate.events(types=["tool_call.attempted"])]
    return next((each.call for each in reversed(attempted) if each.payload and each.payload["tool"] == name), None)


@pytest.mark.parametrize("what", ["left behind", "destroyed"])
async def test_a_loop_that_ends_with_a_call_on_it_costs_its_maker_neither_answer_nor_record(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.runtime.opened._GRACE", 0.01)
    child = Child()
    kept: list[asyncio.Task[Outcome]] = []

    @tool(effects="system_state", risk="low")
    def parent() -> str:
        """Leave a loop behind with a call on it."""
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(lambda _loop, _context: None)  # it would say that a task was destroyed

        async def begin() -> None:
            kept.append(asyncio.ensure_future(gate.call("child", {}, Context(idempotency_key="left"))))
            await seen(child.entered)

        loop.run_until_complete(begin())
        loop.run_until_complete(loop.shutdown_default_executor())
        if what == "destroyed":
            coroutine: Any = kept[0].get_coro()
            coroutine.close()
        loop.close()
        return "done"

    async with gate_of(parent, child.tool, config=FREE) as gate:
        outcome = await asyncio.wait_for(gate.call("parent", {}, Context(idempotency_key="k")), WITHIN)
        assert outcome.output == "done"
        assert isinstance(await gate.outcome("k"), Succeeded)
        assert await ends(gate, "parent") == ["tool_call.succeeded"]
        # Nobody knows what became of the call that was left behind, and nobody takes it for ended.
        assert isinstance(await gate.outcome("left"), Refused)


# An effect inside is an effect of the whole.


class Inside:
    """Tools that call each other, and how often the innermost had its effect."""

    def __init__(self, then: type[Exception]) -> None:
        self.done: list[str] = []
        self.gate: Callgate | None = None

        async def call(name: str) -> None:
            assert self.gate is not None
            assert (await self.gate.call(name, {})).ok

        @tool(effects="system_state", risk="low")
        async def pay() -> str:
            """Pay somebody."""
            self.done.append("paid")
            return "paid"

        @tool(effects="system_state", risk="low", marks_effect=True)
        async def pay_marked(ctx: ToolContext) -> str:
            """Pay somebody, and say when."""
            async with ctx.effect():
                self.done.append("paid")
            return "paid"

        @tool(effects="read_only")
        async def look() -> str:
            """Say that it only reads, and pay."""
            await call("pay")
            return "seen"

        @tool(effects="read_only")
        async def look_and_fail() -> str:
            """The same, and fail."""
            await call("pay")
            raise then

        @tool(effects="system_state", risk="low", marks_effect=True)
        async def work(name: str, ctx: ToolContext) -> str:
            """Call something, and fail before an effect of its own."""
            await call(name)
            raise then

        self.tools = (pay, pay_marked, look, look_and_fail, work)


@pytest.mark.parametrize("then", [ValueError, ConnectionError])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("work", {"name": "pay"}),
        ("work", {"name": "pay_marked"}),
        ("work", {"name": "look"}),
        ("look_and_fail", {}),
    ],
    ids=["an effect", "a marked one", "one inside a read", "in a read"],
)
async def test_who_fails_after_an_effect_inside_is_not_said_to_have_had_none(
    name: str, arguments: dict[str, str], then: type[Exception]
) -> None:
    inside = Inside(then)
    async with gate_of(*inside.tools, config=FREE) as gate:
        inside.gate = gate
        outcome = await gate.call(name, arguments, Context(idempotency_key="k"))
        assert isinstance(outcome, Failed | Unknown)
        assert not isinstance(outcome, Failed) or outcome.happened is Happened.POSSIBLE
        assert await gate.outcome("k") is not None
        # Nor is it tried again by itself, although it says that it only reads.
        assert inside.done == ["paid"]
        keyless = await gate.call(name, arguments, distinct=True)
        assert not isinstance(keyless, Failed) or keyless.happened is Happened.POSSIBLE
        assert (await gate.verify_audit()).problems == ()


async def test_who_was_told_to_have_had_no_effect_has_none_inside_any_more() -> None:
    """The limit of the outer call comes while a thread inside is about to pass its point of no return."""
    done: list[str] = []
    ended, tried = threading.Event(), threading.Event()
    outer: list[ToolContext] = []

    def hold() -> None:
        ended.set()
        tried.wait(WITHIN)

    @tool(effects="system_state", risk="low", marks_effect=True)
    def pay(ctx: ToolContext) -> str:
        """Pay, when the outer call has just ended."""
        outer[0].nested.add(hold)  # right after the end, before anybody inside hears of it
        ended.wait(WITHIN)
        try:
            with ctx.effect_sync():
                done.append("paid")
        finally:
            tried.set()
        return "paid"

    @tool(effects="system_state", risk="low", marks_effect=True)
    async def work(ctx: ToolContext) -> str:
        """Have something paid."""
        outer.append(ctx)
        return str((await asyncio.ensure_future(gate.call("pay", {}))).output)

    async with gate_of(pay, work, config=FREE) as gate:
        outcome = await asyncio.wait_for(gate.call("work", {}, Context(idempotency_key="k"), timeout=0.2), WITHIN)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        assert await asyncio.to_thread(tried.wait, WITHIN)
    assert done == []


# What is left of a call with whoever made it.


class Slow:
    """A read and an effect that take longer than anybody has."""

    def __init__(self) -> None:
        async def wait() -> str:
            await asyncio.Event().wait()
            return "never"

        @tool(effects="read_only", concurrency_safe=True)
        async def look() -> str:
            """Look for ever."""
            return await wait()

        @tool(effects="system_state", risk="low", concurrency_safe=True)
        async def change() -> str:
            """Change something for ever."""
            return await wait()

        self.tools = (look, change)


def cancelling() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


@pytest.mark.parametrize("name", ["look", "change"])
async def test_a_limit_that_was_reached_leaves_no_cancellation_behind(name: str) -> None:
    async with gate_of(*Slow().tools, config=FREE) as gate:
        assert not (await gate.call(name, {}, timeout=0.01)).ok
        assert cancelling() == 0
        async with asyncio.timeout(WITHIN):  # would be taken for one that was cancelled from outside
            assert not (await gate.call(name, {}, timeout=0.01)).ok
        async with asyncio.TaskGroup() as group:
            task = group.create_task(gate.call(name, {}, timeout=0.01))
        assert not task.result().ok


@pytest.mark.parametrize("name", ["look", "change"])
async def test_who_was_cancelled_before_and_went_on_is_not_cancelled_by_a_limit(name: str) -> None:
    async with gate_of(*Slow().tools, config=FREE) as gate:

        async def go_on() -> tuple[bool, int]:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            outcome = await gate.call(name, {}, timeout=0.01)
            return outcome.ok, cancelling()

        task = asyncio.ensure_future(go_on())
        await asyncio.sleep(0)
        task.cancel()
        assert await asyncio.wait_for(task, WITHIN) == (False, 1)


@pytest.mark.parametrize("effects", ["read_only", "system_state"])
async def test_who_was_cancelled_before_and_went_on_is_not_cancelled_by_a_handler_that_gives_up(effects: str) -> None:
    @tool(effects=effects, risk="low")
    async def give_up() -> str:
        """Give up, although nobody asked for that."""
        raise asyncio.CancelledError

    async with gate_of(give_up, config=FREE) as gate:

        async def go_on() -> str:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.Event().wait()
            return (await gate.call("give_up", {})).status

        task = asyncio.ensure_future(go_on())
        await asyncio.sleep(0)  # it waits
        task.cancel()
        assert await asyncio.wait_for(task, WITHIN) in {"failed", "unknown"}


@pytest.mark.parametrize("name", ["look", "change"])
async def test_who_has_a_limit_of_his_own_around_a_call_is_told_of_that_limit(name: str) -> None:
    async with gate_of(*Slow().tools, config=FREE) as gate:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await gate.call(name, {})
        assert cancelling() == 0
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(gate.call(name, {}, distinct=True), 0.01)
        assert len(await ends(gate, name)) == 3


@pytest.mark.parametrize("name", ["look", "change"])
async def test_a_group_whose_member_fails_ends_its_calls_and_nobody_elses(name: str) -> None:
    entered = asyncio.Event()

    async def fail() -> None:
        await entered.wait()
        raise ValueError("one of the group")

    async with gate_of(*Slow().tools, config=FREE, around=[telling(entered)]) as gate:
        with pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="one of the group")):
            async with asyncio.TaskGroup() as group:
                group.create_task(gate.call(name, {}))
                group.create_task(fail())
        assert len(await ends(gate, name)) == 1


def telling(entered: asyncio.Event) -> Any:
    """Middleware that says when a call has begun."""

    async def around(call: Any, context: Context, proceed: Any) -> Outcome:
        asyncio.get_running_loop().call_later(0.01, entered.set)
        return await proceed(call, context)

    return around


async def test_a_call_within_a_call_whose_limits_end_together_ends_both_and_cancels_nobody() -> None:
    inner: list[Outcome] = []

    @tool(effects="read_only")
    async def outer() -> str:
        """Look through the gate."""
        inner.append(await gate.call("look", {}, timeout=0.01))
        return "went on"

    async with gate_of(outer, *Slow().tools, config=FREE) as gate:
        outcome = await asyncio.wait_for(gate.call("outer", {}, timeout=0.01), WITHIN)
        assert not outcome.ok or outcome.output == "went on"
        assert cancelling() == 0
        assert len(await ends(gate, "look")) == 1
