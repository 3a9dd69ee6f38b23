"""Before a model's response is handled: what would be decided about each of its calls, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context, tool
from callgate.errors import MalformedResponse
from callgate.model.levels import Autonomy, Verdict
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")
MINE = Context(user="ann", session="s1")
paid: list[int] = []


@tool(effects="read_only")
async def weather(city: str) -> str:
    """Tell the weather."""
    return f"clear in {city}"


@tool(name="bank.pay", effects="system_state", risk="high")
async def pay(amount: int) -> str:
    """Pay somebody."""
    paid.append(amount)
    return f"paid {amount}"


def wants(call_id: str, name: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **more}


async def test_every_call_of_a_response_has_its_decision_and_none_is_made() -> None:
    response = {
        "output": [
            wants("c1", "weather", '{"city": "Oslo"}'),
            wants("c2", "bank__pay", '{"amount": 5}'),
            wants("c3", "bank__pay", '{"amount": '),
            wants("c4", "nosuch", "{}"),
            wants("c5", "bank__pay", '{"amount": 5}', caller={"type": "program", "caller_id": "p"}),
        ]
    }
    paid.clear()
    async with gate_of(weather, pay) as gate:
        decisions = await gate.explain_response(response, MINE)
        assert [decision.verdict for decision in decisions] == [
            Verdict.ALLOW,
            Verdict.CONFIRM,
            Verdict.DENY,
            Verdict.DENY,
            Verdict.DENY,
        ]
        assert [decision.code for decision in decisions[2:4]] == ["invalid_arguments", "tool_not_found"]
        assert decisions[2].reasons[0].text.startswith("the arguments cannot be read")
        assert [event async for event in gate.events() if event.type.startswith(("tool_call.", "gate."))] == []
        assert await gate.approvals() == []
        assert await gate.explain_response({"output": []}, MINE) == []
        with pytest.raises(MalformedResponse):
            await gate.explain_response("nothing", MINE)
    assert paid == []


async def test_a_call_whose_id_the_ledger_knows_is_allowed_again_because_nothing_will_happen() -> None:
    response = {"output": [wants("c1", "bank__pay", '{"amount": 5}')]}
    paid.clear()
    async with gate_of(pay) as gate:
        [before] = await gate.explain_response(response, MINE)
        turn = await gate.handle(response, MINE)
        await gate.approve(turn.pending[0], by="ann")
        await turn.wait(10)
        [after] = await gate.explain_response(response, MINE)
    assert (before.verdict, after.verdict, paid) == (Verdict.CONFIRM, Verdict.ALLOW, [5])
    assert any("the ledger has the outcome" in reason.text for reason in after.reasons)


async def test_what_cannot_be_read_names_the_level_it_was_asked_under() -> None:
    response = {"output": [wants("c1", "weather", "[]")]}
    async with gate_of(weather) as gate:
        [decision] = await gate.explain_response(response, Context(autonomy=Autonomy.A0))
    assert decision.autonomy is Autonomy.A0
