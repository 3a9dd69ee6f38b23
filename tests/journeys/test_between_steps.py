"""What comes between two steps of a call: a twin, a store that fails, a process that dies. Each is told as it is."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, NoEffect, Outcome, Refused, Succeeded, Unknown, tool
from callgate.errors import StoreUnavailable
from callgate.model.levels import Autonomy
from callgate.ports.promise import promised
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.journeys.faulty import make_faulty
from tests.journeys.gates import gate_of, parts_of
from tests.waiting import until

FREE = Settings(autonomy=Autonomy.A4)
ONE_THREAD = Settings(autonomy=Autonomy.A4, threads_per_connector=1)
KEY = Context(idempotency_key="k")
WITHIN = 10


def code(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.code


async def types(gate: Callgate) -> list[str]:
    return [event.type async for event in gate.events(types=["tool_call.*"])]


class Till:
    """A tool that pays, and may be held or fail while it does."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.entered, self.leave = asyncio.Event(), asyncio.Event()
        self.leave.set()
        self.fails = False

        @tool(effects="network_access", risk="medium", concurrency_safe=True)
        async def pay(amount: int) -> str:
            """Pay somebody."""
            self.entered.set()
            await self.leave.wait()
            if self.fails:
                raise NoEffect("the line was busy")
            self.paid.append(amount)
            return "paid"

        self.tool = pay


async def overtaken(gate: Callgate, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Outcome:
    """The outcome of a call, when another does something right before its intent is written."""
    store: Any = parts_of(gate).store
    submit = store.submit

    async def after_another(unit: Any) -> Any:
        store.submit = submit
        await call()
        return await submit(unit)

    def hold(unit: Any) -> Any:
        return promised(after_another(unit))

    await gate.flush()
    monkeypatch.setattr(store, "submit", hold)
    async with asyncio.timeout(WITHIN):
        return await gate.call("pay", {"amount": 5}, KEY)


@pytest.mark.usefixtures("on_each_store")
async def test_a_key_that_was_used_right_before_the_claim_answers_with_its_outcome(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    till = Till()
    async with gate_of(till.tool, config=FREE) as gate:
        outcome = await overtaken(gate, lambda: gate.call("pay", {"amount": 5}, KEY), monkeypatch)
        assert isinstance(outcome, Succeeded)
        assert (outcome.output, outcome.deduped) == ("paid", True)
        assert (await types(gate)).count("tool_call.attempted") == 1
    assert till.paid == [5]


@pytest.mark.usefixtures("on_each_store")
async def test_a_key_that_another_call_took_right_before_the_claim_is_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    till = Till()
    async with gate_of(till.tool, config=FREE) as gate:
        outcome = await overtaken(gate, lambda: gate.call("pay", {"amount": 6}, KEY), monkeypatch)
        assert code(outcome) == "idempotency_conflict"
    assert till.paid == [6]


@pytest.mark.usefixtures("on_each_store")
async def test_a_twin_that_fails_without_effect_after_it_won_leaves_the_call_to_be_made_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    till = Till()
    till.fails = True
    till.leave.clear()
    twins: list[asyncio.Task[Outcome]] = []

    async def begin() -> None:
        twins.append(asyncio.ensure_future(gate.call("pay", {"amount": 5}, KEY)))
        await till.entered.wait()
        asyncio.get_running_loop().call_later(0, till.leave.set)

    async with gate_of(till.tool, config=FREE) as gate:
        outcome = await overtaken(gate, begin, monkeypatch)
        assert isinstance(outcome, Refused)
        assert code(outcome) == "in_flight"
        assert "the twin of this call under key k failed without effect; call again" in str(outcome)
        assert isinstance(await twins[0], Failed)
        till.fails = False
        assert (await gate.call("pay", {"amount": 5}, KEY)).ok
    assert till.paid == [5]


async def test_a_thread_is_given_back_when_the_intent_could_not_be_written() -> None:
    @tool(effects="system_state", risk="medium")
    def note() -> str:
        """Note something, on a thread."""
        return "noted"

    async with memory_gate(note, config=ONE_THREAD) as gate:
        faulty = make_faulty(gate)
        faulty.broken = True
        for _ in range(2):
            assert code(await gate.call("note", {}, timeout=1)) == "store_unavailable"
        faulty.broken = False
        assert (await gate.call("note", {})).ok


async def test_a_handler_is_not_entered_when_the_store_fails_after_the_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    till = Till()

    async def fail(_query: Any) -> Any:
        raise StoreUnavailable("the disk went away")

    async with gate_of(till.tool, config=FREE) as gate:
        await gate.flush()
        store: Any = parts_of(gate).store
        submit = store.submit

        async def claim_and_fail(unit: Any) -> Any:
            answer = await submit(unit)
            monkeypatch.setattr(store, "peek", fail)
            return answer

        def submit_once(unit: Any) -> Any:
            return promised(claim_and_fail(unit))

        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(store, "submit", submit_once)
            outcome = await gate.call("pay", {"amount": 5}, KEY)
        monkeypatch.undo()
        assert isinstance(outcome, Failed)
        assert (code(outcome), outcome.happened.value) == ("store_unavailable", "none")
        assert "pay was not entered: the store is unavailable: the disk went away" in str(outcome)
        assert till.paid == []
        assert (await gate.call("pay", {"amount": 5}, KEY)).ok
    assert till.paid == [5]


async def test_what_ends_late_is_recorded_after_what_waits_for_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.pipeline.spool._PAUSE", 0.001)
    release = threading.Event()

    @tool(effects="network_access", risk="medium")
    def save() -> str:
        """Save, and take long."""
        assert release.wait(WITHIN)
        return "saved"

    @tool(effects="network_access", risk="medium")
    async def send() -> str:
        """Send while the disk is full."""
        faulty.broken = True
        return "sent"

    async with memory_gate(save, send, config=FREE) as gate:
        faulty = make_faulty(gate)
        assert isinstance(await gate.call("save", {}, timeout=0.01), Unknown)
        assert isinstance(await gate.call("send", {}, KEY), Unknown)
        release.set()
        await until(lambda: len(parts_of(gate).spool) == 2)
        faulty.broken = False
        await until(lambda: len(parts_of(gate).spool) == 0)
        assert (await types(gate))[-2:] == ["tool_call.succeeded", "tool_call.settled_late"]
        assert (await gate.verify_audit()).problems == ()


class Processes:
    """Two gates on one store in a file, of which the first can die: its lock is let go of, and its file stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = AsyncExitStack()
        self.till = Till()

    async def __aenter__(self) -> tuple[Callgate, Callgate]:
        url = f"sqlite:///{self._folder / 'gate.db'}"
        made = [gate_of(self.till.tool, store=url, config=FREE) for _ in range(2)]
        one, other = [await self._open.enter_async_context(gate) for gate in made]
        return one, other

    async def __aexit__(self, *_error: object) -> None:
        await self._open.aclose()

    def sign(self, gate: Callgate) -> Path:
        return self._folder / "gate.db.owners" / parts_of(gate).store.owner

    def die(self, gate: Callgate) -> None:
        """Leave a sign of life behind that nobody holds, as a process does that was killed."""
        sign = self.sign(gate)
        os.replace(sign, sign.with_name("held"))  # noqa: PTH105 - its lock goes with it
        sign.touch()


@pytest.mark.parametrize("found", ["by looking around", "by who waits for it"])
async def test_what_a_process_did_that_died_is_unknown_to_who_calls_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str
) -> None:
    processes = Processes(tmp_path)
    till = processes.till
    till.leave.clear()
    async with processes as (one, other), asyncio.timeout(WITHIN):
        first = asyncio.ensure_future(one.call("pay", {"amount": 5}, KEY))
        await till.entered.wait()
        looks = found == "by looking around"
        if looks:
            parts_of(other).looked_for_owners = 0.0  # long ago
        else:
            monkeypatch.setattr(parts_of(other).store, "gone_owners", list)
        processes.die(one)
        again = await other.call("pay", {"amount": 5}, KEY)
        assert isinstance(again, Refused)
        assert code(again) == "outcome_unknown"
        assert processes.sign(one).exists() is not looks
        assert isinstance(await other.outcome("k"), Unknown)
        till.leave.set()
        assert (await first).output == "paid"
        told = ["tool_call.attempted", "tool_call.unknown", "tool_call.refused", "tool_call.settled_late"]
        assert await types(other) == told
    assert till.paid == [5]
