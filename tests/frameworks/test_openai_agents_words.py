"""Whose word a yes in the OpenAI Agents SDK is, and for what: one call, one question, and nothing beside it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Runner, RunState

from callgate.errors import ApprovalNotFound, StoreError
from callgate.frameworks.openai_agents import GateTools
from callgate.settings.load import parse_settings
from callgate.testing import HandClock
from tests.frameworks.openai_bank import MINE, Houses, calls, says

RENT = ("call_1", "bank__pay", '{"amount": 600, "to": "bob"}')
LARGE = ("call_2", "bank__pay", '{"amount": 9999, "to": "eve"}')
ASK_ABOUT_READS = parse_settings("global: {rules: [{match: balance, verdict: confirm, why: 'private'}]}", file="x")


@pytest.fixture
async def houses(tmp_path: Path) -> AsyncIterator[Houses]:
    found = Houses(tmp_path)
    yield found
    await found.close()


async def test_a_yes_for_good_lets_no_other_call_through(houses: Houses):
    rent, boss = '{"account": "rent"}', '{"account": "the boss"}'
    house = await houses.open(
        calls(("call_1", "balance", rent)),
        calls(("call_2", "balance", boss)),
        calls(("call_3", "balance", boss)),
        says("done"),
        config=ASK_ABOUT_READS,
    )
    tools = GateTools(house.gate, MINE, by="ann")
    agent = house.agent(tools.functions())
    result = await Runner.run(agent, "Look.")
    state = result.to_state()
    state.approve(result.interruptions[0], always_approve=True)
    await Runner.run(agent, state)
    assert house.bank.looked == ["rent"]


async def test_a_yes_for_good_to_one_of_two_calls_does_not_say_which(houses: Houses):
    house = await houses.open(calls(RENT, LARGE), says("They wait."))
    tools = GateTools(house.gate, MINE, by="ann")
    agent = house.agent(tools.functions())
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    state.approve(result.interruptions[0], always_approve=True)
    await Runner.run(agent, state)
    assert (len(await house.gate.approvals()), house.bank.paid) == (2, [])


async def test_a_state_with_a_yes_for_good_that_is_played_again_pays_nothing_more(houses: Houses):
    house = await houses.open(calls(RENT), calls(LARGE), says("stop"), calls(LARGE), says("stop"))
    tools = GateTools(house.gate, MINE, by="ann")
    agent = house.agent(tools.functions())
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    state.approve(result.interruptions[0], always_approve=True)
    kept = state.to_string()
    await Runner.run(agent, state)
    await Runner.run(agent, await RunState.from_string(agent, kept))
    assert house.bank.paid == ["600 to bob"]


async def test_a_yes_in_a_state_that_was_kept_counts_elsewhere(houses: Houses):
    house = await houses.open(calls(RENT), says("Paid."))
    kept = (await Runner.run(house.agent(), "Pay.")).to_state().to_string()
    agent = house.agent(GateTools(house.gate, MINE, by="ann").functions())
    state = await RunState.from_string(agent, kept)
    state.approve(state.get_interruptions()[0])
    assert (await Runner.run(agent, state)).final_output == "Paid."
    assert house.bank.paid == ["600 to bob"]


async def test_a_store_that_fails_while_it_is_looked_up_who_decides_is_no_yes(
    houses: Houses, monkeypatch: pytest.MonkeyPatch
):
    house = await houses.open(calls(RENT), calls(RENT), says("It waits."))
    agent = house.agent(GateTools(house.gate, MINE, by="ann").functions())
    assert len((await Runner.run(agent, "Pay.")).interruptions) == 1
    failed: list[bool] = []
    explain = house.gate.explain_call

    async def once(*given: Any) -> Any:
        if not failed:
            failed.append(True)
            raise StoreError("the disk is busy")
        return await explain(*given)

    monkeypatch.setattr(house.gate, "explain_call", once)
    await Runner.run(agent, "Pay.")
    assert (failed, house.bank.paid) == ([True], [])


@pytest.mark.parametrize("how", ["in the state", "by name", "by the question"])
async def test_a_yes_to_a_question_that_is_closed_decides_no_other(houses: Houses, how: str):
    clock = HandClock()
    house = await houses.open(calls(RENT), calls(RENT), says("It waits."), clock=clock)
    tools = GateTools(house.gate, MINE, by="ann")
    agent = house.agent(tools.functions())
    first = await Runner.run(agent, "Pay.")
    [old] = await tools.questions(first)
    clock.turn(3601)
    [new] = await tools.questions(await Runner.run(agent, "Pay."))
    assert old.approval.id != new.approval.id
    state = first.to_state()
    if how == "in the state":
        state.approve(old.item)
        await Runner.run(agent, state)
    else:
        with pytest.raises(ApprovalNotFound, match="something else"):
            await tools.approve(state, old.item if how == "by name" else old, by="ann")
    assert (await house.gate.approval(new.approval.id)).decided_by is None
    assert house.bank.paid == []


async def test_what_a_person_puts_instead_is_in_the_words_that_the_model_was_told(houses: Houses):
    house = await houses.open(calls(RENT), says("Paid."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    # A strict schema names every parameter, and null stands for one that is left out.
    await house.tools.approve(state, result.interruptions[0], by="ann", arguments={"amount": 5, "to": None})
    await Runner.run(agent, state)
    assert house.bank.paid == ["5 to bob"]
