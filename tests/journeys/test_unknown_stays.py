"""What the ledger knows of an effect that nobody saw the end of: it stays unknown until somebody knows better."""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from collections.abc import AsyncIterator
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Failed, NoEffect, Refused, Succeeded, ToolContext, Unknown, tool
from callgate.errors import NothingThere, OutcomeConflict, OutcomeNotFound
from callgate.model.event import Event
from callgate.model.levels import Autonomy, Happened
from callgate.settings.values import Settings
from callgate.testing import HandClock
from tests.journeys import isolated_tools
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)
KEY = Context(idempotency_key="k")
OTHER = Context(idempotency_key="other")


def heard(gate: Callgate, event: str) -> asyncio.Event:
    """Set once such an event is recorded."""
    seen = asyncio.Event()

    def see(_event: Event) -> None:
        seen.set()

    gate.on(event, see)
    return seen


class Shelf:
    """Where things are really put; the answer is lost on the way, and `trouble` comes before anything is put."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness
        self.trouble: Exception | None = None

    def put(self, text: str) -> None:
        with self.witness.open("a") as file:
            file.write(text)
        raise ConnectionResetError

    @property
    def holds(self) -> str:
        return self.witness.read_text() if self.witness.exists() else ""


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path / "witness")


@pytest.fixture
async def gate(shelf: Shelf) -> AsyncIterator[Callgate]:
    @tool(effects="network_access", risk="low", idempotent=True)
    async def put(ctx: ToolContext, text: str) -> None:
        """Put it there under the key."""
        if shelf.trouble is not None:
            raise shelf.trouble
        async with ctx.effect():
            shelf.trouble = ValueError("not now")  # tried again, it fails before it does anything
            shelf.put(text)

    async with gate_of(put, config=FREE) as opened:
        yield opened


async def test_a_lost_answer_stays_unknown_when_the_gate_tries_again_and_that_fails(
    gate: Callgate, shelf: Shelf
) -> None:
    outcome = await gate.call("put", {"text": "a"}, KEY)
    assert isinstance(outcome, Unknown)
    refused = await gate.call("put", {"text": "a"}, OTHER)
    assert refused.error is not None
    assert refused.error.code == "outcome_unknown"
    assert shelf.holds == "a"


async def test_an_equal_call_under_another_key_waits_while_an_unknown_one_is_tried_again(tmp_path: Path) -> None:
    witness, again, entered, go_on = tmp_path / "witness", asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(effects="network_access", risk="low", idempotent=True)
    async def put(ctx: ToolContext) -> str:
        """Put it there under the key."""
        async with ctx.effect():
            with witness.open("a") as file:
                file.write(f"{ctx.key} ")
            if not again.is_set():
                raise ConnectionResetError
            entered.set()
            await go_on.wait()
        return "put"

    async with gate_of(put, config=FREE) as gate:
        assert isinstance(await gate.call("put", {}, KEY), Unknown)
        again.set()
        second_try = asyncio.create_task(gate.call("put", {}, KEY))
        await asyncio.wait_for(entered.wait(), 5)
        refused = await gate.call("put", {}, OTHER)
        assert refused.error is not None
        assert refused.error.code == "outcome_unknown"
        assert refused.error.details["unknown_key"] == "k"
        assert "is being tried again; wait for that one first" in refused.error.message
        keyless = asyncio.create_task(
            gate.call("put", {})
        )  # the gate finds the key by itself, and waits for its answer
        await asyncio.sleep(0.05)  # nobody tells that it waits
        go_on.set()
        first, second = await second_try, await keyless
        assert (first.output, second.output, second.deduped) == ("put", "put", True)
        assert set(witness.read_text().split()) == {"k"}
        assert isinstance(await gate.call("put", {}, OTHER), Succeeded)


async def test_a_later_attempt_that_did_nothing_leaves_unknown_what_one_before_it_may_have_done(
    gate: Callgate, shelf: Shelf
) -> None:
    await gate.call("put", {"text": "a"}, KEY)
    for trouble in (ValueError("not now"), NoEffect("too many")):
        shelf.trouble = trouble
        again = await gate.call("put", {"text": "a"}, KEY)
        assert isinstance(again, Unknown)
        assert again.error is not None
        assert "an attempt before it under this key may have taken effect" in again.error.message
        assert isinstance(await gate.outcome("k"), Unknown)
        shelf.trouble = None
        assert isinstance(await gate.call("put", {"text": "a"}, OTHER), Refused)
    assert shelf.holds == "a"
    (row,) = await gate.unknown_outcomes()
    assert row.cause == "earlier"
    assert (await gate.verify_audit()).ok
    await gate.resolve("k", happened=False, by="ann", call_id=row.call_id)
    assert await gate.outcome("k") is None


async def test_a_first_try_that_may_have_worked_is_not_taken_back_by_one_without_effect(shelf: Shelf) -> None:
    tries: list[str] = []

    @tool(effects="network_access", risk="low", idempotent=True)
    async def put(text: str) -> None:
        """Put it there; tried again nothing happens."""
        tries.append(text)
        if len(tries) > 1:
            raise NoEffect("too many requests")
        shelf.put(text)

    async with gate_of(put, config=FREE) as gate:
        outcome = await gate.call("put", {"text": "a"}, KEY)
        assert (len(tries), shelf.holds) == (2, "a")
        assert isinstance(outcome, Unknown)
        assert isinstance(await gate.outcome("k"), Unknown)


async def test_an_attempt_whose_caller_let_go_before_it_was_entered_takes_nothing_back(
    gate: Callgate, shelf: Shelf
) -> None:
    await gate.call("put", {"text": "a"}, KEY)
    shelf.trouble = ValueError("not now")
    for turns in range(40):  # let go somewhere on the way to the handler, or in it
        again = asyncio.ensure_future(gate.call("put", {"text": "a"}, KEY))
        for _ in range(turns):
            await asyncio.sleep(0)
        again.cancel()
        await asyncio.wait({again})
        assert isinstance(await gate.outcome("k"), Unknown), turns
    assert shelf.holds == "a"
    assert (await gate.verify_audit()).ok


async def test_a_second_try_that_no_process_can_be_started_for_takes_nothing_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, starts = SpawnProcess.start, list[SpawnProcess]()

    def only_once(self: SpawnProcess) -> None:
        starts.append(self)
        if len(starts) > 1:
            raise OSError(errno.EAGAIN, "no more processes")
        start(self)

    monkeypatch.setattr(SpawnProcess, "start", only_once)
    write = tool(effects="system_state", risk="low", isolation="process", idempotent=True)(isolated_tools.lost)
    async with gate_of(write, config=FREE) as gate:
        outcome = await gate.call("lost", {"path": str(tmp_path / "w")}, KEY)
        assert (tmp_path / "w").read_text() == "x"
        assert len(starts) > 1
        assert isinstance(outcome, Unknown)
        assert isinstance(await gate.outcome("k"), Unknown)


@pytest.mark.parametrize("made", [isolated_tools.unsendable, isolated_tools.unreadable], ids=["unsent", "unread"])
async def test_what_returned_something_that_cannot_leave_its_process_has_taken_effect(
    tmp_path: Path, made: Any
) -> None:
    write = tool(effects="system_state", risk="low", isolation="process", name="write")(made)
    async with gate_of(write, config=FREE) as gate:
        outcome = await gate.call("write", {"path": str(tmp_path / "w")}, KEY)
        assert (tmp_path / "w").read_text() == "x"
        assert isinstance(outcome, Failed)
        assert outcome.error is not None
        assert (outcome.error.code, outcome.happened) == ("output_invalid", Happened.DONE)


class Bank:
    """Shows a payment a minute after it was made."""

    def __init__(self, witness: Path, clock: HandClock) -> None:
        self.witness, self.clock = witness, clock
        self.slow = 0.0
        """How long an answer is on its way."""

    def pay(self) -> None:
        with self.witness.open("a") as file:
            file.write(f"{self.clock.now()}\n")
        raise ConnectionResetError

    def shows(self) -> str:
        shown = any(self.clock.now() - float(line) >= 60 for line in self.witness.read_text().split())
        self.clock.turn(self.slow)
        return "happened" if shown else "absent"

    @property
    def payments(self) -> int:
        return len(self.witness.read_text().split())


@pytest.mark.parametrize(("takes", "slow", "wait"), [(100, 0, 1), (0, 5, 57)], ids=["slow call", "slow answer"])
async def test_absent_counts_once_the_horizon_had_passed_since_the_effect_could_last_happen(
    tmp_path: Path, takes: float, slow: float, wait: float
) -> None:
    clock = HandClock()
    bank = Bank(tmp_path / "bank", clock)
    bank.slow = slow

    async def verify(arguments: dict[str, Any], key: str) -> str:
        return bank.shows()

    @tool(effects="network_access", risk="low", verify=verify, horizon=60, timeout=300)
    async def pay() -> None:
        """Pay; the answer is lost."""
        clock.turn(takes)
        bank.pay()

    async with gate_of(pay, config=FREE, clock=clock) as gate:
        assert isinstance(await gate.call("pay", {}, KEY), Unknown)
        clock.turn(wait)
        assert await gate.verify_outcome("k") == "cannot_tell"
        assert isinstance(await gate.call("pay", {}, KEY), Refused)
        assert bank.payments == 1
        clock.turn(60)
        assert await gate.verify_outcome("k") == "happened"


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_coroutine_that_came_too_late_to_be_run_is_no_success(tmp_path: Path) -> None:
    witness, go = tmp_path / "witness", threading.Event()

    async def really_pay() -> str:
        witness.write_text("paid")
        return "paid"

    @tool(effects="network_access", risk="low")
    def pay() -> Any:
        """Pay, after connecting."""
        go.wait(30)
        return really_pay()

    async with gate_of(pay, config=FREE) as gate:
        late = heard(gate, "tool_call.settled_late")
        assert isinstance(await gate.call("pay", {}, KEY, timeout=0.05), Unknown)
        go.set()
        async with asyncio.timeout(30):
            await late.wait()
        assert not witness.exists()
        assert isinstance(await gate.outcome("k"), Unknown)
        await gate.resolve("k", happened=False, by="ann")
        assert isinstance(await gate.call("pay", {}, KEY, timeout=30), Succeeded)
        assert witness.read_text() == "paid"


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited", "ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_coroutine_that_comes_as_its_caller_lets_go_is_not_run(tmp_path: Path) -> None:
    witness, entered, go = tmp_path / "witness", asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    async def really_pay() -> str:
        witness.write_text("paid")
        return "paid"

    @tool(effects="network_access", risk="low")
    def pay() -> Any:
        """Pay, after connecting."""
        loop.call_soon_threadsafe(entered.set)
        go.wait(30)
        return really_pay()

    async with gate_of(pay, config=FREE) as gate:
        caller = asyncio.ensure_future(gate.call("pay", {}, KEY))
        await asyncio.wait_for(entered.wait(), 30)
        go.set()
        time.sleep(0.2)  # noqa: ASYNC251 - the loop hears of the end and of the letting go in one turn
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert not witness.exists()
        assert isinstance(await gate.outcome("k"), Unknown)


async def test_the_id_of_a_call_that_was_not_judged_is_no_judgement(gate: Callgate) -> None:
    @tool(effects="read_only")
    async def look() -> str:
        """Look."""
        return "seen"

    gate.add(look)
    for call_id in ((await gate.call("look", {})).call_id, "nosuch"):
        await gate.flush()
        with pytest.raises(OutcomeNotFound, match="no judged call has the id"):
            await gate.report(call_id, ok=True)


async def test_what_only_reminds_of_a_secret_is_left_as_it_is(gate: Callgate) -> None:
    @tool(effects="read_only")
    async def look() -> list[str]:
        """Look."""
        return ["XAKIAIOSFODNN7EXAMPLE"]

    gate.add(look)
    assert (await gate.call("look", {})).output == ["XAKIAIOSFODNN7EXAMPLE"]
    outcome = await gate.call("put", {"text": "a"}, Context(idempotency_key="k", principal="XAKIAIOSFODNN7EXAMPLE"))
    assert isinstance(outcome, Unknown)


async def test_a_read_that_is_unknown_because_of_an_effect_inside_is_not_run_again(shelf: Shelf) -> None:
    gates: list[Callgate] = []

    @tool(effects="network_access", risk="low")
    async def pay() -> None:
        """Pay somebody."""
        shelf.put("paid ")

    @tool(effects="read_only")
    async def survey() -> None:
        """Look at things, and pay on the way."""
        await gates[0].call("pay", {}, Context())
        raise ConnectionResetError

    async with gate_of(pay, survey, config=FREE) as gate:
        gates.append(gate)
        assert isinstance(await gate.call("survey", {}, KEY), Unknown)
        assert isinstance(await gate.call("survey", {}, KEY), Refused)
        assert shelf.holds == "paid "


async def test_what_somebody_found_of_one_attempt_says_nothing_of_a_later_one(gate: Callgate, shelf: Shelf) -> None:
    await gate.call("put", {"text": "a"}, KEY)
    (looked_at,) = await gate.unknown_outcomes()
    shelf.trouble = None
    await gate.call("put", {"text": "a"}, KEY)
    for named in (None, looked_at.call_id):
        with pytest.raises(OutcomeConflict, match="last"):
            await gate.resolve("k", happened=False, by="ann", call_id=named)
    assert isinstance(await gate.outcome("k"), Unknown)
    (last,) = await gate.unknown_outcomes()
    assert isinstance(await gate.resolve("k", happened=True, by="ann", call_id=last.call_id), Succeeded)


async def test_what_a_host_reports_of_an_earlier_use_is_a_late_fact_and_told_once() -> None:
    clock = HandClock()

    @tool(effects="local_exec", risk="low", name="host.sync", source="host", idempotent=True)
    async def sync() -> str:
        """Run by its host."""
        raise AssertionError

    async with gate_of(sync, config=FREE, clock=clock) as gate:
        first = await gate.judge(Call("host.sync", {}), KEY)
        silent = heard(gate, "tool_call.unknown")
        clock.turn(100)
        async with asyncio.timeout(30):
            await silent.wait()
        second = await gate.judge(Call("host.sync", {}), KEY)
        assert second.allowed
        for _ in range(2):
            assert (await gate.report(first.id, ok=True, output="done")).ok
        late = [event async for event in gate.events(call_id=first.id, types=["tool_call.settled_late"])]
        assert [(event.payload or {}).get("output") for event in late] == ["done"]
        failed = await gate.report(second.id, ok=False, error="it broke")
        assert isinstance(failed, Unknown)
        assert (await gate.verify_audit()).ok


@pytest.mark.parametrize("details", [{"order": 7}, {"state": "CA"}, {"outcome": "declined"}], ids=str)
async def test_a_handler_that_ends_late_changes_nothing_by_the_names_of_its_details(details: dict[str, Any]) -> None:
    go_on = threading.Event()

    @tool(effects="system_state", risk="low")
    def ship() -> str:
        """Ship an order."""
        go_on.wait(30)
        raise NothingThere("there is no such order any more", **details)

    async with gate_of(ship, config=FREE) as gate:
        late = heard(gate, "tool_call.settled_late")
        assert isinstance(await gate.call("ship", {}, KEY, timeout=0.05), Unknown)
        await gate.resolve("k", happened=True, by="ann")
        go_on.set()
        await asyncio.wait_for(late.wait(), 30)
        (call,) = await gate.calls()
        assert call["status"] == "succeeded"
        report = await gate.verify_audit()
    assert report.ok, report.problems
