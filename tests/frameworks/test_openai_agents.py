"""Agents of the OpenAI Agents SDK with a gate's tools: every call passes the gate, and each end of a call is told."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from agents import ModelBehaviorError, Runner, RunState

from callgate import Callgate, Context, NoEffect, Pending, ToolContext, tool
from callgate.errors import StoreUnavailable, ToolNotFoundError
from callgate.frameworks.openai_agents import GateTools
from callgate.model.levels import Autonomy
from callgate.settings.load import parse_settings
from callgate.settings.values import Settings
from tests.frameworks.openai_bank import MINE, Houses, calls, says
from tests.journeys.gates import parts_of

ROOT = Path(__file__).parents[2]
RENT = ("call_1", "bank__pay", '{"amount": 600, "to": "bob"}')


@pytest.fixture
async def houses(tmp_path: Path) -> AsyncIterator[Houses]:
    found = Houses(tmp_path)
    yield found
    await found.close()


async def test_a_read_runs_and_its_output_goes_to_the_model(houses: Houses):
    house = await houses.open(calls(("call_1", "balance", '{"account": "rent"}')), says("You have 700."))
    result = await Runner.run(house.agent(), "How much have I?")
    assert (result.final_output, result.interruptions) == ("You have 700.", [])
    assert house.told == {"call_1": "700"}
    told = {definition["name"]: definition for definition in house.stub.bodies[0]["tools"]}
    assert sorted(told) == ["balance", "bank__pay"], "the dot of a name travels as two underscores, and comes back"
    assert told["bank__pay"]["strict"] is True
    assert told["bank__pay"]["parameters"]["required"] == ["amount", "to"]


async def test_an_effect_interrupts_the_run_and_runs_once_a_named_person_approved_it(houses: Houses):
    house = await houses.open(calls(RENT), says("Paid."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay my rent.")
    [question] = await house.tools.questions(result)
    assert question.item is result.interruptions[0]
    assert question.approval.what == 'bank.pay\n  amount: 600\n  to: "bob"'
    assert house.bank.paid == []
    state = result.to_state()
    decided = await house.tools.approve(state, question.item, by="ann")
    assert (decided.decided_by, decided.votes[0].assurance.label) == ("ann", "asserted")
    result = await Runner.run(agent, state)
    assert (result.final_output, result.interruptions) == ("Paid.", [])
    assert house.told == {"call_1": "paid 600 to bob"}
    assert house.bank.paid == ["600 to bob"]


async def test_what_was_approved_at_the_gate_is_taken_over_and_what_was_not_interrupts_again(houses: Houses):
    second = ("call_2", "bank__pay", '{"amount": 50}')
    house = await houses.open(calls(RENT, second), says("Both are paid."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    first, other = [question.approval.id for question in await house.tools.questions(result)]
    await house.gate.approve(first, by="ann")
    state = result.to_state()
    assert [question.approval.id for question in await house.tools.collect(state, wait=0.01)] == [other]
    result = await Runner.run(agent, state)
    assert len(result.interruptions) == 1
    assert house.bank.paid == ["600 to bob"]
    state = result.to_state()
    waiting = asyncio.create_task(house.tools.collect(state, wait=60))
    await house.gate.approve(other, by="ann")
    assert await asyncio.wait_for(waiting, 10) == []
    result = await Runner.run(agent, state)
    assert result.final_output == "Both are paid."
    assert house.bank.paid == ["600 to bob", "50 to bob"]


async def test_an_approval_in_the_sdk_alone_only_makes_the_gate_look_again(houses: Houses):
    house = await houses.open(calls(RENT), says("It waits."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay my rent.")
    [question] = await house.tools.questions(result)
    state = result.to_state()
    state.approve(question.item, always_approve=True)
    result = await Runner.run(agent, state)
    told = house.told["call_1"]
    assert told.startswith("Not run yet: a person has to decide about bank.pay first")
    assert question.approval.id in told
    assert house.bank.paid == []
    await house.gate.approve(question.approval.id, by="ann")
    assert (await house.gate.resume(question.approval.id, MINE)).ok
    assert house.bank.paid == ["600 to bob"]


async def test_who_is_approved_for_good_in_the_sdk_is_asked_about_at_the_gate_each_time(houses: Houses):
    again = ("call_2", "bank__pay", '{"amount": 7}')
    house = await houses.open(calls(RENT), calls(again), says("One is paid."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    [question] = await house.tools.questions(result)
    state = result.to_state()
    await house.gate.approve(question.approval.id, by="ann")
    state.approve(question.item, always_approve=True)
    await Runner.run(agent, state)
    assert house.told["call_2"].startswith("Not run yet: ")
    assert house.bank.paid == ["600 to bob"]


async def test_a_person_may_wait_until_the_decision_within_the_call(houses: Houses):
    house = await houses.open(calls(RENT), says("Paid."))
    patient = GateTools(house.gate, MINE, wait=60)
    agent = house.agent(patient.functions())
    result = await Runner.run(agent, "Pay.")
    [question] = await patient.questions(result)
    state = result.to_state()
    state.approve(question.item)
    run = asyncio.create_task(Runner.run(agent, state))
    await house.gate.approve(question.approval.id, by="ann")
    assert (await asyncio.wait_for(run, 30)).final_output == "Paid."
    assert house.bank.paid == ["600 to bob"]


async def test_the_model_is_told_what_a_person_changed(houses: Houses):
    house = await houses.open(calls(RENT), says("Paid."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    await house.tools.approve(state, result.interruptions[0], by="ann", arguments={"amount": 500, "to": "bob"})
    await Runner.run(agent, state)
    told = house.told["call_1"]
    assert told.startswith("paid 500 to bob")
    assert 'A person changed the call before it ran; it ran with {"amount":500,"to":"bob"}' in told
    assert house.bank.paid == ["500 to bob"]


@pytest.mark.parametrize("how", ["in the sdk", "at the gate"])
async def test_a_rejection_and_an_answer_are_told_to_the_model_and_nothing_runs(houses: Houses, how: str):
    house = await houses.open(calls(RENT, ("call_2", "bank__pay", '{"amount": 1}')), says("Well."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    no, answer = await house.tools.questions(result)
    state = result.to_state()
    if how == "in the sdk":
        await house.tools.reject(state, no.item, by="ann", why="too much")
        await house.tools.respond(state, answer.item, by="ann", text="I paid it in cash.")
    else:
        await house.gate.reject(no.approval.id, by="ann", why="too much")
        await house.gate.respond(answer.approval.id, by="ann", text="I paid it in cash.")
        assert await house.tools.collect(state) == []
    result = await Runner.run(agent, state)
    assert result.final_output == "Well."
    told = house.told
    assert told["call_1"].startswith("[ERROR] Not run (approval_rejected): ann rejected this call: too much.")
    assert told["call_2"].startswith("[ERROR] Not run (approval_answered): I paid it in cash.")
    assert house.bank.paid == []
    states = [(await house.gate.approval(each.approval.id)).state.value for each in (no, answer)]
    assert states == ["rejected", "answered"]


async def test_a_rejection_in_the_sdk_alone_runs_nothing_and_leaves_the_question_to_the_people(houses: Houses):
    house = await houses.open(calls(RENT), says("Well."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    [question] = await house.tools.questions(result)
    state = result.to_state()
    state.reject(question.item, rejection_message="not today")
    await Runner.run(agent, state)
    assert house.told == {"call_1": "not today"}
    assert [found.id for found in await house.gate.approvals()] == [question.approval.id]
    await house.gate.approve(question.approval.id, by="ann")
    assert house.bank.paid == [], "deciding never executes"


async def test_what_policy_refuses_is_told_with_its_reason(houses: Houses):
    rule = "{match: bank.pay, when: 'args.amount > 100', verdict: deny, why: 'more than the bank has'}"
    rules = parse_settings(f"global: {{rules: [{rule}]}}", file="x")
    house = await houses.open(calls(RENT), says("Too much."), config=rules)
    result = await Runner.run(house.agent(), "Pay.")
    assert result.interruptions == []
    told = house.told["call_1"]
    assert told.startswith("[ERROR] Not run (policy_denied)")
    assert "more than the bank has" in told
    assert house.bank.paid == []


async def test_arguments_that_do_not_fit_are_told_with_every_fault_and_nobody_is_asked(houses: Houses):
    house = await houses.open(calls(("call_1", "bank__pay", '{"amount": "much", "for": 1}')), says("Sorry."))
    result = await Runner.run(house.agent(), "Pay.")
    assert result.interruptions == []
    told = house.told["call_1"]
    assert told.startswith("[ERROR] Not run (invalid_arguments)")
    assert "amount" in told
    assert "for" in told
    assert await house.gate.approvals() == []


@pytest.mark.parametrize("name", ["bank__pay", "balance"])
async def test_arguments_that_the_sdk_cannot_read_interrupt_it_and_the_gate_refuses_them(houses: Houses, name: str):
    house = await houses.open(calls(("call_1", name, '{"amount": ')), says("Sorry."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    assert len(result.interruptions) == 1, "the SDK asks about whatever it cannot read"
    assert await house.tools.questions(result) == []
    state = result.to_state()
    assert await house.tools.collect(state) == []
    result = await Runner.run(agent, state)
    assert house.told["call_1"].startswith("[ERROR] Not run (invalid_arguments): the arguments cannot be read")
    assert house.bank.paid == []


async def test_failures_and_unknown_outcomes_are_told_as_what_they_are(houses: Houses):
    @tool(effects="system_state", risk="low")
    async def lose(ctx: ToolContext) -> str:
        """Lose the connection after sending."""
        async with ctx.effect():
            raise ConnectionResetError

    @tool(effects="system_state", risk="low")
    async def miss() -> str:
        """Fail before anything happened."""
        raise NoEffect("the queue is full")

    house = await houses.open(
        calls(("call_1", "lose", "{}"), ("call_2", "miss", "{}"), ("call_3", "lose", "{}")),
        says("Hm."),
        more=[lose, miss],
    )
    await Runner.run(house.agent(), "Go.")
    told = house.told
    assert "Whether it took effect is not known: do not repeat it." in told["call_1"]
    assert "Nothing was changed." in told["call_2"]
    assert told["call_3"].startswith("[ERROR] Not run (outcome_unknown)")


async def test_parallel_calls_run_while_one_of_them_waits_and_do_not_run_again_afterwards(houses: Houses):
    look = ("call_2", "balance", '{"account": "rent"}')
    house = await houses.open(calls(look, RENT, ("call_3", "bank__pay", '{"amount": "x"}')), says("Paid."))
    agent = house.agent()
    result = await Runner.run(agent, "Look and pay.")
    assert len(result.interruptions) == 1
    assert house.bank.looked == ["rent"]
    state = result.to_state()
    await house.tools.approve(state, result.interruptions[0], by="ann")
    await Runner.run(agent, state)
    told = house.told
    assert (told["call_1"], told["call_2"]) == ("paid 600 to bob", "700")
    assert told["call_3"].startswith("[ERROR] Not run (invalid_arguments)")
    assert (house.bank.looked, house.bank.paid) == (["rent"], ["600 to bob"])


async def test_tools_that_are_not_concurrency_safe_do_not_overlap(houses: Houses):
    inside: list[int] = []
    overlapped: list[int] = []

    @tool(effects="system_state", risk="low")
    async def step(number: int) -> int:
        """Take a step."""
        overlapped.extend(inside)
        inside.append(number)
        for _ in range(20):
            await asyncio.sleep(0)
        inside.remove(number)
        return number

    wanted = [(f"call_{number}", "step", json.dumps({"number": number})) for number in range(5)]
    house = await houses.open(calls(*wanted), says("Done."), more=[step])
    await Runner.run(house.agent(), "Walk.")
    assert house.told == {f"call_{number}": str(number) for number in range(5)}
    assert overlapped == []


async def test_a_model_that_streams_is_interrupted_alike(houses: Houses):
    house = await houses.open(calls(RENT), says("Paid."))
    agent = house.agent()
    streamed = Runner.run_streamed(agent, "Pay.")
    async for _ in streamed.stream_events():
        pass
    [question] = await house.tools.questions(streamed)
    state = streamed.to_state()
    await house.tools.approve(state, question.item, by="ann")
    streamed = Runner.run_streamed(agent, state)
    async for _ in streamed.stream_events():
        pass
    assert (streamed.final_output, house.bank.paid) == ("Paid.", ["600 to bob"])


async def test_pools_differ_by_role_and_a_tool_that_is_not_offered_is_refused_when_it_is_called(houses: Houses):
    roles = "roles: {teller: {scopes: ['*'], allow: ['group:all']}, reader: {scopes: ['*'], allow: ['group:read']}}"
    house = await houses.open(
        calls(RENT), says("No."), config=parse_settings(roles, file="x"), context=Context(role="teller")
    )
    reader = Context(session="chat-2", role="reader")
    assert [tool.name for tool in GateTools(house.gate, reader).functions()] == ["balance"]
    teller = GateTools(house.gate, Context(session="chat-3", role="teller"))
    assert [tool.name for tool in teller.functions()] == ["balance", "bank__pay"]
    assert [tool.name for tool in GateTools(house.gate, names=["bank.pay"]).functions()] == ["bank__pay"]
    with pytest.raises(ToolNotFoundError):
        GateTools(house.gate, reader, names=["bank.pay"])


async def test_a_tool_that_is_gone_is_told_and_one_that_never_was_there_ends_the_run(houses: Houses):
    house = await houses.open(calls(RENT), says("Gone."), calls(("call_2", "bank__rob", "{}")))
    agent = house.agent()
    house.gate.remove("bank.pay")
    await Runner.run(agent, "Pay.")
    assert house.told["call_1"].startswith("[ERROR] Not run (tool_not_found)")
    with pytest.raises(ModelBehaviorError, match="bank__rob"):
        await Runner.run(agent, "Rob.")
    assert house.bank.paid == []


@pytest.mark.slow
async def test_a_state_that_was_kept_goes_on_in_another_process_and_twice_is_once(tmp_path: Path):
    houses = Houses(tmp_path)
    house = await houses.open(calls(RENT), store=f"sqlite:///{tmp_path}/gate.db", working_directory=tmp_path)
    result = await Runner.run(house.agent(), "Pay my rent.")
    state = result.to_state()
    await house.tools.approve(state, result.interruptions[0], by="ann")
    (tmp_path / "state.json").write_text(state.to_string())
    await houses.close()
    program = [sys.executable, "-m", "tests.frameworks.openai_bank", str(tmp_path)]
    printed = [await asyncio.to_thread(_run, program) for _ in range(2)]
    assert printed == ["The rent is paid. 0 paid 600 to bob\n"] * 2
    assert houses.bank.paid == ["600 to bob"]


def _run(program: list[str]) -> str:
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True).stdout


async def test_a_run_that_is_repeated_from_its_start_meets_the_ledger_and_asks_nobody(houses: Houses):
    house = await houses.open(calls(RENT), says("Paid."), calls(RENT), says("Paid."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    await house.tools.approve(state, result.interruptions[0], by="ann")
    await Runner.run(agent, state)
    again = await Runner.run(agent, "Pay.")
    assert (again.final_output, again.interruptions) == ("Paid.", [])
    assert house.bank.paid == ["600 to bob"]
    assert await house.gate.approvals() == []


async def test_a_state_of_another_conversation_finds_nothing_to_run_with(houses: Houses):
    house = await houses.open(calls(RENT), says("It waits."))
    agent = house.agent()
    result = await Runner.run(agent, "Pay.")
    state = result.to_state()
    await house.tools.approve(state, result.interruptions[0], by="ann")
    other = house.agent(GateTools(house.gate, Context(user="eve", session="chat-9")).functions())
    loaded = await RunState.from_string(other, state.to_string())
    await Runner.run(other, loaded)
    assert house.told["call_1"].startswith("Not run yet: ")
    assert house.bank.paid == []


# The SDK shuts the generators of its loop down after each run, those of the client it will use again as well.
@pytest.mark.filterwarnings("ignore:asynchronous generator:ResourceWarning")
async def test_blocking_code_runs_agents_on_a_gate_with_a_loop_of_its_own(tmp_path: Path):
    houses = Houses(tmp_path)
    house = await houses.open(calls(("call_0", "balance", '{"account": "a"}'), RENT), says("Paid."))

    def blocking() -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)  # the SDK takes the loop of its thread, and leaves it open
        with closing(loop), Callgate.open_sync("memory://") as gate:
            gate.add(*houses.bank.tools())
            tools = GateTools(gate, MINE)
            agent = house.agent(tools.functions())
            result = Runner.run_sync(agent, "Pay.")
            state = result.to_state()
            loop.run_until_complete(tools.approve(state, result.interruptions[0], by="ann"))
            assert Runner.run_sync(agent, state).final_output == "Paid."

    await asyncio.to_thread(blocking)
    await houses.close()
    assert houses.bank.paid == ["600 to bob"]


async def test_a_store_that_cannot_be_read_is_told_and_nothing_runs(houses: Houses, monkeypatch: pytest.MonkeyPatch):
    house = await houses.open(calls(RENT), says("Later."), config=Settings(autonomy=Autonomy.A4))

    async def broken(*_unit: object) -> None:
        raise StoreUnavailable("the disk is gone")

    parts = parts_of(house.gate)
    with monkeypatch.context() as patch:
        patch.setattr(parts.store, "peek", broken)
        result = await Runner.run(house.agent(), "Pay.")
    assert result.interruptions == []
    assert house.told["call_1"].startswith("[ERROR] Not run (store_unavailable)")
    assert house.bank.paid == []


async def test_the_gate_has_an_answer_only_for_what_it_asks(houses: Houses):
    house = await houses.open(calls(RENT))
    result = await Runner.run(house.agent(), "Pay.")
    assert isinstance(await house.gate.call("bank.pay", {"amount": 1}, MINE), Pending)
    [question] = await house.tools.questions(result)
    assert question.approval.key == "call:call_1"
