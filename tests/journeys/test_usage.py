"""Every call counts once, however long it waited for a person and whatever the person said."""

from __future__ import annotations

import pytest

from callgate import Callgate, Context, Pending, Succeeded, Unknown, tool
from callgate.model.levels import Autonomy
from callgate.ports import Answer
from callgate.testing import HandClock
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")

DAY = 86_400.0
ENDS = ("succeeded", "failed", "refused", "pending", "unknown", "deduped", "previewed")


@tool(effects="network_access", risk="high")
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


async def counts(gate: Callgate) -> dict[str, int]:
    days = await gate.usage()
    return {end: total for end in ENDS if (total := sum(day[end] for day in days))}


async def asked(gate: Callgate, amount: int = 1) -> str:
    outcome = await gate.call("pay", {"amount": amount})
    assert isinstance(outcome, Pending)
    return outcome.approval_id


async def test_a_call_that_was_let_through_counts_as_the_one_that_ran():
    async with gate_of(pay) as gate:
        question = await asked(gate)
        assert await counts(gate) == {"pending": 1}
        await gate.approve(question, by="ann")
        assert await counts(gate) == {"pending": 1}
        assert isinstance(await gate.call("pay", {"amount": 1}), Succeeded)
        assert await counts(gate) == {"succeeded": 1}
        first, second = await gate.calls()
        assert (first["status"], first["question"], first["decided_by"]) == ("resumed", "used", "ann")
        assert second["status"] == "succeeded"
        assert second["approval_id"] == question


async def test_the_day_of_the_question_does_not_keep_what_ran_on_another():
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        clock.turn(DAY - clock.now() % DAY - 60)
        await gate.approve(await asked(gate), by="ann")
        clock.turn(120)
        assert isinstance(await gate.call("pay", {"amount": 1}), Succeeded)
        assert [(day["pending"], day["succeeded"]) for day in await gate.usage()] == [(0, 0), (0, 1)]


@pytest.mark.parametrize(("happened", "end"), [(True, "succeeded"), (False, "failed")])
async def test_a_call_that_was_resolved_counts_as_what_was_found_on_its_own_day(*, happened: bool, end: str):
    @tool(effects="network_access", risk="low")
    async def ping() -> str:
        """Reach out; the answer is lost."""
        raise ConnectionResetError

    clock = HandClock()
    async with gate_of(ping, clock=clock) as gate:
        assert isinstance(await gate.call("ping", {}, Context(idempotency_key="k", autonomy=Autonomy.A4)), Unknown)
        assert await counts(gate) == {"unknown": 1}
        clock.turn(2 * DAY)
        await gate.resolve("k", happened=happened, by="ann")
        assert await counts(gate) == {end: 1}
        (day,) = await gate.usage()
        assert day[end] == 1


@pytest.mark.parametrize("answer", ["approve", "reject", "respond"])
async def test_a_call_that_waits_in_its_place_counts_once(answer: str):
    async with gate_of(pay, answers=(Answer(answer, text="use the card"),)) as gate:
        outcome = await gate.call("pay", {"amount": 1}, Context(user="ann"))
        assert await counts(gate) == ({"succeeded": 1} if answer == "approve" else {"refused": 1})
        (call,) = await gate.calls()
        assert call["status"] == outcome.status
        assert call["user"] == "ann"


async def test_the_same_call_again_after_a_no_is_another_call():
    async with gate_of(pay) as gate:
        await gate.reject(await asked(gate), by="ann")
        assert await counts(gate) == {"refused": 1}
        again = await gate.call("pay", {"amount": 1})
        assert again.error is not None
        assert again.error.code == "approval_rejected"
        assert await counts(gate) == {"refused": 2}
        first, second = await gate.calls()
        assert second["original_call"] == first["call"]


async def test_a_question_nobody_decided_ends_as_a_refusal():
    clock = HandClock()
    async with gate_of(pay, clock=clock) as gate:
        await asked(gate)
        clock.turn(2 * 3600)
        assert await gate.approvals() == []
        assert await counts(gate) == {"refused": 1}
        (call,) = await gate.calls()
        assert (call["status"], call["error_code"], call["question"]) == ("refused", "approval_expired", "expired")
