"""Words where people decide: a level or a state may be said as its word, and what is none is an error, not silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Pending, tool
from callgate.model.approval import ApprovalState, GrantScope
from callgate.model.layer import Layer, Rule
from callgate.model.levels import Assurance, Risk, Verdict
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of


@tool(effects="network_access", risk="high")
async def pay(amount: int) -> int:
    """Pay somebody."""
    return amount


async def test_words_are_read():
    async with gate_of(pay) as gate:
        asked = await gate.call("pay", {"amount": 5})
        assert isinstance(asked, Pending)
        for states in ("pending", ["pending", "used"], ApprovalState.PENDING):
            assert [each.id for each in await gate.approvals(states=states)] == [asked.approval_id]
        decided = await gate.approve(asked.approval_id, by="ann", assurance="local")
        assert decided.votes[0].assurance is Assurance.LOCAL
        given = await gate.grant("pay", by="ann", max_risk="high", scope="until")
        assert (given.max_risk, given.scope) == (Risk.HIGH, GrantScope.UNTIL)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("approvals", {"states": "waiting"}, "states must be one of pending, .*, not 'waiting'"),
        ("grant", {"max_risk": "huge"}, "max_risk must be one of low, .*, not 'huge'"),
        ("grant", {"scope": "ever"}, "scope must be one of task, .*, not 'ever'"),
        ("reject", {"assurance": "sure"}, "assurance must be one of asserted, .*, not 'sure'"),
    ],
)
async def test_what_is_no_word_is_refused_with_those_that_are(method: str, given: dict[str, Any], message: str):
    who: dict[str, Any] = {} if method == "approvals" else {"by": "ann"}
    target = () if method == "approvals" else ("pay",)
    async with gate_of(pay) as gate:
        with pytest.raises(ValueError, match=message):
            await getattr(gate, method)(*target, **who, **given)


async def test_a_call_that_waits_says_as_text_what_waits_why_and_how_to_look_at_it(tmp_path: Path):
    large = Rule(match="pay", when="args.amount > 5", verdict=Verdict.CONFIRM, why="large payment")
    settings = Settings(global_layer=Layer(name="global", rules=(large,)))
    async with Callgate.open(f"sqlite:///{tmp_path}/kept.db", settings) as gate:
        gate.add(pay)
        for amount, why in ((5, "high risk at autonomy A2 is confirm"), (6, "large payment")):
            asked = await gate.call("pay", {"amount": amount})
            assert isinstance(asked, Pending)
            text = str(asked)
            assert text.startswith(f"pay pending: approval {asked.approval_id} waits for a person (")
            assert why in text
            assert text.endswith(f"; to look at it: callgate approvals show {asked.approval_id}")
        asked.decision = None
        assert "waits for a person; to look at it" in str(asked)


async def test_a_call_that_waits_in_memory_says_how_this_program_decides_it():
    async with gate_of(pay) as gate:
        asked = await gate.call("pay", {"amount": 5})
        assert isinstance(asked, Pending)
        decide = f"await gate.approve('{asked.approval_id}', by='NAME')"
        assert str(asked).endswith(f"; its store is in memory, so only this program can decide it: {decide}")
        plan = await gate.plan([Call("pay", {"amount": 6}), Call("pay", {"amount": 7})], ask=True)
        assert all(f"gate.approve('{plan.approval_id}', by='NAME')" in str(each) for each in await gate.batch(plan))
