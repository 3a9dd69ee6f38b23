"""Scripted approvers of `callgate.testing`: a word that is no answer is told, and never taken for a no."""

from __future__ import annotations

from typing import Any, cast

import pytest

from callgate import Pending, Succeeded, tool
from callgate.errors import ConfigurationError
from callgate.model.approval import Approval
from callgate.ports import Answer
from callgate.testing import ScriptedApprover, memory_gate

WORDS = "is of no kind; there are approve, reject, respond, edit, wait"


@tool(effects="network_access", risk="high")
def pay(to: str) -> str:
    return f"paid {to}"


@pytest.mark.parametrize(
    ("word", "why"),
    [(word, f"Answer({word!r}) {WORDS}") for word in ("yes", "approved", "", "Approve")]
    + [(Answer("no"), f"Answer('no') {WORDS}"), (True, "True is no callgate.ports.Answer")],
)
def test_a_word_that_is_no_answer_is_told_where_the_script_is_written(word: Any, why: str):
    with pytest.raises(ConfigurationError) as told:
        ScriptedApprover(word)
    assert str(told.value).startswith(why)
    with pytest.raises(ConfigurationError) as told:
        memory_gate(pay, answers=["approve", word])
    assert str(told.value).startswith(why)


def test_an_edit_needs_its_arguments():
    for answer in ("edit", Answer("edit")):
        with pytest.raises(ConfigurationError, match="an edit needs its arguments"):
            ScriptedApprover(answer)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (Answer("respond"), "an answer for the model needs words"),
        (Answer("approve", arguments=cast("Any", "x")), "a mapping of all of them, not 'x'"),
    ],
)
def test_an_answer_that_lacks_something_is_told_where_the_script_is_written(answer: Answer, why: str):
    with pytest.raises(ConfigurationError, match=why):
        ScriptedApprover(answer)


async def test_an_assertion_that_fails_while_deciding_is_told_in_its_words(caplog: pytest.LogCaptureFixture):
    def decide(question: Approval) -> str:
        assert question.tool == "refund", f"asked about {question.tool}"
        return "approve"

    approver = ScriptedApprover(decide=decide)
    async with memory_gate(pay, ask=approver) as gate:
        assert isinstance(await gate.call("pay", {"to": "bob"}), Pending)
    [told] = approver.told
    assert told.startswith("AssertionError: asked about pay")
    assert "AssertionError: asked about pay" in caplog.text


async def test_what_a_function_decides_is_an_answer_or_leaves_the_question_open():
    words = ["yes", "approve"]
    approver = ScriptedApprover(decide=lambda _: words.pop(0))
    async with memory_gate(pay, ask=approver) as gate:
        assert isinstance(await gate.call("pay", {"to": "bob"}), Pending)
        assert approver.told == [f"Answer('yes') {WORDS}"]
        assert isinstance(await gate.call("pay", {"to": "ann"}), Succeeded)


async def test_every_answer_of_a_script_counts_as_what_it_is():
    answers = [Answer("edit", arguments={"to": "ann"}), "approve", "reject", Answer("respond", text="ask ann"), "wait"]
    async with memory_gate(pay, answers=answers) as gate:
        ends = [await gate.call("pay", {"to": name}) for name in ("bob", "cid", "dan", "eve")]
        assert [end.status for end in ends] == ["succeeded", "refused", "refused", "pending"]
        assert ends[0].output == "paid ann"
