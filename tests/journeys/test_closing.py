"""A gate that closes: what is under way keeps its limit and has its record, and nothing is left open."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, Outcome, Refused, Succeeded, Unknown, tool
from callgate.model.levels import Autonomy
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
