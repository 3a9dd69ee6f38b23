"""Who decides about a run of the OpenAI Agents SDK: people at the gate, by name, about exactly what they were asked."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunContextWrapper, Runner, RunState, function_tool

from callgate import Context
from callgate.errors import ApprovalConflict, ApprovalNotFound, InvalidArguments
from callgate.frameworks.openai_agents import GateTools
from callgate.model.approval import ApprovalState
from callgate.settings.load import parse_settings
from callgate.testing import ScriptedApprover
from tests.frameworks.examples import run
from tests.frameworks.openai_bank import MINE, Houses, calls, says

RENT = ("call_1", "bank__pay", '{"amount": 600, "to": "bob"}')
LOOK = ("call_1", "balance", '{"account": "rent"}')
ASK_ABOUT_READS = parse_settings("global: {rules: [{match: balance, verdict: confirm, why: 'private'}]}", file="x")


@pytest.fixture
async def houses(tmp_path: Path) -> AsyncIterator[Houses]:
    found = Houses(tmp_path)
    yield found
    await found.close()


async def test_a_gate_that_asks_by_itself_needs_no_interruption(houses: Houses):
    person = ScriptedApprover("approve", "reject", by="ann")
    house = await houses.open(calls(RENT), calls(("call_2", "bank__pay", '{"amount": 1}')), says("One."), ask=person)
    result = await Runner.run(house.agent(), "Pay.")
    assert (result.final_output, result.interruptions) == ("One.", [])
    told = house.told
    assert told["call_1"] == "paid 600 to bob"
    assert told["call_2"].startswith("[ERROR] Not run (approval_rejected)")
    assert (len(person.seen), house.bank.paid) == (2, ["600 to bob"])


async def test_a_read_that_a_person_allowed_on_the_spot_is_asked_about_once(houses: Houses):
    person = ScriptedApprover("approve", by="ann")
    house = await houses.open(calls(LOOK), says("700."), ask=person, config=ASK_ABOUT_READS)
    await Runner.run(house.agent(), "Look.")
    assert house.told == {"call_1": "700"}
    assert (len(person.seen), house.bank.looked) == (1, ["rent"])


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_read_that_needs_a_person_waits_for_one_and_is_made_once(houses: Houses, elsewhere: bool):
    house = await houses.open(
        calls(LOOK, ("call_2", "bank__pay", '{"amount": 5}')), says("700."), config=ASK_ABOUT_READS
    )
    agent, tools = house.agent(), house.tools
    result = await Runner.run(agent, "Look.")
    state = result.to_state()
    if elsewhere:  # as after a restart: nothing is left but the state and the store
        tools = GateTools(house.gate, MINE)
        agent = house.agent(tools.functions())
        state = await RunState.from_string(agent, state.to_string())
    look, pay = await tools.questions(state)
    assert (look.approval.tool, pay.approval.tool) == ("balance", "bank.pay")
    await house.gate.approve(look.approval.id, by="ann")
    for _ in range(2):
        assert [question.approval.tool for question in await tools.collect(state)] == ["bank.pay"]
    await tools.reject(state, pay.item, by="ann")
    result = await Runner.run(agent, state)
    assert house.told["call_1"] == "700"
    assert house.bank.looked == ["rent"]
    assert await house.gate.approvals() == []


async def test_a_call_that_comes_again_under_an_old_id_with_other_arguments_gets_no_old_answer(houses: Houses):
    person = ScriptedApprover("approve", "approve", by="ann")
    house = await houses.open(ask=person, config=ASK_ABOUT_READS)
    [balance, _] = house.tools.functions()
    agent = house.agent([balance])
    assert callable(balance.needs_approval)
    assert not await balance.needs_approval(None, {"account": "secret"}, "call_1")  # pyright: ignore[reportArgumentType]
    assert house.bank.looked == ["secret"]
    house.stub.answer_next(calls(LOOK), says("700."))
    await Runner.run(agent, "Look.")
    assert house.bank.looked == ["secret", "rent"]


async def test_where_two_have_to_agree_one_leaves_the_run_interrupted(houses: Houses):
    rules = parse_settings("global: {rules: [{match: bank.pay, verdict: confirm, by: two, why: 'large'}]}", file="x")
    house = await houses.open(calls(RENT), says("Paid."), config=rules)
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    first = await house.tools.approve(state, result.interruptions[0], by="ann")
    assert first.state is ApprovalState.PENDING
    result = await Runner.run(agent, state)
    assert (len(result.interruptions), house.bank.paid) == (1, [])
    state = result.to_state()
    with pytest.raises(ApprovalConflict):
        await house.tools.approve(state, result.interruptions[0], by="ann")
    await house.tools.approve(state, result.interruptions[0], by="eve")
    assert (await Runner.run(agent, state)).final_output == "Paid."
    assert house.bank.paid == ["600 to bob"]


async def test_the_agent_does_not_approve_itself_and_an_edit_that_cannot_be_changes_nothing(houses: Houses):
    house = await houses.open(calls(RENT))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    state, [item] = result.to_state(), result.interruptions
    with pytest.raises(ApprovalConflict):
        await house.tools.approve(state, item, by="agent")
    with pytest.raises(InvalidArguments):
        await house.tools.approve(state, item, by="ann", arguments={"amount": "all"})
    result = await Runner.run(agent, state)
    assert (len(result.interruptions), house.bank.paid) == (1, [])


async def test_interruptions_by_tools_of_others_are_left_to_them(houses: Houses):
    shouted: list[str] = []

    @function_tool(needs_approval=True)
    def shout(text: str) -> str:
        """Shout."""
        shouted.append(text)
        return text

    house = await houses.open(calls(RENT, ("call_2", "shout", '{"text": "hi"}')), says("Paid."))
    agent = house.agent([*house.tools.functions(), shout])
    result = await Runner.run(agent, "Pay and shout.")
    assert len(result.interruptions) == 2
    [question] = await house.tools.questions(result)
    await house.gate.approve(question.approval.id, by="ann")
    state = result.to_state()
    [theirs] = [item for item in result.interruptions if item.tool_name == "shout"]
    with pytest.raises(ApprovalNotFound, match="shout"):
        await house.tools.approve(state, theirs, by="ann")
    assert await house.tools.collect(state) == []
    result = await Runner.run(agent, state)
    assert [item.tool_name for item in result.interruptions] == ["shout"]
    assert (house.bank.paid, shouted) == (["600 to bob"], [])


async def test_a_tool_of_another_asker_is_not_approved_by_this_one(houses: Houses):
    house = await houses.open(calls(RENT))
    result = await Runner.run(house.agent(), "Pay.")
    other = GateTools(house.gate, Context(user="eve", session="chat-1"))
    assert await other.questions(result) == []
    assert len(await house.tools.questions(result)) == 1
    result.interruptions[0].agent.tools.clear()
    assert await house.tools.questions(result) == []
    with pytest.raises(ApprovalNotFound):
        await other.approve(result.to_state(), result.interruptions[0], by="eve")


async def test_an_agent_that_is_a_tool_of_another_is_interrupted_and_goes_on(houses: Houses):
    house = await houses.open(
        calls(("call_0", "cashier", '{"input": "pay"}')), calls(RENT), says("Paid."), says("All done.")
    )
    cashier = house.agent(name="cashier")
    chief: Agent[None] = house.agent([cashier.as_tool("cashier", "Pays.")], name="chief")
    result = await Runner.run(chief, "Pay.")
    [question] = await house.tools.questions(result)
    await house.gate.approve(question.approval.id, by="ann")
    state = result.to_state()
    assert await house.tools.collect(state) == []
    result = await Runner.run(chief, state)
    assert (result.final_output, house.bank.paid) == ("All done.", ["600 to bob"])


def _user(run: RunContextWrapper[Any]) -> str:
    return run.context["user"]


def _nobody(_run: RunContextWrapper[Any]) -> None:
    """Nobody is named."""


@pytest.mark.parametrize("by", ["ann", _user], ids=["a name", "a function of the run"])
async def test_the_word_of_a_person_that_was_named_counts_as_theirs(houses: Houses, by: Any):
    house = await houses.open(calls(RENT), calls(("call_2", "bank__pay", '{"amount": 7}')), says("One."))
    tools = GateTools(house.gate, MINE, by=by)
    agent = house.agent(tools.functions())
    result = await Runner.run(agent, "Pay.", context={"user": "ann"})
    [question] = await tools.questions(result)
    state = result.to_state()
    state.approve(question.item, always_approve=True)
    result = await Runner.run(agent, state)
    decided = await house.gate.approval(question.approval.id)
    assert (decided.decided_by, decided.votes[0].assurance.label) == ("ann", "asserted")
    assert house.told["call_1"] == "paid 600 to bob"
    assert house.told["call_2"].startswith("Not run yet: "), "a person was asked about one call, and said yes to that"
    assert house.bank.paid == ["600 to bob"]


@pytest.mark.parametrize("by", ["agent", _nobody], ids=["the agent itself", "nobody"])
async def test_a_word_that_does_not_count_lets_nothing_run(houses: Houses, by: Any):
    house = await houses.open(calls(RENT), says("It waits."))
    tools = GateTools(house.gate, MINE, by=by)
    agent = house.agent(tools.functions())
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    state.approve(result.interruptions[0])
    await Runner.run(agent, state)
    assert house.told["call_1"].startswith("Not run yet: ")
    assert (len(await house.gate.approvals()), house.bank.paid) == (1, [])


async def test_a_question_has_what_every_pause_carries(houses: Houses):
    house = await houses.open(calls(RENT))
    [question] = await house.tools.questions(await Runner.run(house.agent(), "Pay."))
    assert question.to_json() == {
        "approval_id": question.approval.id,
        "call_id": "call_1",
        "tool": "bank.pay",
        "arguments": {"amount": 600, "to": "bob"},
        "what": 'bank.pay\n  amount: 600\n  to: "bob"',
        "reasons": ["high risk at autonomy A2 is confirm"],
        "risk": "high",
        "expires_at": question.approval.expires_at,
    }


def test_another_package_of_the_sdks_name_is_told_apart(tmp_path: Path):
    (tmp_path / "agents.py").write_text("mine = True\n")
    done = subprocess.run(
        [sys.executable, "-c", "import callgate.frameworks.openai_agents"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "what is imported here as `agents` is not the OpenAI Agents SDK as it is needed" in done.stderr
    assert "pip install 'callgate[agents]'" in done.stderr


@pytest.mark.slow
def test_the_example_asks_pays_once_and_finds_the_ledger_when_it_is_run_again():
    assert run("openai_agents_agent.py") == [
        'May it? bank.pay amount: 600 to: "bob"',
        "Paid so far: []",
        "The agent says: I read: 700; paid 600 to bob",
        "Run again from the same state: I read: 700; paid 600 to bob",
        "Paid in all: [600]",
    ]
