"""A database that becomes read-only under an open gate: no effect begins, what began is unknown, nothing is lost."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Outcome, Refused, Succeeded, Unknown, tool
from tests.crash.journal import read_journals
from tests.crash.processes import Process
from tests.crash.promises import CLOSING, broken_promises, gather
from tests.crash.protection import Protection
from tests.crash.waiting import WITHIN, until
from tests.crash.worker import Order, Worker
from tests.crash.workload import FREE, TOOLS, effects_in, happen, key_of, log_effects_to, tool_of

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KEY = Context(idempotency_key="held")


@asynccontextmanager
async def worker_on(protection: Protection, log: Path, *more: Any) -> AsyncGenerator[Worker]:
    """A worker on a store that can be made read-only; its effects are counted where that changes nothing."""
    log_effects_to(log / "effects")
    gate = Callgate.open(protection.url, FREE)
    gate.add(*TOOLS, *more)
    async with gate:
        yield Worker(Order(url=protection.url, folder=log, name="here", seed=0), gate)


def is_refused(outcome: Outcome | None) -> bool:
    return isinstance(outcome, Refused) and outcome.error is not None and outcome.error.code == "store_unavailable"


async def takes_calls(worker: Worker, number: int) -> bool:
    return not is_refused(await worker.call(number))


async def is_known(gate: Callgate, number: int) -> bool:
    """Whether a handler that outlived its call has said how it ended: an equal call is a new one from then on."""
    return not isinstance(await gate.outcome(key_of(number)), Unknown)


async def nothing_runs(gate: Callgate) -> bool:
    """Whether what could not be recorded at once has been by now."""
    attempted = {event.call async for event in gate.events(types=["tool_call.attempted"])}
    return attempted == {event.call async for event in gate.events(types=sorted(CLOSING))}


async def assert_promises(gate: Callgate, log: Path) -> None:
    evidence = await gather(gate, read_journals(log), effects_in(log / "effects"))
    assert broken_promises(evidence) == []
    assert (await gate.verify_audit()).problems == ()


@pytest.mark.requirement("EVT-08", "EVT-09")
async def test_a_database_that_becomes_read_only_refuses_before_any_effect_and_goes_on_when_it_is_not(
    protection: Protection, tmp_path: Path
) -> None:
    async with worker_on(protection, tmp_path) as worker:
        told = {number: await worker.call(number) for number in range(20)}
        with protection.read_only():
            outcomes = [await worker.call(number) for number in range(100, 120)]
            outcomes += await asyncio.gather(*(worker.call(number) for number in range(200, 220)))
            assert [outcome for outcome in outcomes if not is_refused(outcome)] == []
            assert max(effects_in(tmp_path / "effects")) < 100
            for number in (number for number, outcome in told.items() if outcome.ok):
                kept = await worker.gate.outcome(key_of(number))
                assert isinstance(kept, Succeeded)
                assert kept.output == told[number].output
        await until(lambda: takes_calls(worker, 100))
        for number in filter(lambda number: tool_of(number) == "pay_late", range(20)):
            await until(partial(is_known, worker.gate, number))
        for number in (*range(20), *range(100, 120), *range(200, 220)):
            await worker.ask_again(number)
        await until(lambda: nothing_runs(worker.gate))
        await assert_promises(worker.gate, tmp_path)
    async with worker_on(protection, tmp_path) as worker:
        await assert_promises(worker.gate, tmp_path)


async def test_an_effect_whose_end_cannot_be_written_is_unknown_and_recorded_once_it_can(
    protection: Protection, tmp_path: Path
) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    @tool(effects="network_access", risk="medium")
    async def pay_held(n: int) -> str:
        """Pay, and stop before the answer."""
        token = happen(n)
        entered.set()
        await go_on.wait()
        return token

    async with worker_on(protection, tmp_path, pay_held) as worker, asyncio.timeout(WITHIN):
        gate = worker.gate
        paying = asyncio.ensure_future(gate.call("pay_held", {"n": 1}, KEY))
        await entered.wait()
        with protection.read_only():
            go_on.set()
            outcome = await paying
            assert isinstance(outcome, Unknown)
            assert outcome.error is not None
            assert "its record could not be written" in outcome.error.message
            assert [outcome.output] == effects_in(tmp_path / "effects")[1]
            assert is_refused(await gate.call("pay_held", {"n": 1}, Context(idempotency_key="new")))
        await until(partial(succeeded, gate))
        types = [event.type async for event in gate.events(types=["tool_call.*"], call_id=outcome.call_id)]
        assert types == ["tool_call.attempted", "tool_call.succeeded"]
        assert (await gate.call("pay_held", {"n": 1}, KEY)).output == outcome.output
        assert len(effects_in(tmp_path / "effects")[1]) == 1
        assert (await gate.verify_audit()).problems == ()


async def succeeded(gate: Callgate) -> bool:
    return isinstance(await gate.outcome("held"), Succeeded)


async def test_a_process_killed_while_its_database_was_read_only_leaves_its_effect_unknown(
    protection: Protection, tmp_path: Path
) -> None:
    order: dict[str, Any] = {"tool": "hold", "key": "held", "arguments": {"n": 1, "when": "after"}}
    with Process("hold_a_call", url=protection.url, folder=tmp_path, **order) as process:
        assert process.hear() == "entered"
        with protection.read_only():
            process.say()
            assert process.hear() == "unknown"
            process.signal(signal.SIGKILL)
            process.wait()
    async with worker_on(protection, tmp_path) as worker:
        assert isinstance(await worker.gate.outcome("held"), Unknown)
        assert len(effects_in(tmp_path / "effects")[1]) == 1
        assert (await worker.gate.verify_audit()).problems == ()
