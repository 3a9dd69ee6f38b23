"""One approval, one execution, and one answer for everybody who asked under its key, whoever is faster."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, tool
from tests.crash.waiting import WITHIN, until

pytestmark = [pytest.mark.crash, pytest.mark.slow]


def counted(**declaration: Any) -> tuple[list[int], Any]:
    done: list[int] = []

    @tool(effects="network_access", risk="medium", **declaration)
    async def pay(amount: int) -> int:
        """Pay somebody."""
        done.append(amount)
        return amount

    return done, pay


async def pending_in(gate: Callgate) -> str:
    """The one question that waits."""
    questions = await until(gate.approvals)
    assert len(questions) == 1
    return questions[0].id


@pytest.mark.requirement("IDM-06", "APR-05")
@pytest.mark.parametrize("key", ["k", None])
async def test_two_calls_that_wait_for_one_answer_both_get_the_one_result(url: str, key: str | None) -> None:
    done, pay = counted()
    context = Context(idempotency_key=key)
    async with Callgate.open(url) as one, Callgate.open(url) as other:
        one.add(pay)
        other.add(pay)
        calls = [asyncio.ensure_future(gate.call("pay", {"amount": 5}, context, wait=WITHIN)) for gate in (one, other)]
        await one.approve(await pending_in(one), by="ann")
        outcomes = await asyncio.gather(*calls)
    assert [outcome.status for outcome in outcomes] == ["succeeded", "succeeded"]
    assert sorted(outcome.deduped for outcome in outcomes) == [False, True]
    assert done == [5]


@pytest.mark.requirement("APR-06")
async def test_a_call_whose_twin_runs_between_recall_and_gate_asks_nobody_again(url: str) -> None:
    """The twin uses the approval up after this call found its key free, and before it looks for a question."""
    twin: dict[str, Any] = {}

    def overtaken(_: dict[str, Any]) -> int:
        if gate := twin.pop("gate", None):
            assert gate.resume(twin["approval"]).ok
        return 1

    done, pay = counted(blast_radius=overtaken)
    with Callgate.open_sync(url) as faster:
        faster.add(pay)
        async with Callgate.open(url) as gate:
            gate.add(pay)
            context = Context(idempotency_key="k")
            pending = await gate.call("pay", {"amount": 5}, context)
            assert isinstance(pending, Pending)
            await gate.approve(pending.approval_id, by="ann")
            twin.update(gate=faster, approval=pending.approval_id)
            outcome = await gate.call("pay", {"amount": 5}, context)
            assert (outcome.status, outcome.deduped) == ("succeeded", True)
            assert await gate.approvals() == []
    assert done == [5]
