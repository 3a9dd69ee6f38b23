"""An object of one's own as `ask=`: what it answers counts as a named person's answer, or leaves the question open."""

from __future__ import annotations

from typing import Any, cast

import pytest

from callgate import Context, Pending, Succeeded, tool
from callgate.errors import ConfigurationError
from callgate.model.approval import Approval
from callgate.model.layer import ConfirmBy, Layer, Rule
from callgate.model.levels import Assurance, Verdict
from callgate.ports import Answer
from callgate.settings.values import Settings
from callgate.testing import ScriptedApprover, memory_gate
from tests.journeys.gates import parts_of


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


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ("approve", "'approve' is no callgate.ports.Answer"),
        (None, "None is no callgate.ports.Answer"),
        (Answer("yes", by="ann"), "Answer('yes') is of no kind; there are approve, reject, respond, edit, wait"),
        (Answer("approve", arguments=cast("Any", "x"), by="ann"), "are a mapping of all of them, not 'x'"),
        (Answer("reject", text=cast("Any", None), by="ann"), "the text and the name in an Answer are texts"),
        (Answer("approve", by=cast("Any", 3)), "the text and the name in an Answer are texts"),
        (Answer("edit", by="ann"), "an edit needs its arguments"),
        (Answer("respond", text=" ", by="ann"), "an answer for the model needs words"),
    ],
)
async def test_what_is_no_answer_leaves_the_question_open_and_the_log_says_why(
    given: Any, why: str, caplog: pytest.LogCaptureFixture
):
    async with memory_gate(pay, ask=Asking(given)) as gate:
        assert isinstance(await gate.call("pay", {"to": "bob"}), Pending)
    assert why in caplog.text


async def test_what_breaks_while_asking_is_told_in_its_words_without_secrets(caplog: pytest.LogCaptureFixture):
    class Broken(Asking):
        async def ask(self, approval: Approval) -> Any:
            raise ConnectionError("no chat with a-token-nobody-sees")

    async with memory_gate(pay, ask=Broken()) as gate:
        parts_of(gate).striker.remember("a-token-nobody-sees", connector="chat", key="token")
        assert isinstance(await gate.call("pay", {"to": "bob"}), Pending)
    assert "could not be put to anybody: ConnectionError: no chat with " in caplog.text
    assert "a-token-nobody-sees" not in caplog.text


class Mute:
    async def ask(self, approval: Approval) -> Answer:
        return Answer("wait")


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (3, 'ask must be "terminal" or an Asker, not 3: it has no ask(…), tell(…), assurance'),
        ("nobody", "ask must be \"terminal\" or an Asker, not 'nobody'"),
        (ScriptedApprover, "an Asker, not the class ScriptedApprover: make one of it"),
        (Mute(), "it has no tell(…), assurance"),
    ],
)
def test_what_can_ask_nobody_is_refused_where_the_gate_is_made(ask: Any, why: str):
    with pytest.raises(ConfigurationError) as told:
        memory_gate(pay, ask=ask)
    assert why in str(told.value)
