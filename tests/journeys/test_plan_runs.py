"""Running what was planned: in its order, once, and nothing but what was listed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callgate import Call, Context, Failed, Pending, Refused, Succeeded, tool
from callgate.errors import ConfigurationError
from callgate.model.approval import ApprovalState
from callgate.model.levels import Risk
from callgate.testing import HandClock
from tests.journeys.gates import gate_of
from tests.journeys.planned import CALLS, asked, codes, office, types_of

pytestmark = pytest.mark.usefixtures("on_each_store")


async def test_one_yes_decides_all_and_the_plan_then_runs_once():
    done, tools = office()
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate)
        waiting = await gate.batch(plan)
        assert [outcome.status for outcome in waiting] == ["pending"] * 4
        assert str(plan).endswith(f"asked as approval {approval_id}")
        assert {outcome.approval_id for outcome in waiting if isinstance(outcome, Pending)} == {approval_id}
        assert done == []
        decided = await gate.approve(approval_id, by="ann")
        assert (decided.state, decided.id, decided.decided_by) == (ApprovalState.APPROVED, approval_id, "ann")
        assert done == []
        outcomes = await gate.batch(plan)
        assert [outcome.unwrap() for outcome in outcomes] == ["prices", 5, "paid", 7]
        assert done == ["look prices", "pay 5", "note paid", "pay 7"]
        assert (await gate.approval(approval_id)).state is ApprovalState.USED
        again = await gate.batch(plan, include_call_ids=True)
        assert [outcome.deduped for _, outcome in again] == [True] * 4
        assert [name for name, _ in again] == ["batch_0", "batch_1", "batch_2", "batch_3"]
        assert len(done) == 4
        assert await types_of(gate, "approval.*") == [*["approval.approved"] * 2, *["approval.used"] * 2]
        assert (await gate.verify_audit()).ok


async def test_each_planned_call_can_be_made_singly_in_the_order_of_the_list():
    done, tools = office()
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate)
        await gate.approve(approval_id, by="ann")
        for call, key in zip(CALLS, plan.keys, strict=True):
            outcome = await gate.call(call.tool, dict(call.arguments), Context(idempotency_key=key))
            assert isinstance(outcome, Succeeded)
    assert done == ["look prices", "pay 5", "note paid", "pay 7"]


async def test_a_call_that_comes_too_early_is_not_covered_and_may_come_again_in_its_turn():
    done, tools = office()
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate)
        await gate.approve(approval_id, by="ann")
        keys = [Context(idempotency_key=key) for key in plan.keys]
        early = await gate.call("pay", {"amount": 7}, keys[3])
        assert isinstance(early, Refused)
        assert early.error is not None
        assert early.error.code == "approval_void"
        assert "call 1 (look) has to be made before it" in early.error.message
        await gate.call("look", {"at": "prices"}, keys[0])
        assert codes([await gate.call("pay", {"amount": 7}, keys[3])]) == ["approval_void"]
        assert (await gate.call("pay", dict(CALLS[1].arguments), keys[1])).ok
        assert codes([await gate.call("pay", {"amount": 7}, keys[3])]) == ["approval_void"]
        assert (await gate.call("note", {"text": "paid"}, keys[2])).ok
        assert (await gate.call("pay", {"amount": 7}, keys[3])).ok
    assert done == ["look prices", "pay 5", "note paid", "pay 7"]


async def test_what_is_not_in_the_plan_is_not_covered():
    done, tools = office()
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate)
        await gate.approve(approval_id, by="ann")
        await gate.call("look", {"at": "prices"}, Context(idempotency_key=plan.keys[0]))
        others = [
            await gate.call("pay", {"amount": 7}),
            await gate.call("pay", {"amount": 7}, Context(idempotency_key="another")),
            await gate.call("pay", {"amount": 8}, Context(idempotency_key=plan.keys[1])),
            await gate.call(
                "pay", {"amount": 5, "to": "bob\u202e"}, Context(session="s2", idempotency_key=plan.keys[1])
            ),
            await gate.call(
                "pay", {"amount": 5, "to": "bob\u202e"}, Context(principal="p2", idempotency_key=plan.keys[1])
            ),
        ]
        assert [outcome.status for outcome in others] == ["pending"] * 5
        assert approval_id not in {outcome.approval_id for outcome in others if isinstance(outcome, Pending)}
    assert done == ["look prices"]


async def test_a_failure_in_a_plan_is_that_calls_own_and_what_cannot_be_made_holds_what_follows_it():
    done, tools = office()
    calls = [Call("pay", {"amount": -1}), Call("note", {"text": "tried"}), Call("pay", {"amount": 3})]
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate, calls)
        await gate.approve(approval_id, by="ann")
        outcomes = await gate.batch(plan)
        assert isinstance(outcomes[0], Failed)
        assert [outcome.status for outcome in outcomes[1:]] == ["succeeded", "succeeded"]
        assert done == ["note tried", "pay 3"]
        plan, approval_id = await asked(gate, CALLS)
        await gate.approve(approval_id, by="ann")
        gate.remove("note")
        outcomes = await gate.batch(plan)
        assert codes(outcomes) == ["succeeded", "succeeded", "tool_not_found", "approval_void"]
        assert "call 3 (note) of the plan was not made" in outcomes[3].to_human()
    assert done == ["note tried", "pay 3", "look prices", "pay 5"]


async def test_a_plan_under_a_key_goes_on_where_it_stopped_in_another_plan_of_the_same_calls():
    done, tools = office()
    context = Context(idempotency_key="order 7")
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate, context=context)
        await gate.approve(approval_id, by="ann")
        for place in (0, 1):
            call = CALLS[place]
            await gate.call(call.tool, dict(call.arguments), Context(idempotency_key=plan.keys[place]))
        again = await gate.plan(CALLS, context, ask=True)
        assert (again.approval_id, again.keys) == (approval_id, plan.keys)
        assert [decision.verdict.label for decision in again.decisions] == ["allow", "allow", "allow", "confirm"]
        outcomes = await gate.batch(again)
        assert [outcome.deduped for outcome in outcomes] == [True, True, False, False]
        mixed = await gate.plan([Call("note", {"text": "x"}, key="own"), Call("note", {"text": "y"})], context)
        assert mixed.keys[0] == "own"
        assert mixed.keys[1] is not None
    assert done == ["look prices", "pay 5", "note paid", "pay 7"]


async def test_a_plan_is_judged_again_when_it_is_used():
    done, tools = office()
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate)
        await gate.approve(approval_id, by="ann")
        denied = await gate.call(
            "pay", {"amount": 5, "to": "bob\u202e"}, Context(idempotency_key=plan.keys[1], read_only=True)
        )
        assert codes([denied]) == ["policy_denied"]
        elsewhere = Context(idempotency_key=plan.keys[1], working_directory="/")
        await gate.call("look", {"at": "prices"}, Context(idempotency_key=plan.keys[0]))
        assert codes([await gate.call("pay", {"amount": 5, "to": "bob\u202e"}, elsewhere)]) == ["approval_void"]
        outcomes = await gate.batch(plan)
        assert [outcome.status for outcome in outcomes] == ["succeeded", "pending", "refused", "refused"]
        assert isinstance(outcomes[1], Pending)
        assert outcomes[1].approval_id != approval_id
    assert done == ["look prices"]


async def test_a_list_is_expected_to_repeat_itself_where_it_says_so():
    done, tools = office()

    @tool(effects="system_state", risk="medium")
    async def ring(bell: str) -> str:
        """Ring a bell."""
        done.append(f"ring {bell}")
        return bell

    async with gate_of(*tools, ring) as gate:
        plan, approval_id = await asked(gate, [Call("ring", {"bell": "door"}), Call("ring", {"bell": "door"})])
        question = await gate.approval(approval_id)
        assert question.risk is Risk.HIGH
        await gate.approve(approval_id, by="ann")
        assert codes(await gate.batch(plan)) == ["succeeded"] * 2
    assert done == ["ring door", "ring door"]


async def test_a_call_can_wait_for_the_plan_it_is_in():
    done, tools = office()
    async with asyncio.timeout(30), gate_of(*tools) as gate:
        plan, approval_id = await asked(gate, CALLS[1:2])
        waiting = asyncio.ensure_future(
            gate.call("pay", dict(CALLS[1].arguments), Context(idempotency_key=plan.keys[0]), wait=25)
        )
        while not done:
            await asyncio.sleep(0)
            if (await gate.approval(approval_id)).state is ApprovalState.PENDING:
                await gate.approve(approval_id, by="ann")
        assert (await waiting).ok
    assert done == ["pay 5"]


async def test_a_plan_brings_its_own_context():
    done, tools = office()
    context = Context(session="s9")
    async with gate_of(*tools) as gate:
        plan = await gate.plan(CALLS[:1], context)
        with pytest.raises(ConfigurationError, match="leave the context out"):
            await gate.batch(plan, Context(session="other"))
        assert codes(await gate.batch(plan, context)) == ["succeeded"]
        arguments = {"text": "before"}
        plan = await gate.plan([Call("note", arguments)])
        arguments["text"] = "after"
        assert [outcome.unwrap() for outcome in await gate.batch(plan)] == ["before"]
    assert done == ["look prices", "note before"]


async def test_arguments_that_cannot_be_copied_are_that_calls_own_trouble():
    done, tools = office()

    class Stubborn:
        def __deepcopy__(self, memo: Any) -> Any:
            raise LookupError

    async with gate_of(*tools) as gate:
        plan = await gate.plan([Call("look", {"at": Stubborn()}, id="x"), CALLS[2]])
        assert plan.decisions[0].code == "invalid_arguments"
        assert [(name, outcome.status) for name, outcome in await gate.batch(plan, include_call_ids=True)] == [
            ("x", "refused"),
            ("batch_1", "succeeded"),
        ]
    assert done == ["note paid"]


async def test_a_tool_that_changed_since_makes_the_plan_run_one_by_one():
    inside, most = 0, 0

    def looker() -> Any:
        @tool(effects="read_only", name="look", description=f"Look, version {most}")
        async def look(at: str) -> str:
            """Look."""
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            for _ in range(5):
                await asyncio.sleep(0)
            inside -= 1
            return at

        return look

    async with gate_of(looker()) as gate:
        calls = [Call("look", {"at": str(number)}) for number in range(3)]
        plan = await gate.plan(calls)
        assert codes(await gate.batch(plan)) == ["succeeded"] * 3
        assert most == 3
        gate.add(looker(), update=True)
        most = 0
        assert codes(await gate.batch(plan)) == ["succeeded"] * 3
        assert most == 1


async def test_a_turn_collects_a_call_that_waited_with_its_plan():
    done, tools = office()
    response = {
        "role": "assistant",
        "stop_reason": "tool_use",
        "content": [{"type": "tool_use", "id": "t1", "name": "pay", "input": {"amount": 4}}],
    }
    context = Context(session="talk")
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate, [Call("pay", {"amount": 4}, key="call:t1")], context)
        turn = await gate.handle(response, context)
        assert turn.pending == [approval_id]
        assert (await turn.wait(timeout=0)).pending == [approval_id]
        kept = turn.to_json()
        kept["calls"][0]["outcome"]["key"] = "call:t2"
        await gate.approve(approval_id, by="ann")
        assert [outcome.unwrap() for outcome in (await turn.wait(timeout=20)).outcomes] == [4]
        assert plan.keys == ("call:t1",)
        stranger = await gate.load_turn(kept).wait(timeout=20)
        assert "asks about no call under key call:t2" in stranger.outcomes[0].to_human()
    assert done == ["pay 4"]


async def test_what_is_left_of_a_plan_whose_time_is_up_is_asked_about_anew():
    done, tools = office()
    clock = HandClock()
    async with gate_of(*tools, clock=clock) as gate:
        plan, approval_id = await asked(gate, context=Context(idempotency_key="k"))
        await gate.approve(approval_id, by="ann")
        for place in (0, 1):
            call = CALLS[place]
            await gate.call(call.tool, dict(call.arguments), Context(idempotency_key=plan.keys[place]))
        clock.turn(3600)
        assert (await gate.approval(approval_id)).state is ApprovalState.EXPIRED
        outcomes = await gate.batch(plan)
        assert [outcome.status for outcome in outcomes] == ["succeeded", "succeeded", "succeeded", "pending"]
        assert [outcome.deduped for outcome in outcomes] == [True, True, False, False]
        assert {question.state for question in await gate.approvals(states=None)} == {
            ApprovalState.EXPIRED,
            ApprovalState.PENDING,
        }
    assert done == ["look prices", "pay 5", "note paid"]
