"""What a gate offers to ends of frameworks: one call at a time, the question about it, and a way from any loop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, tool
from callgate.errors import ConfigurationError
from callgate.model.approval import ApprovalState
from callgate.model.levels import Verdict
from callgate.model.requested import Requested, requested
from callgate.testing import HandClock, memory_gate
from tests.frameworks.tills import Till, balance, ruled

MINE = Context(user="ann", session="chat")


def wanted(call_id: str, name: str, /, **arguments: Any) -> Requested:
    return requested(call_id, name=name, arguments=arguments)


async def test_one_call_is_made_as_in_a_whole_response(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    async with memory_gate(till.pay, context=Context(principal="clerk", session="own")) as gate:
        pay = wanted("c1", "bank__pay", amount=5)
        turn = await gate.handle(
            {"type": "ai", "tool_calls": [{"id": "c1", "name": "bank__pay", "args": {"amount": 5}}]}, MINE
        )
        again = await gate.handle_call(pay, MINE)
        assert (again.deduped, again.key) == (True, turn.outcomes[0].key)
        assert (await gate.handle_call(pay)).key == "call:c1"
        assert gate.context.principal == "clerk"
        unread = await gate.handle_call(requested("c2", name="bank__pay", arguments="{"), MINE)
        assert unread.status == "refused"
        chained = await gate.handle_call(wanted("c3", "bank__pay", amount=1)._replace(programmatic=True), MINE)
        assert chained.error is not None
        assert "chain" in chained.error.message
    assert till.paid == ["5 to bob"] * 2


async def test_reads_are_made_anew_unless_they_are_to_be_made_once():
    seen: list[int] = []

    @tool(effects="read_only")
    async def look() -> int:
        """Look."""
        seen.append(1)
        return len(seen)

    async with memory_gate(look) as gate:
        told = [(await gate.handle_call(wanted("c1", "look"), MINE)).output for _ in range(2)]
        once = [(await gate.handle_call(wanted("c1", "look"), MINE, reads_once=True)).output for _ in range(2)]
        asks: dict[str, Any] = {"id": "c1", "name": "look", "args": {}}
        response: Any = {"type": "ai", "tool_calls": [asks]}
        turn = await gate.handle(response, MINE, reads_once=True)
        assert (told, once, turn.outcomes[0].output) == ([1, 2], [3, 3], 3)


async def test_the_question_about_a_call_is_found_as_long_as_it_stands(tmp_path: Path):
    till, clock = Till(tmp_path), HandClock()
    pay = wanted("c1", "bank__pay", amount=5)
    async with memory_gate(till.pay, clock=clock, context=MINE) as gate:
        assert await gate.question(pay) is None
        outcome = await gate.handle_call(pay)
        assert isinstance(outcome, Pending)
        found = await gate.question(pay)
        assert found is not None
        assert found.id == outcome.approval_id
        assert await gate.question(pay, Context(session="other")) is None
        for other in (
            wanted("c2", "bank__pay", amount=5),
            wanted("c1", "bank__pay", amount=6),
            wanted("c1", "bank__pay", amount="much"),
            wanted("c1", "nosuch"),
            requested("c1", name="bank__pay", arguments="{"),
        ):
            assert await gate.question(other) is None
        clock.turn(3601)
        assert await gate.question(pay) is None
        await gate.handle_call(pay)
        again = await gate.question(pay)
        assert again is not None
        await gate.approve(again.id, by="ann")
        decided = await gate.question(pay)
        assert decided is not None
        assert (decided.id, decided.state) == (again.id, ApprovalState.APPROVED)
        events = [event.type async for event in gate.events(types=["gate.required", "tool_call.*"])]
        assert (events, till.paid) == (["gate.required"] * 2, [])
        await gate.handle_call(pay)
        assert await gate.question(pay) is None
    assert till.paid == ["5 to bob"]


async def test_the_question_about_a_read_is_found_without_a_key():
    async with memory_gate(balance, config=ruled("balance", Verdict.CONFIRM)) as gate:
        read = wanted("c1", "balance", account="rent")
        outcome = await gate.handle_call(read, MINE)
        assert isinstance(outcome, Pending)
        found = await gate.question(read, MINE)
        assert found is not None
        assert found.id == outcome.approval_id
        assert await gate.question(wanted("c1", "balance", account="car"), MINE) is None


async def test_whatever_a_gate_does_can_be_awaited_on_another_loop_and_from_a_thread(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        outcome = await gate.handle_call(wanted("c1", "bank__pay", amount=5), MINE)
        assert isinstance(outcome, Pending)
        way = gate.anywhere()

        async def approve(gate: Callgate) -> str:
            return (await gate.approve(outcome.approval_id, by="ann")).state

        assert await asyncio.to_thread(lambda: asyncio.run(way.wait(approve))) == "approved"
        state = await asyncio.to_thread(way.run, lambda gate: gate.approval(outcome.approval_id))
        assert state.decided_by == "ann"


def test_a_gate_that_is_not_open_has_no_asker_of_its_own():
    with pytest.raises(ConfigurationError, match="not open"):
        _ = memory_gate(balance).context
