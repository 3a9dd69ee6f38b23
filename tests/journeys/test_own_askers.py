"""An object of one's own as `ask=`: what it answers counts as a named person's answer, or leaves the question open."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Context, Pending, Succeeded, tool
from callgate.model.approval import Approval
from callgate.model.layer import ConfirmBy, Layer, Rule
from callgate.model.levels import Assurance, Verdict
from callgate.ports import Answer
from callgate.settings.values import Settings
from callgate.testing import memory_gate


@tool(effects="network_access", risk="high")
def pay(to: str) -> str:
    return f"paid {to}"


class Asking:
    """Gives one answer after the other, as they are."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.seen: list[Approval] = []
        self.told: list[str] = []

    @property
    def assurance(self) -> Assurance:
        return Assurance.ASSERTED

    async def ask(self, approval: Approval) -> Any:
        self.seen.append(approval)
        return self._answers.pop(0) if self._answers else Answer("wait")

    def tell(self, message: str) -> None:
        self.told.append(message)


def confirmed_by(by: ConfirmBy) -> Settings:
    return Settings(global_layer=Layer(name="global", rules=(Rule(match="pay", verdict=Verdict.CONFIRM, by=by),)))


@pytest.mark.parametrize("by", ConfirmBy)
@pytest.mark.parametrize("kind", ["approve", "reject", "respond"])
async def test_an_answer_without_a_name_is_nobodys_and_its_asker_is_told(by: ConfirmBy, kind: str):
    asker = Asking(Answer(kind, text="use the card"))
    async with memory_gate(pay, ask=asker, config=confirmed_by(by)) as gate:
        outcome = await gate.call("pay", {"to": "bob"}, Context(user="ann"))
        assert isinstance(outcome, Pending)
        question = await gate.approval(outcome.approval_id)
        assert (question.state, question.votes) == ("pending", ())
    assert len(asker.told) == 1
    assert "needs the name of the person" in asker.told[0]


async def test_a_yes_without_a_name_is_not_one_of_two():
    async with memory_gate(pay, ask=Asking(Answer("approve")), config=confirmed_by(ConfirmBy.TWO)) as gate:
        asked = await gate.call("pay", {"to": "bob"}, Context(user="ann"))
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        assert isinstance(await gate.resume(asked.approval_id), Pending)
        await gate.approve(asked.approval_id, by="boris")
        assert isinstance(await gate.resume(asked.approval_id), Succeeded)
