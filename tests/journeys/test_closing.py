"""A gate that closes: what is under way keeps its limit and has its record, and nothing is left open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Failed, Outcome, Refused, Succeeded, Unknown, tool
from callgate.model.approval import Approval
from callgate.model.levels import Assurance, Autonomy
from callgate.ports import Answer
from callgate.runtime.opened import Proceed
from callgate.settings.values import Settings
from callgate.testing import HandClock, memory_gate

FREE = Settings(autonomy=Autonomy.A4)
KEY = Context(idempotency_key="k")
WITHIN = 10


class Slow:
    """Tools that take until they are let go, or stopped."""

    def __init__(self) -> None:
        self.entered, self.leave = asyncio.Event(), asyncio.Event()

        async def wait() -> str:
            self.entered.set()
            await self.leave.wait()
            return "done"

        @tool(effects="system_state", risk="low")
        async def change() -> str:
            """Change something."""
            return await wait()

        @tool(effects="read_only")
        async def look() -> str:
            """Look at something."""
            return await wait()

        self.tools = (change, look)

    async def begun(self) -> None:
        await asyncio.wait_for(self.entered.wait(), WITHIN)


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'gate.db'}"


@pytest.mark.parametrize("name", ["change", "look"])
async def test_a_call_that_outlives_its_gate_keeps_its_limit_and_its_caller_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("callgate.runtime.opened._GRACE", 0.01)
    slow = Slow()
    with caplog.at_level(logging.WARNING, logger="callgate"):
        async with memory_gate(*slow.tools, config=FREE, store=url(tmp_path)) as gate:
            call = asyncio.ensure_future(gate.call(name, {}, KEY, timeout=3))
            await slow.begun()
        assert not call.done()
        outcome = await asyncio.wait_for(call, WITHIN)
    assert isinstance(outcome, Unknown if name == "change" else Failed)
    assert outcome.error is not None
    assert "timed out" in outcome.error.message or "could not be written" in outcome.error.message
    assert "1 calls had not ended when the gate closed" in caplog.text


async def test_a_call_that_outlives_its_gate_is_nobodys_to_take_over_while_its_process_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.runtime.opened._GRACE", 0.01)
    slow = Slow()
    async with memory_gate(*slow.tools, config=FREE, store=url(tmp_path)) as gate:
        call = asyncio.ensure_future(gate.call("change", {}, KEY))
        await slow.begun()
    async with memory_gate(*slow.tools, config=FREE, store=url(tmp_path)) as gate:
        told = await gate.outcome("k")
        assert isinstance(told, Refused)
        assert told.error is not None
        assert told.error.code == "in_flight"
    slow.leave.set()
    outcome = await asyncio.wait_for(call, WITHIN)
    assert isinstance(outcome, Unknown)
    assert outcome.output == "done"


@pytest.mark.parametrize("ends", ["well", "by its limit", "by its caller"])
async def test_whatever_ends_while_a_gate_closes_is_in_the_record(ends: str, tmp_path: Path) -> None:
    slow = Slow()
    async with memory_gate(*slow.tools, config=FREE, store=url(tmp_path)) as gate:
        limit = 0.05 if ends == "by its limit" else None
        call: asyncio.Future[Outcome] = asyncio.ensure_future(gate.call("change", {}, KEY, timeout=limit))
        await slow.begun()
        soon = {"well": slow.leave.set, "by its caller": call.cancel}.get(ends, lambda: None)
        asyncio.get_running_loop().call_later(0.02, soon)
    await asyncio.wait({call}, timeout=WITHIN)
    assert call.done()
    async with memory_gate(*slow.tools, config=FREE, store=url(tmp_path)) as gate:
        assert isinstance(await gate.outcome("k"), Succeeded if ends == "well" else Unknown)
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.succeeded" if ends == "well" else "tool_call.unknown"]
        assert (await gate.verify_audit()).problems == ()


async def test_who_waits_for_a_person_while_the_gate_closes_is_told_that_nothing_was_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callgate.runtime.opened._GRACE", 0.01)
    slow = Slow()
    asked: asyncio.Queue[Any] = asyncio.Queue()
    async with memory_gate(*slow.tools, store=url(tmp_path)) as gate:
        gate.on("gate.required", asked.put_nowait)
        call = asyncio.ensure_future(gate.call("change", {}, Context(autonomy=Autonomy.A1), wait=60))
        await asyncio.wait_for(asked.get(), WITHIN)
    outcome = await asyncio.wait_for(call, WITHIN)
    assert isinstance(outcome, Refused)
    assert outcome.error is not None
    assert outcome.error.code == "store_unavailable"
    assert not slow.entered.is_set()


async def test_a_gate_whose_clock_stands_still_closes_while_somebody_waits_for_a_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("callgate.runtime.opened._GRACE", 0.01)
    slow = Slow()
    asked: asyncio.Queue[Any] = asyncio.Queue()
    async with asyncio.timeout(WITHIN):
        async with memory_gate(*slow.tools, clock=HandClock()) as gate:
            gate.on("gate.required", asked.put_nowait)
            call = asyncio.ensure_future(gate.call("change", {}, Context(autonomy=Autonomy.A1), wait=60))
            await asked.get()
        call.cancel()
        await asyncio.wait({call})
    assert not slow.entered.is_set()


async def test_closing_that_is_cancelled_is_finished_and_then_told(tmp_path: Path) -> None:
    slow = Slow()
    gate: Callgate = memory_gate(*slow.tools, config=FREE, store=url(tmp_path))
    await gate.__aenter__()
    call = asyncio.ensure_future(gate.call("look", {}))
    await slow.begun()
    closing = asyncio.ensure_future(gate.close())
    await asyncio.sleep(0)
    for _ in range(3):
        closing.cancel()
        await asyncio.sleep(0)
    assert not closing.done()
    slow.leave.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(closing, WITHIN)
    assert (await call).ok
    # Nothing of it is left to be taken for alive, and what was written behind stands.
    assert list((tmp_path / "gate.db.owners").iterdir()) == []
    async with memory_gate(*slow.tools, config=FREE, store=url(tmp_path)) as gate:
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.succeeded"]


async def test_who_closes_second_waits_until_the_gate_is_closed(tmp_path: Path) -> None:
    slow = Slow()
    async with memory_gate(*slow.tools, config=FREE, store=url(tmp_path)) as gate:
        call = asyncio.ensure_future(gate.call("change", {}, KEY))
        await slow.begun()
        # Two at once, one on another loop, and the block around them.
        closing = [asyncio.ensure_future(gate.close()) for _ in range(2)]
        await asyncio.sleep(0)
        elsewhere = asyncio.ensure_future(asyncio.to_thread(asyncio.run, gate.close()))
        let_go = asyncio.ensure_future(gate.close())
        await asyncio.sleep(0)
        let_go.cancel()
        assert await asyncio.wait({let_go}, timeout=WITHIN) == ({let_go}, set())
        assert not [each for each in (*closing, elsewhere) if each.done()]
        slow.leave.set()
    assert isinstance(await asyncio.wait_for(call, WITHIN), Succeeded)
    assert list((tmp_path / "gate.db.owners").iterdir()) == []
    await asyncio.wait_for(asyncio.gather(*closing, elsewhere), WITHIN)


async def test_who_closes_second_inside_a_call_is_not_waited_for(tmp_path: Path) -> None:
    entered, closing = asyncio.Event(), asyncio.Event()

    @tool(effects="system_state", risk="low")
    async def shut_down() -> str:
        """Shut down, as somebody else does already."""
        entered.set()
        await closing.wait()
        await gate.close()
        return "shut down"

    async with memory_gate(shut_down, config=FREE, store=url(tmp_path)) as gate:
        call = asyncio.ensure_future(gate.call("shut_down", {}, KEY))
        await asyncio.wait_for(entered.wait(), WITHIN)
        first = asyncio.ensure_future(gate.close())
        await asyncio.sleep(0)
        closing.set()
        assert isinstance(await asyncio.wait_for(call, WITHIN / 2), Succeeded)
    await asyncio.wait_for(first, WITHIN)


class Within:
    """Closes the gate inside of a call, as its middleware or as the person who is asked, while somebody else closes."""

    assurance = Assurance.LOCAL

    def __init__(self) -> None:
        self.entered, self.closing = asyncio.Event(), asyncio.Event()
        self.close: Callable[[], Awaitable[None]]

    async def around(self, call: Call, context: Context, proceed: Proceed) -> Outcome:
        outcome = await proceed(call, context)
        await self.shut_down()
        return outcome

    async def ask(self, approval: Approval) -> Answer:
        assert approval.tool == "change"
        await self.shut_down()
        return Answer("reject", by="ann")

    def tell(self, message: str) -> None:
        raise AssertionError(message)

    async def shut_down(self) -> None:
        self.entered.set()
        await self.closing.wait()
        await self.close()


@pytest.mark.parametrize(("where", "ends"), [("middleware", Succeeded), ("who is asked", Refused)])
async def test_who_closes_second_around_a_handler_is_not_waited_for(
    where: str, ends: type[Outcome], tmp_path: Path
) -> None:
    within = Within()
    around, ask, risk = ([within.around], None, "low") if where == "middleware" else ([], within, "high")
    config = FREE if where == "middleware" else Settings()

    @tool(effects="system_state", risk=risk)
    async def change() -> str:
        """Change something."""
        return "changed"

    async with Callgate.open(url(tmp_path), config=config, around=around, ask=ask) as gate:
        gate.add(change)
        within.close = gate.close
        call = asyncio.ensure_future(gate.call("change", {}, KEY))
        await asyncio.wait_for(within.entered.wait(), WITHIN)
        first = asyncio.ensure_future(gate.close())
        await asyncio.sleep(0)
        within.closing.set()
        assert isinstance(await asyncio.wait_for(call, WITHIN / 2), ends)
    await asyncio.wait_for(first, WITHIN)


async def test_what_a_call_started_waits_for_the_closing_once_the_call_is_over(tmp_path: Path) -> None:
    slow, begin = Slow(), asyncio.Event()
    started: list[asyncio.Task[None]] = []

    async def later() -> None:
        await begin.wait()
        await gate.close()

    async def around(call: Call, context: Context, proceed: Proceed) -> Outcome:
        started.append(asyncio.ensure_future(later()))
        return await proceed(call, context)

    async with Callgate.open(url(tmp_path), config=FREE, around=[around]) as gate:
        gate.add(*slow.tools)
        assert isinstance(await gate.call("nothing", {}), Refused)
        call = asyncio.ensure_future(gate.call("change", {}, KEY))
        await slow.begun()
        first = asyncio.ensure_future(gate.close())
        begin.set()
        inside_the_first, inside_the_second = started
        await asyncio.wait_for(inside_the_second, WITHIN / 2)
        assert not inside_the_first.done()
        slow.leave.set()
    assert isinstance(await asyncio.wait_for(call, WITHIN), Succeeded)
    await asyncio.wait_for(asyncio.gather(first, inside_the_first), WITHIN)


@pytest.mark.parametrize("second", [False, True], ids=["first", "second"])
async def test_a_subscriber_that_closes_is_not_waited_for_by_what_it_waits_for(*, second: bool) -> None:
    slow = Slow()
    heard, closing, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def stop(_event: object) -> None:
        heard.set()
        await closing.wait()
        await gate.close()
        ended.set()

    slow.leave.set()
    async with memory_gate(*slow.tools, config=FREE) as gate:
        gate.on("tool_call.succeeded", stop)
        assert (await gate.call("change", {})).ok
        await asyncio.wait_for(heard.wait(), WITHIN)
        first = asyncio.ensure_future(gate.close() if second else asyncio.sleep(0))
        await asyncio.sleep(0)
        closing.set()
        await asyncio.wait_for(ended.wait(), WITHIN)  # it comes to its end, and is not cancelled for want of it
    await asyncio.wait_for(first, WITHIN)
