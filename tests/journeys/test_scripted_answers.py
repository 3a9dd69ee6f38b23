"""Scripted approvers of `callgate.testing`: a word that is no answer is told, and never taken for a no."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import Pending, Succeeded, tool
from callgate.errors import ConfigurationError
from callgate.ports import Answer
from callgate.testing import ScriptedApprover, memory_gate

WORDS = 'write one of "approve", "reject", "respond", "edit", "wait", or an Answer of such a kind'


@tool(effects="network_access", risk="high")
def pay(to: str) -> str:
    return f"paid {to}"


@pytest.mark.parametrize("word", ["yes", "approved", "", "Approve", True, Answer("no")])
def test_a_word_that_is_no_answer_is_told_where_the_script_is_written(word: Any):
    said = word.kind if isinstance(word, Answer) else word
    with pytest.raises(ConfigurationError) as told:
        ScriptedApprover(word)
    assert str(told.value) == f"{said!r} is no answer; {WORDS}"
    with pytest.raises(ConfigurationError) as told:
        memory_gate(pay, answers=["approve", word])
    assert str(told.value) == f"{said!r} is no answer; {WORDS}"


def test_an_edit_needs_its_arguments():
    for answer in ("edit", Answer("edit")):
        with pytest.raises(ConfigurationError, match="an edit needs its arguments"):
            ScriptedApprover(answer)


async def test_what_a_function_decides_is_an_answer_or_leaves_the_question_open():
    words = ["yes", "approve"]
    approver = ScriptedApprover(decide=lambda _: words.pop(0))
    async with memory_gate(pay, ask=approver) as gate:
        assert isinstance(await gate.call("pay", {"to": "bob"}), Pending)
        assert approver.told == [f"'yes' is no answer; {WORDS}"]
        assert isinstance(await gate.call("pay", {"to": "ann"}), Succeeded)


async def test_every_answer_of_a_script_counts_as_what_it_is():
    answers = [Answer("edit", arguments={"to": "ann"}), "approve", "reject", Answer("respond", text="ask ann"), "wait"]
    async with memory_gate(pay, answers=answers) as gate:
        ends = [await gate.call("pay", {"to": name}) for name in ("bob", "cid", "dan", "eve")]
        assert [end.status for end in ends] == ["succeeded", "refused", "refused", "pending"]
        assert ends[0].output == "paid ann"
