"""A wall clock that leaps by hours, back and forth: order, ownership, the chain and expiry do not depend on it."""

from __future__ import annotations

import asyncio
import random
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Pending, Refused, tool
from callgate.errors import ApprovalConflict
from callgate.model.approval import ApprovalState
from tests.crash.journal import read_journals
from tests.crash.promises import broken_promises, gather, given_up
from tests.crash.waiting import until
from tests.crash.worker import Order, Worker
from tests.crash.workload import FREE, TOOLS, effects_in, log_effects_to

pytestmark = [pytest.mark.crash, pytest.mark.slow]

HOUR = 3600.0
KEY = Context(idempotency_key="k")


class LeapingClock:
    """The machine's clock, set wrong by some hours; what passes between two looks is true, as with a real one."""

    def __init__(self) -> None:
        self.off = 0.0

    def now(self) -> float:
        return time.time() + self.off

    def monotonic(self) -> float:
        return time.monotonic()


def a_gate(url: str, clock: LeapingClock, *tools: Any, config: Any = FREE) -> Callgate:
    gate = Callgate.open(url, config, clock=clock)
    gate.add(*tools)
    return gate


def till() -> tuple[list[int], Any]:
    done: list[int] = []

    @tool(effects="network_access", risk="high")
    async def pay(amount: int) -> int:
        """Pay somebody."""
        done.append(amount)
        return amount

    return done, pay


async def test_two_gates_whose_clocks_leap_apart_break_no_promise(url: str, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    log_effects_to(tmp_path / "effects")
    clocks = [LeapingClock(), LeapingClock()]
    async with a_gate(url, clocks[0], *TOOLS) as one, a_gate(url, clocks[1], *TOOLS) as other:
        workers = [
            Worker(Order(url=url, folder=tmp_path, name=name, seed=seed), gate)
            for name, gate in (("one", one), ("other", other))
        ]
        for first in range(0, 400, 20):
            for clock in clocks:
                clock.off = dice.uniform(-1000, 1000) * HOUR
            numbers = [dice.randrange(max(0, first - 40), first + 20) for _ in range(40)]
            await asyncio.gather(*(dice.choice(workers).call(number) for number in numbers))
            await workers[0].approve_all()
        clocks[0].off = clocks[1].off = 0.0
        evidence = await until(partial(at_rest, one, tmp_path))
        assert broken_promises(evidence) == []
        assert await given_up(one) == (set(), set())
        await in_order(one)
        assert (await one.verify_audit()).problems == ()
        assert (await other.verify_audit()).problems == ()


async def at_rest(gate: Callgate, folder: Path) -> Any:
    """The evidence, once handlers that outlived their calls have ended."""
    evidence = await gather(gate, read_journals(folder), effects_in(folder / "effects"))
    return None if any(isinstance(final, Refused) for final in evidence.finals.values()) else evidence


async def in_order(gate: Callgate) -> None:
    """Events of a stream read back in the order they were recorded in, whatever their times say."""
    sequences: dict[str, list[int]] = {}
    times: list[float] = []
    async for event in gate.events():
        sequences.setdefault(event.stream, []).append(event.sequence)
        times.append(event.time)
    assert times != sorted(times)
    assert all(numbers == list(range(len(numbers))) for numbers in sequences.values())


async def test_a_leap_of_a_month_takes_nothing_from_whoever_runs_it(url: str) -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    @tool(effects="network_access", risk="medium")
    async def pay() -> str:
        """Pay somebody, slowly."""
        entered.set()
        await release.wait()
        return "paid"

    here, there = LeapingClock(), LeapingClock()
    async with a_gate(url, here, pay) as gate:
        running = asyncio.ensure_future(gate.call("pay", {}, KEY))
        await entered.wait()
        here.off, there.off = -30 * 24 * HOUR, 30 * 24 * HOUR
        async with a_gate(url, there, pay) as other:
            twin = await other.call("pay", {}, KEY, timeout=0.05)
            assert twin.error is not None
            assert twin.error.code == "in_flight"
            assert await given_up(other) == (set(), set())
            release.set()
            assert (await running).output == "paid"
            assert (await other.call("pay", {}, KEY)).deduped


async def test_an_expiry_that_was_seen_stays_when_the_clock_goes_back(url: str) -> None:
    done, pay = till()
    clock = LeapingClock()
    async with a_gate(url, clock, pay, config=None) as gate:
        pending = await gate.call("pay", {"amount": 5}, KEY)
        assert isinstance(pending, Pending)
        clock.off = 2 * HOUR
        assert await gate.approvals() == []
        clock.off = 0.0
        assert (await gate.approval(pending.approval_id)).state is ApprovalState.EXPIRED
        with pytest.raises(ApprovalConflict):
            await gate.approve(pending.approval_id, by="ann")
        again = await gate.call("pay", {"amount": 5}, KEY)
        assert isinstance(again, Pending)
        assert again.approval_id != pending.approval_id
        assert (await gate.verify_audit()).problems == ()
    assert done == []


async def test_an_approval_that_expired_between_yes_and_use_is_not_used(url: str) -> None:
    done, pay = till()
    clock = LeapingClock()
    async with a_gate(url, clock, pay, config=None) as gate:
        pending = await gate.call("pay", {"amount": 5}, KEY)
        assert isinstance(pending, Pending)
        await gate.approve(pending.approval_id, by="ann")
        clock.off = 2 * HOUR
        assert isinstance(await gate.call("pay", {"amount": 5}, KEY), Pending)
        clock.off = 0.0
        resumed = await gate.resume(pending.approval_id)
        assert resumed.error is not None
        assert resumed.error.code == "approval_expired"
        assert (await gate.verify_audit()).problems == ()
    assert done == []


async def test_a_clock_that_goes_back_lets_an_approval_be_used_once_all_the_same(url: str) -> None:
    done, pay = till()
    clock = LeapingClock()
    async with a_gate(url, clock, pay, config=None) as gate:
        pending = await gate.call("pay", {"amount": 5}, KEY)
        assert isinstance(pending, Pending)
        clock.off = -10 * HOUR
        await gate.approve(pending.approval_id, by="ann")
        outcomes = await asyncio.gather(*(gate.call("pay", {"amount": 5}, KEY) for _ in range(5)))
        assert [outcome.status for outcome in outcomes] == ["succeeded"] * 5
        assert (await gate.verify_audit()).problems == ()
    assert done == [5]


async def test_a_judged_call_that_a_leap_made_unknown_is_still_settled_by_its_report(url: str) -> None:
    @tool(effects="network_access", risk="medium", source="host")
    async def bash() -> str:
        """Run by its host."""
        raise AssertionError

    clock = LeapingClock()
    async with a_gate(url, clock, bash) as gate:
        judgement = await gate.judge(Call("bash", {}), KEY)
        assert judgement.allowed
        clock.off = 5 * HOUR
        await until(gate.unknown_outcomes)
        clock.off = -5 * HOUR
        assert (await gate.report(judgement.id, ok=True, output="ran")).ok
        final = await gate.outcome("k")
        assert final is not None
        assert final.output == "ran"
        assert (await gate.verify_audit()).problems == ()
