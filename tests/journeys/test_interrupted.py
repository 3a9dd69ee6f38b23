"""Limits, cancellations and lost owners that come at an awkward moment: each call has its one end, and it is true."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, Outcome, Refused, Succeeded, ToolContext, Unknown, tool
from callgate.model.event import Event
from callgate.model.levels import Autonomy
from callgate.ports.promise import promised
from callgate.settings.values import Settings
from callgate.testing import HandClock, memory_gate
from tests.journeys.gates import gate_of, parts_of

FREE = Settings(autonomy=Autonomy.A4)
ONE_THREAD = Settings(autonomy=Autonomy.A4, threads_per_connector=1)
WITHIN = 10


def code(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.code


async def types(gate: Callgate) -> list[str]:
    return [event.type async for event in gate.events(types=["tool_call.*"])]


# Handlers that end while they are being stopped.


@pytest.mark.usefixtures("on_each_store")
@pytest.mark.parametrize("stopped_by", ["limit", "caller"])
async def test_an_effect_that_comes_through_although_it_is_being_stopped_has_its_answer_counted(
    stopped_by: str,
) -> None:
    entered = asyncio.Event()

    @tool(effects="network_access", risk="medium")
    async def pay() -> str:
        """Pay, and finish what was begun."""
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "paid"
        raise AssertionError

    async with gate_of(pay, config=FREE) as gate:
        call = asyncio.ensure_future(
            gate.call("pay", {}, Context(idempotency_key="k"), timeout=0.01 if stopped_by == "limit" else None)
        )
        await asyncio.wait_for(entered.wait(), WITHIN)
        if stopped_by == "caller":
            call.cancel()
        await asyncio.wait({call}, timeout=WITHIN)
        assert call.cancelled() is (stopped_by == "caller")
        outcome = await gate.outcome("k")
        assert isinstance(outcome, Succeeded)
        assert outcome.output == "paid"
        assert await types(gate) == ["tool_call.attempted", "tool_call.succeeded"]


async def test_a_caller_who_lets_go_of_an_effect_that_is_being_stopped_is_heard_after_it_ended() -> None:
    stopping, go_on = asyncio.Event(), asyncio.Event()

    @tool(effects="network_access", risk="medium")
    async def pay() -> str:
        """Pay, and take a while to finish what was begun."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            stopping.set()
            await go_on.wait()
        return "paid"

    async with memory_gate(pay, config=FREE) as gate:
        call = asyncio.ensure_future(gate.call("pay", {}, Context(idempotency_key="k"), timeout=0.01))
        await asyncio.wait_for(stopping.wait(), WITHIN)
        call.cancel()
        await asyncio.sleep(0)
        assert not call.done()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, WITHIN)
        outcome = await gate.outcome("k")
        assert isinstance(outcome, Succeeded)
        assert outcome.output == "paid"


async def test_an_effect_that_fails_while_it_is_being_stopped_is_unknown_as_any_other_past_its_limit() -> None:
    @tool(effects="network_access", risk="medium")
    async def pay() -> str:
        """Pay, and trip over while cleaning up."""
        try:
            await asyncio.Event().wait()
        finally:
            raise ValueError("halfway")

    async with memory_gate(pay, config=FREE) as gate:
        outcome = await gate.call("pay", {}, timeout=0.01)
        assert isinstance(outcome, Unknown)
        assert isinstance(outcome.cause, ValueError)


@pytest.mark.usefixtures("on_each_store")
@pytest.mark.parametrize(("late", "told"), [("raises", "failed"), ("gives up", "unknown")])
async def test_an_effect_that_fails_or_gives_up_after_its_caller_was_let_go_is_a_late_fact(
    late: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.pipeline.ways_to_run._GRACE", 0.01)
    go_on = asyncio.Event()

    @tool(effects="network_access", risk="medium")
    async def pay() -> str:
        """Pay, and outlive every limit."""
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await go_on.wait()
        raise ValueError("no money") if late == "raises" else asyncio.CancelledError

    async with gate_of(pay, config=FREE) as gate:
        heard: asyncio.Queue[Event] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        assert isinstance(await gate.call("pay", {}, Context(idempotency_key="k"), timeout=0.01), Unknown)
        go_on.set()
        event = await asyncio.wait_for(heard.get(), WITHIN)
        assert event.payload is not None
        assert event.payload["state"] == told
        outcome = await gate.outcome("k")
        assert outcome is not None
        assert outcome.status == told
        assert (await gate.verify_audit()).problems == ()


async def test_a_caller_who_lets_go_of_a_read_that_is_being_stopped_is_heard_after_its_record() -> None:
    stopping, go_on = asyncio.Event(), asyncio.Event()

    @tool(effects="read_only")
    async def look() -> str:
        """Look for ever, and take a while to stop."""
        try:
            await asyncio.Event().wait()
        finally:
            stopping.set()
            with contextlib.suppress(asyncio.CancelledError):
                await go_on.wait()
        return "never"

    async with memory_gate(look) as gate:
        call = asyncio.ensure_future(gate.call("look", {}, timeout=0.01))
        await asyncio.wait_for(stopping.wait(), WITHIN)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(call, WITHIN)
        assert await types(gate) == ["tool_call.attempted", "tool_call.timed_out"]


async def test_each_of_several_reads_has_its_own_limit() -> None:
    @tool(effects="read_only", concurrency_safe=True)
    async def look(number: int) -> int:
        """Look for ever."""
        await asyncio.Event().wait()
        return number

    async with memory_gate(look) as gate:
        limits = (0.01, 0.03, 0.05)
        calls = (gate.call("look", {"number": number}, timeout=limit) for number, limit in enumerate(limits))
        outcomes = await asyncio.wait_for(asyncio.gather(*calls), WITHIN)
        assert [outcome.error and outcome.error.details["timeout"] for outcome in outcomes] == list(limits)


# Trying again.


class RateLimited(Exception):
    """As clients tell it: when the limit ends, and that it is worth another try."""

    retryable = True

    def __init__(self, resets_at: float) -> None:
        super().__init__("slow down")
        self.resets_at = resets_at


@pytest.mark.parametrize(("seconds", "tries"), [(-5.0, 2), (3600.0, 1)])
async def test_a_rate_limit_is_waited_for_if_it_ends_in_time(seconds: float, tries: int) -> None:
    tried: list[float] = []
    clock = HandClock()

    @tool(effects="read_only")
    async def look() -> str:
        """Look; the first time is one too many."""
        tried.append(clock.now())
        if len(tried) == 1:
            raise RateLimited(clock.now() + seconds)
        return "seen"

    async with memory_gate(look, clock=clock) as gate:
        outcome = await gate.call("look", {}, timeout=60)
        assert outcome.ok is (tries == 2)
    assert len(tried) == tries


@pytest.mark.parametrize(("seconds", "tries"), [(0, 1), (60, 3)])
async def test_a_handler_is_not_tried_again_past_the_seconds_that_it_gave_itself(seconds: int, tries: int) -> None:
    ends: list[float | None] = []

    @tool(effects="read_only")
    async def look(ctx: ToolContext) -> str:
        """Look in so many seconds, all tries together."""
        ends.append(ctx.ends_at)
        ctx.ends_at = ctx.ends_at or time.monotonic() + seconds
        raise ConnectionResetError

    async with memory_gate(look) as gate:
        outcome = await gate.call("look", {}, timeout=120)
        assert outcome.error is not None
        assert outcome.error.retryable
    assert len(ends) == tries
    assert ends[0] is None
    assert len(set(ends[1:])) <= 1


# Plain functions, and the threads they run on.


async def test_a_plain_function_that_returns_a_coroutine_has_it_awaited() -> None:
    async def later(number: int) -> int:
        await asyncio.sleep(0)
        return number * 2

    def double(number: int) -> Any:
        """Double a number, later."""
        return later(number)

    async with memory_gate(config=FREE) as gate:
        gate.add(double, effects="system_state", risk="low")
        assert (await gate.call("double", {"number": 4})).output == 8


class OneThread:
    """A tool with one thread; `then` happens right after it ended, before anybody else has a turn."""

    def __init__(self) -> None:
        self.entered, self.release = asyncio.Event(), threading.Event()
        self.then: Callable[[], object] = lambda: None
        loop = asyncio.get_running_loop()

        def ended(output: Any) -> Any:
            self.then()
            return output

        @tool(effects="read_only", connector="slow", concurrency_safe=True, redact=ended)
        def hang(number: int) -> int:
            """Occupy a thread."""
            loop.call_soon_threadsafe(self.entered.set)
            self.release.wait(WITHIN)
            return number

        self.tool = hang


async def test_a_call_waits_for_a_thread_as_long_as_its_limit_allows() -> None:
    one = OneThread()
    async with memory_gate(one.tool, config=ONE_THREAD) as gate:
        first = asyncio.ensure_future(gate.call("hang", {"number": 1}))
        await asyncio.wait_for(one.entered.wait(), WITHIN)
        second = asyncio.ensure_future(gate.call("hang", {"number": 2}))
        for _ in range(100):
            await asyncio.sleep(0)  # until it waits: there is nothing else it could do
        one.release.set()
        assert [outcome.output for outcome in await asyncio.gather(first, second)] == [1, 2]


@pytest.mark.parametrize("when", ["while it waits", "at the moment it gets one"])
async def test_a_caller_who_lets_go_while_waiting_for_a_thread_loses_none(when: str) -> None:
    one = OneThread()
    async with memory_gate(one.tool, config=ONE_THREAD) as gate:
        first = asyncio.ensure_future(gate.call("hang", {"number": 1}))
        await asyncio.wait_for(one.entered.wait(), WITHIN)
        waiting = asyncio.ensure_future(gate.call("hang", {"number": 2}))
        for _ in range(100):
            await asyncio.sleep(0)  # until it waits: there is nothing else it could do
        if when == "while it waits":
            waiting.cancel()
        else:
            one.then = waiting.cancel
        one.release.set()
        assert (await asyncio.wait_for(first, WITHIN)).output == 1
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(waiting, WITHIN)
        one.then = lambda: None
        assert (await asyncio.wait_for(gate.call("hang", {"number": 3}), WITHIN)).output == 3


def test_a_function_that_ends_after_its_loop_is_gone_harms_nobody() -> None:
    release = threading.Event()

    @tool(effects="system_state", risk="low", connector="slow")
    def hang() -> str:
        """Outlive everything."""
        release.wait(WITHIN)
        return "done"

    async def story() -> Outcome:
        async with memory_gate(hang, config=FREE) as gate:
            return await gate.call("hang", {}, timeout=0.01)

    assert isinstance(asyncio.run(story()), Unknown)
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "callgate-slow")
    release.set()
    thread.join(WITHIN)
    assert not thread.is_alive()


async def test_functions_of_a_tool_that_hang_keep_further_ones_out_and_count_as_no() -> None:
    release = threading.Event()

    def check(arguments: dict[str, Any], context: Context) -> None:
        release.wait(WITHIN)

    @tool(effects="read_only", check=check)
    async def read(path: str) -> str:
        """Read a note."""
        return "text"

    hasty = Context(timeout=0.02)
    async with memory_gate(read, config=ONE_THREAD) as gate:
        outcomes = [await gate.call("read", {"path": "a"}, hasty) for _ in range(2)]
        release.set()
        assert [code(outcome) for outcome in outcomes] == ["policy_denied"] * 2


# Owners that are taken for dead.


class Bank:
    """A store in a file, a tool, and another process that takes this one for dead: its sign of life was removed."""

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'gate.db'}"
        self._signs = folder / "gate.db.owners"
        self.paid: list[int] = []
        self.during: Callable[[], Any] | None = None

        @tool(effects="network_access", risk="medium")
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            if self.during is not None:
                await self.during()
            return "paid"

        self.tool = pay

    async def take_for_dead(self) -> None:
        shutil.rmtree(self._signs)
        async with gate_of(self.tool, store=self.url, config=FREE):
            pass  # whoever opens a store gives up what the dead left


async def test_a_call_whose_key_was_given_up_before_its_handler_was_entered_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = Bank(tmp_path)
    async with gate_of(bank.tool, store=bank.url, config=FREE) as gate:
        await gate.flush()
        store: Any = parts_of(gate).store
        submit = store.submit

        async def pause_after(unit: Any) -> Any:
            store.submit = submit
            answer = await submit(unit)
            await bank.take_for_dead()
            return answer

        def submit_and_pause(unit: Any) -> Any:
            return promised(pause_after(unit))

        monkeypatch.setattr(store, "submit", submit_and_pause)
        outcome = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        assert isinstance(outcome, Failed)
        assert (code(outcome), outcome.happened.value) == ("in_flight", "none")
        assert isinstance(await gate.outcome("k"), Unknown)
        assert await types(gate) == ["tool_call.attempted", "tool_call.unknown", "tool_call.settled_late"]
        assert (await gate.verify_audit()).problems == ()
    assert bank.paid == []


async def test_a_call_that_was_given_up_while_it_ran_says_so_and_its_answer_is_a_late_fact(tmp_path: Path) -> None:
    bank = Bank(tmp_path)
    bank.during = bank.take_for_dead
    async with gate_of(bank.tool, store=bank.url, config=FREE) as gate:
        outcome = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        assert isinstance(outcome, Unknown)
        assert outcome.output == "paid"
        assert outcome.error is not None
        assert "ended after its row was given up" in outcome.error.message
        assert await types(gate) == ["tool_call.attempted", "tool_call.unknown", "tool_call.settled_late"]
        again = await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))
        assert isinstance(again, Refused)
        assert code(again) == "outcome_unknown"
        assert (await gate.verify_audit()).problems == ()
    assert bank.paid == [5]


async def test_a_function_past_its_limit_that_died_with_its_process_is_known_to_have_ended(tmp_path: Path) -> None:
    release = threading.Event()
    saved: list[str] = []

    @tool(effects="modifies_files", risk="medium", idempotent=True)
    def save(text: str) -> str:
        """Save; the first time it hangs."""
        saved.append(text)
        assert len(saved) > 1 or release.wait(WITHIN)
        return "saved"

    bank, key = Bank(tmp_path), Context(idempotency_key="k")
    async with gate_of(save, store=bank.url, config=FREE) as gate:
        # Time enough for a thread to start, on a busy machine too.
        assert isinstance(await gate.call("save", {"text": "x"}, key, timeout=0.5), Unknown)
        assert code(await gate.call("save", {"text": "x"}, key, timeout=0.02)) == "in_flight"
        await bank.take_for_dead()
        assert (await gate.call("save", {"text": "x"}, key)).ok
        release.set()
        assert (await types(gate)).count("tool_call.unknown") == 1
    assert saved == ["x", "x"]
