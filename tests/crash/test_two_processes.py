"""Two processes on one file: one dies, is paused or holds the lock; the other never repeats its effect."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Outcome, Refused
from callgate.stores.sqlite import session
from tests.crash.alone import HOLDING
from tests.crash.processes import Process
from tests.crash.promises import given_up
from tests.crash.waiting import WITHIN, until
from tests.crash.workload import FREE, TOOLS, effects_in, log_effects_to

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KEY = Context(idempotency_key="k")


@asynccontextmanager
async def gate_on(url: str, folder: Path) -> AsyncGenerator[Callgate]:
    log_effects_to(folder / "effects")
    gate = Callgate.open(url, FREE)
    gate.add(*TOOLS, *HOLDING)
    async with gate:
        yield gate


def holding(url: str, folder: Path, when: str, *, tool: str = "hold") -> Process:
    """A process that has stopped in the middle of its call."""
    process = Process("hold_a_call", url=url, folder=folder, tool=tool, key="k", arguments={"n": 1, "when": when})
    assert process.hear() == "entered"
    return process


def code(outcome: Outcome | None) -> str | None:
    assert outcome is not None
    return None if outcome.error is None else outcome.error.code


async def is_waiting(gate: Any) -> bool:
    """Whether the other process's call is seen here."""
    return isinstance(await gate.outcome("k"), Refused)


@pytest.mark.requirement("IDM-04", "IDM-07")
@pytest.mark.parametrize(("when", "effects"), [("after", 1), ("before", 0)])
async def test_whoever_waits_for_a_process_that_is_killed_learns_that_nobody_knows_and_runs_nothing(
    url: str, tmp_path: Path, when: str, effects: int
) -> None:
    arguments = {"n": 1, "when": when}
    async with gate_on(url, tmp_path) as gate:
        with holding(url, tmp_path, when) as process:
            waiting = asyncio.ensure_future(gate.call("hold", arguments, KEY))
            assert await is_waiting(gate)
            process.signal(signal.SIGKILL)
            process.wait()
            outcome = await asyncio.wait_for(waiting, WITHIN)
        assert code(outcome) == "outcome_unknown"
        assert code(await gate.call("hold", arguments, Context(idempotency_key="new"))) == "outcome_unknown"
        final = await gate.outcome("k")
        assert final is not None
        assert final.status == "unknown"
        rows, told = await given_up(gate)
        assert len(rows) == 1
        assert rows == told
        assert (await gate.verify_audit()).problems == ()
    assert len(effects_in(tmp_path / "effects")[1]) == effects


@pytest.mark.requirement("IDM-04", "IDM-07")
async def test_an_equal_call_under_a_new_key_is_refused_as_soon_as_the_first_ones_process_is_dead(
    url: str, tmp_path: Path
) -> None:
    """By a gate that was open all the time, and asked nothing about the first key."""
    arguments = {"n": 1, "when": "after"}
    async with gate_on(url, tmp_path) as gate:
        with holding(url, tmp_path, "after") as process:
            process.signal(signal.SIGKILL)
            process.wait()
        outcome = await gate.call("hold", arguments, Context(idempotency_key="new"))
        assert code(outcome) == "outcome_unknown"
        rows, told = await given_up(gate)
        assert (len(rows), rows) == (1, told)
    assert len(effects_in(tmp_path / "effects")[1]) == 1


async def test_a_gate_that_is_open_finds_out_by_itself_what_a_dead_process_left(url: str, tmp_path: Path) -> None:
    async with gate_on(url, tmp_path) as gate:
        with holding(url, tmp_path, "after") as process:
            process.signal(signal.SIGKILL)
            process.wait()
        assert [row.key.key for row in await until(gate.unknown_outcomes)] == ["k"]


@pytest.mark.requirement("IDM-04")
async def test_an_idempotent_call_of_a_killed_process_is_made_again_by_whoever_waits(url: str, tmp_path: Path) -> None:
    async with gate_on(url, tmp_path) as gate:
        with holding(url, tmp_path, "after", tool="hold_repeatable") as process:
            arguments = {"n": 1, "when": "never"}
            assert code(await gate.call("hold_repeatable", arguments, KEY)) == "idempotency_conflict"
            arguments = {"n": 1, "when": "after"}
            waiting = asyncio.ensure_future(gate.call("hold_repeatable", arguments, KEY, timeout=WITHIN))
            process.signal(signal.SIGKILL)
            process.wait()
            outcome = await asyncio.wait_for(waiting, WITHIN)
        assert outcome.ok
        assert (await gate.verify_audit()).problems == ()
    assert len(effects_in(tmp_path / "effects")[1]) == 2


async def test_a_paused_process_is_not_dead_and_what_it_runs_stays_its_own(url: str, tmp_path: Path) -> None:
    arguments = {"n": 1, "when": "before"}
    with holding(url, tmp_path, "before") as process:
        process.signal(signal.SIGSTOP)
        async with gate_on(url, tmp_path) as gate:
            assert await is_waiting(gate)
            assert code(await gate.call("hold", arguments, KEY, timeout=0.3)) == "in_flight"
            assert await given_up(gate) == (set(), set())
            process.signal(signal.SIGCONT)
            process.say()
            assert process.hear() == "succeeded"
            again = await gate.call("hold", arguments, KEY)
            assert (again.status, again.deduped) == ("succeeded", True)
            assert [again.output] == effects_in(tmp_path / "effects")[1]
        assert process.wait() == 0


async def test_a_process_killed_with_the_write_lock_blocks_nobody(url: str, tmp_path: Path) -> None:
    async with gate_on(url, tmp_path) as gate:
        with Process("hold_the_lock", url=url, folder=tmp_path) as process:
            assert process.hear() == "locked"
            waiting = asyncio.ensure_future(gate.call("pay", {"n": 2}, KEY))
            process.signal(signal.SIGKILL)
            assert (await asyncio.wait_for(waiting, WITHIN)).ok
        assert (await gate.verify_audit()).problems == ()
    assert len(effects_in(tmp_path / "effects")[2]) == 1


async def test_a_process_paused_with_the_write_lock_has_others_refused_before_any_effect(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_LOCK_WAIT_MS", 300)
    async with gate_on(url, tmp_path) as gate:
        with Process("hold_the_lock", url=url, folder=tmp_path) as process:
            assert process.hear() == "locked"
            process.signal(signal.SIGSTOP)
            assert code(await gate.call("pay", {"n": 2}, KEY)) == "store_unavailable"
            assert effects_in(tmp_path / "effects") == {}
            process.signal(signal.SIGCONT)
            process.say()
            assert process.hear() == "let go"
            await until(partial(pays, gate))
        assert (await gate.verify_audit()).problems == ()
    assert len(effects_in(tmp_path / "effects")[2]) == 1


async def test_a_process_that_writes_without_pause_starves_nobody(url: str, tmp_path: Path) -> None:
    async with gate_on(url, tmp_path) as gate:
        with Process("hog_the_lock", url=url, folder=tmp_path) as process:
            assert process.hear() == "hogging"
            for number in range(10):
                assert (await gate.call("pay", {"n": number})).ok
            async with gate_on(url, tmp_path) as other:
                assert (await other.call("pay", {"n": 10})).ok


async def pays(gate: Callgate) -> bool:
    return (await gate.call("pay", {"n": 2}, KEY)).ok
