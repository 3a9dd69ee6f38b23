"""A record that cannot be written, read or believed: the caller is told, and nothing happens twice or unseen."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Failed, NoEffect, Outcome, Pending, Succeeded, ToolContext, Unknown, tool
from callgate.errors import StoreError
from callgate.model.canonical import dumps
from callgate.model.decision import Reason
from callgate.model.levels import Autonomy, HealthStatus, Verdict
from callgate.pipeline.owners import fall_silent
from callgate.settings.values import Settings
from callgate.testing import HandClock, memory_gate
from tests.journeys.faulty import make_faulty
from tests.journeys.gates import gate_of, parts_of
from tests.waiting import until

FREE = Settings(autonomy=Autonomy.A4)
KEY = Context(idempotency_key="k")
WITHIN = 10


def code(outcome: Outcome | None) -> str:
    assert outcome is not None
    assert outcome.error is not None
    return outcome.error.code


def run(file: Path, statement: str, *values: Any) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute(statement, values)


@tool(effects="network_access", risk="medium")
async def pay(amount: int) -> str:
    """Pay; for odd amounts the answer is lost."""
    if amount % 2:
        raise ConnectionResetError
    return "paid"


# Before a call runs.


@pytest.mark.usefixtures("on_each_store")
async def test_a_limit_that_is_used_up_refuses_in_the_claim() -> None:
    class Once:
        """One call, and no more."""

        used = False

        def reserve(self, *_call: Any) -> Reason | None:
            if self.used:
                return Reason("limit", "one payment a day", Verdict.DENY, "limit_exceeded")
            self.used = True
            return None

    async with gate_of(pay, config=FREE) as gate:
        parts_of(gate).limits = Once()
        assert (await gate.call("pay", {"amount": 2})).ok
        refused = await gate.call("pay", {"amount": 4}, KEY)
        assert code(refused) == "limit_exceeded"
        assert await gate.outcome("k") is None


async def test_what_a_host_may_not_run_is_told_to_it_with_the_reason() -> None:
    @tool(effects="local_exec", risk="high", name="host.bash", source="host")
    async def bash(command: str) -> str:
        """The host's shell."""
        raise AssertionError("the gate never runs it")

    async with memory_gate(bash) as gate:
        judged = await gate.judge(Call("host.bash", {"command": "rm"}))
        assert not judged.allowed
        assert isinstance(judged.outcome, Pending)
        denied = await gate.judge(Call("host.bash", {"command": "rm"}), Context(read_only=True))
        assert not denied.allowed
        assert code(denied.outcome) == "policy_denied"


@pytest.mark.usefixtures("on_each_store")
async def test_explaining_a_call_says_that_it_is_allowed_and_that_its_key_has_its_answer() -> None:
    async with gate_of(pay, config=FREE) as gate:
        decision = await gate.explain("pay", {"amount": 2}, KEY)
        assert decision.verdict is Verdict.ALLOW
        await gate.call("pay", {"amount": 2}, KEY)
        decision = await gate.explain("pay", {"amount": 2}, Context(idempotency_key="k", autonomy=Autonomy.A0))
        assert decision.verdict is Verdict.ALLOW
        assert "the ledger has the outcome of this key" in decision.reasons[-1].text


@pytest.mark.usefixtures("on_each_store")
async def test_nobody_is_asked_about_a_call_whose_twin_runs_until_that_one_has_failed() -> None:
    showing, running, asked, tried = asyncio.Event(), asyncio.Event(), asyncio.Event(), list[int]()

    async def preview(arguments: dict[str, Any], context: ToolContext) -> str:
        showing.set()
        await running.wait()
        return "would charge"

    @tool(effects="network_access", risk="high", preview=preview)
    async def charge(amount: int) -> str:
        """Charge; nothing comes of it."""
        tried.append(amount)
        running.set()
        await asyncio.wait_for(asked.wait(), WITHIN)
        raise NoEffect("the line was busy")

    async with gate_of(charge) as gate:
        call = asyncio.ensure_future(gate.call("charge", {"amount": 5}, KEY))
        await asyncio.wait_for(showing.wait(), WITHIN)
        free = Context(idempotency_key="k", autonomy=Autonomy.A4)
        twin = asyncio.ensure_future(gate.call("charge", {"amount": 5}, free))
        await asyncio.wait_for(running.wait(), WITHIN)
        await parts_of(gate).store.write(lambda tx: tx.put_meta("asked", "yes"))
        asked.set()
        assert isinstance(await asyncio.wait_for(twin, WITHIN), Failed)
        assert isinstance(await asyncio.wait_for(call, WITHIN), Pending)
    assert tried == [5]


# When the record cannot be written.


@pytest.mark.usefixtures("on_each_store")
async def test_a_read_whose_end_cannot_be_recorded_is_unknown_with_its_output() -> None:
    @tool(effects="read_only")
    async def look() -> str:
        """Look while the disk fills up."""
        faulty.broken = True
        return "seen"

    async with gate_of(look) as gate:
        faulty = make_faulty(gate)
        outcome = await gate.call("look", {})
        faulty.broken = False
        assert isinstance(outcome, Unknown)
        assert outcome.output == "seen"


async def test_trouble_of_a_connector_counts_although_it_cannot_be_recorded() -> None:
    @tool(effects="read_only", connector="wiki")
    async def look() -> str:
        """Look while everything breaks."""
        faulty.broken = True
        raise ConnectionRefusedError

    async with memory_gate(look) as gate:
        faulty = make_faulty(gate)
        assert isinstance(await gate.call("look", {}), Failed)
        faulty.broken = False
        assert gate.health("wiki").status is HealthStatus.DEGRADED
        assert [event async for event in gate.events(types=["health.changed"])] == []


async def test_a_record_that_is_refused_again_and_again_is_written_when_it_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("callgate.pipeline.spool._PAUSE", 0.001)

    @tool(effects="network_access", risk="medium")
    async def send() -> str:
        """Send while the disk is full."""
        faulty.broken = True
        return "sent"

    async with memory_gate(send, config=FREE) as gate:
        faulty = make_faulty(gate)
        assert isinstance(await gate.call("send", {}, KEY), Unknown)
        await until(lambda: faulty.failed >= 4)
        faulty.broken = False
        await until(lambda: len(parts_of(gate).spool) == 0)
        assert isinstance(await gate.outcome("k"), Succeeded)


async def test_a_record_that_can_never_be_made_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("callgate.pipeline.spool._PAUSE", 0.001)

    @tool(effects="network_access", risk="medium")
    async def send(number: int) -> int:
        """Send while the disk is full."""
        faulty.broken = True
        return number

    async with memory_gate(send, config=FREE) as gate:
        faulty = make_faulty(gate)
        assert isinstance(await gate.call("send", {"number": 1}, KEY), Unknown)
        faulty.raises = RuntimeError("a defect of the store")
        await until(lambda: len(parts_of(gate).spool) == 0)
        faulty.broken = False
        assert code(await gate.outcome("k")) == "in_flight"
    assert "a record could not be made; the row stays started and will read unknown" in caplog.text


async def test_a_gate_that_closes_with_records_it_could_not_write_says_how_many(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @tool(effects="network_access", risk="medium")
    async def send() -> str:
        """Send while the disk is full."""
        faulty.broken = True
        return "sent"

    with caplog.at_level(logging.ERROR, logger="callgate"):
        async with memory_gate(send, config=FREE) as gate:
            faulty = make_faulty(gate)
            assert isinstance(await gate.call("send", {}), Unknown)
    assert "1 outcomes could not be recorded; they will read unknown" in caplog.text


# When the record cannot be read or believed.


def gate_on(file: Path, **options: Any) -> Callgate:
    return gate_of(pay, store=f"sqlite:///{file}", **options)


async def test_a_recorded_outcome_that_was_edited_into_nonsense_is_not_told_as_one(tmp_path: Path) -> None:
    file = tmp_path / "gate.db"
    async with gate_on(file, config=FREE) as gate:
        await gate.call("pay", {"amount": 2}, KEY)
        for nonsense in ("[1]", "[", "5"):
            run(file, "UPDATE attempts SET outcome = ?", nonsense)
            with pytest.raises(StoreError, match="cannot be read; see `callgate audit verify`"):
                await gate.outcome("k")
            assert code(await gate.call("pay", {"amount": 2}, KEY)) == "store_unavailable"


async def test_an_effect_whose_sealed_arguments_are_gone_cannot_be_verified(tmp_path: Path) -> None:
    def verify(arguments: dict[str, Any], key: str) -> str:
        raise AssertionError("there is nothing to ask with")

    @tool(effects="network_access", risk="medium", verify=verify)
    async def send() -> str:
        """Send; the answer is lost."""
        raise ConnectionResetError

    file = tmp_path / "gate.db"
    async with gate_of(send, store=f"sqlite:///{file}", config=FREE) as gate:
        await gate.call("send", {}, KEY)
        run(file, "DELETE FROM sealed")
        assert await gate.verify_outcome("k") == "cannot_tell"


@pytest.mark.usefixtures("on_each_store")
async def test_a_sealed_call_of_another_form_is_not_resumed() -> None:
    """As a later version might write it, with the right key."""
    async with gate_of(pay) as gate:
        pending = await gate.call("pay", {"amount": 2})
        assert isinstance(pending, Pending)
        approval, parts = await gate.approval(pending.approval_id), parts_of(gate)
        blob = parts.keys.seal(dumps({"version": 2}), bound_to=approval.sealed_id.encode())
        await parts.store.write(lambda tx: tx.put_sealed(approval.sealed_id, blob, keep_until=None))
        with pytest.raises(StoreError, match="has an unknown form"):
            await gate.resume(pending.approval_id)


@pytest.mark.usefixtures("on_each_store")
async def test_a_silence_that_two_notice_at_once_is_recorded_once() -> None:
    @tool(effects="local_exec", risk="low", name="host.bash", source="host")
    async def bash(command: str) -> str:
        """The host's shell."""
        raise AssertionError("the gate never runs it")

    clock = HandClock()
    async with gate_of(bash, config=FREE, clock=clock) as gate:
        parts = parts_of(gate)
        # What the gate looks for on its own when it was opened is over then.
        await until(lambda: parts.looked_for_owners == clock.monotonic())
        await gate.flush()
        await gate.flush()
        judged = await gate.judge(Call("host.bash", {"command": "ls"}))
        assert judged.key is not None
        clock.turn(31)
        assert sorted(await asyncio.gather(fall_silent(parts), fall_silent(parts))) == [0, 1]
        assert isinstance(await gate.outcome(judged.key), Unknown)
        assert len([event async for event in gate.events(types=["tool_call.unknown"])]) == 1
