"""What a question says of how it is to be decided: by whom, how sure, and what silence means."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Pending, tool
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Assurance, Risk, Verdict
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")


@pytest.mark.requirement("APR-01")
async def test_a_question_says_who_may_decide_how_sure_and_what_silence_means() -> None:
    def undo(*_: Any) -> None: ...

    @tool(effects="network_access", risk="low", undo=undo)
    async def pay(amount: int) -> int:
        return amount

    silence = Rule(match="pay", when="args.amount < 3", verdict=Verdict.CONFIRM, on_expiry="proceed")
    two = Rule(match="pay", when="args.amount > 3", by=ConfirmBy.TWO, assurance=Assurance.LOCAL, risk=Risk.HIGH)
    settings = Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, rules=(silence, two)))
    async with gate_of(pay, config=settings) as gate:
        pending = [await gate.call("pay", {"amount": amount}) for amount in (2, 4)]
        asked = [await gate.approval(each.approval_id) for each in pending if isinstance(each, Pending)]
    assert [(each.by, each.assurance, each.on_expiry) for each in asked] == [
        (ConfirmBy.USER, Assurance.ASSERTED, "proceed"),
        (ConfirmBy.TWO, Assurance.LOCAL, "reject"),
    ]
