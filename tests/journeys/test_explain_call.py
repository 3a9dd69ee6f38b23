"""Before a model's call is made: what would be decided about it, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context, tool
from callgate.model.levels import Autonomy, Verdict
from callgate.model.requested import requested
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


@pytest.fixture(autouse=True)
def nothing_paid() -> None:
    paid.clear()


@pytest.mark.parametrize(
    ("name", "arguments", "more", "verdict", "code"),
    [
        ("weather", '{"city": "Oslo"}', {}, Verdict.ALLOW, ""),
        ("bank__pay", '{"amount": 5}', {}, Verdict.CONFIRM, ""),
        ("bank__pay", '{"amount": "x"}', {}, Verdict.DENY, "invalid_arguments"),
        ("bank__pay", '{"amount": ', {}, Verdict.DENY, "invalid_arguments"),
        ("nosuch", "{}", {}, Verdict.DENY, "tool_not_found"),
        ("bank__pay", '{"amount": 5}', {"programmatic": True}, Verdict.DENY, "policy_denied"),
    ],
)
async def test_a_call_has_its_decision_and_is_not_made(
    name: str, arguments: str, more: dict[str, Any], verdict: Verdict, code: str
) -> None:
    async with gate_of(weather, pay) as gate:
        decision = await gate.explain_call(requested("c1", name=name, arguments=arguments, **more), MINE)
        assert (decision.verdict, decision.code) == (verdict, code)
        assert decision.reasons
        assert [event async for event in gate.events() if event.type.startswith(("tool_call.", "gate."))] == []
        assert await gate.approvals() == []
    assert paid == []


async def test_a_call_whose_id_the_ledger_knows_is_allowed_because_nothing_will_happen() -> None:
    call = requested("c1", name="bank__pay", arguments={"amount": 5})
    async with gate_of(pay, context=MINE) as gate:
        before = await gate.explain_call(call)
        await gate.handle_call(call)
        question = await gate.question(call)
        assert question is not None
        await gate.approve(question.id, by="ann")
        await gate.resume(question.id)
        after = await gate.explain_call(call)
    assert (before.verdict, after.verdict, paid) == (Verdict.CONFIRM, Verdict.ALLOW, [5])
    assert any("the ledger has the outcome" in reason.text for reason in after.reasons)


async def test_what_cannot_be_read_names_the_level_it_was_asked_under() -> None:
    call = requested("c1", name="weather", arguments="[]")
    async with gate_of(weather) as gate:
        decision = await gate.explain_call(call, Context(autonomy=Autonomy.A0))
    assert decision.autonomy is Autonomy.A0
    assert decision.reasons[0].text == "the arguments must be a JSON object, not an array"
