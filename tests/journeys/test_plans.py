"""Calls decided before any is made: one question about all, one answer for all, and nothing but what was listed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callgate import Call, Context, Pending, tool
from callgate.errors import ApprovalConflict, AssuranceTooLow, InvalidArguments, LimitExceeded
from callgate.model.approval import ApprovalState
from callgate.model.levels import Assurance, Autonomy, Risk, Verdict
from callgate.model.tool import Preview
from callgate.settings.load import parse_settings
from callgate.settings.values import ApprovalSettings, Settings
from callgate.testing import HandClock, ScriptedApprover
from tests.journeys.gates import gate_of, parts_of
from tests.journeys.planned import CALLS, asked, codes, office, types_of

pytestmark = pytest.mark.usefixtures("on_each_store")


async def test_a_plan_decides_all_calls_first_and_runs_and_records_nothing():
    done, tools = office()
    async with gate_of(*tools) as gate:
        before = [event.id async for event in gate.events()]
        plan = await gate.plan([*CALLS, {"name": "nosuch", "arguments": {}}, {"name": "look"}])
        assert [event.id async for event in gate.events()] == before
        assert await gate.approvals(states=None) == []
        assert [decision.verdict.label for decision in plan.decisions] == [
            *("allow", "confirm", "allow", "confirm", "deny", "deny"),
        ]
        assert [decision.code for decision in plan.decisions[4:]] == ["tool_not_found", "invalid_arguments"]
        assert plan.verdict is Verdict.DENY
        assert plan.waves == ((0, 4, 5), (1,), (2,), (3,))
        text = str(plan)
        assert text.startswith("6 calls in 4 waves: deny\nwave 1\n  1. look: allow\n  5. nosuch: deny (Unknown tool")
        assert "4. pay: confirm (" in text
        assert (await gate.plan([])).to_human() == "0 calls in 0 waves: allow"
        same = await gate.explain("pay", {"amount": 7})
        assert [reason.text for reason in plan.decisions[3].reasons] == [reason.text for reason in same.reasons]
    assert done == []


async def test_a_person_sees_one_question_that_lists_every_call_in_order():
    _, tools = office()
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate, context=Context(user="ann"))
        (question,) = await gate.approvals()
        assert question.id == plan.approval_id == (await gate.approval(approval_id)).id
        lines = question.what.split("\n")
        assert lines[0] == "4 calls, in this order; those of one step may overlap"
        assert lines[1:] == [
            "1. look  (step 1, needs nobody)",
            '      at: "prices"',
            "2. pay  (step 2, asks you)",
            "      amount: 5",
            '      to: "bob<U+202E>"',
            "3. note  (step 3, needs nobody)",
            '      text: "paid"',
            "4. pay  (step 4, asks you)",
            "      amount: 7",
            '      to: "ann"',
        ]
        assert [reason.partition(":")[0] for reason in question.why] == ["call 2", "call 4"]
        assert (question.state, question.risk, question.user) == (ApprovalState.PENDING, Risk.HIGH, "ann")
        assert [call.asks for call in question.calls] == [False, True, False, True]
        events = [event async for event in gate.events(types=["gate.required"])]
        assert [event.payload["place"] for event in events if event.payload] == [1, 3]
        assert events[0].payload is not None
        assert events[0].payload["plan"] == question.what
        assert "plan" not in (events[1].payload or {})


@pytest.mark.parametrize("word", ["rejected", "answered", "withdrawn", "expired"])
async def test_a_no_is_a_no_to_every_call_of_the_plan(word: str):
    done, tools = office()
    clock = HandClock()
    async with gate_of(*tools, clock=clock) as gate:
        plan, approval_id = await asked(gate)
        if word == "rejected":
            await gate.reject(approval_id, by="ann", why="too dear")
        elif word == "answered":
            await gate.respond(approval_id, by="ann", text="ask bob first")
        elif word == "withdrawn":
            await gate.withdraw(approval_id)
        else:
            clock.turn(3600)
        code = "approval_void" if word == "withdrawn" else f"approval_{word}"
        outcomes = await gate.batch(plan)
        assert codes(outcomes) == [code] * 4
        assert (await gate.approval(approval_id)).state.value == word
        assert await types_of(gate, "approval.*") == [f"approval.{word}"] * 2
        asked_again = await gate.plan(CALLS, ask=True)
        stands = word in {"rejected", "answered"}
        assert (asked_again.approval_id == approval_id) is stands
        single = await gate.call("pay", {"amount": 7}, Context(idempotency_key=plan.keys[3]))
        assert single.status == ("refused" if stands else "pending")
        assert (await gate.verify_audit()).ok
    assert done == []


async def test_a_part_is_never_decided_alone_and_a_plan_never_edited():
    done, tools = office()
    async with gate_of(*tools) as gate:
        plan, approval_id = await asked(gate)
        parts = await parts_of(gate).store.read(lambda reader: reader.approvals_of_plan(approval_id))
        for decide in (
            lambda: gate.approve(parts[0].id, by="ann"),
            lambda: gate.approve(parts[0].id, by="ann", arguments={"amount": 1}),
            lambda: gate.reject(parts[1].id, by="ann"),
            lambda: gate.respond(parts[1].id, by="ann", text="no"),
            lambda: gate.withdraw(parts[0].id),
        ):
            with pytest.raises(ApprovalConflict, match=f"part of the plan {approval_id}"):
                await decide()
        with pytest.raises(ApprovalConflict, match="no call of it can be edited"):
            await gate.approve(approval_id, by="ann", arguments={"amount": 1})
        with pytest.raises(ApprovalConflict, match="is a plan"):
            await gate.resume(approval_id)
        assert (await gate.approval(approval_id)).state is ApprovalState.PENDING
        assert (await gate.approval(parts[0].id)).part is not None
        await gate.approve(approval_id, by="ann")
        with pytest.raises(ApprovalConflict, match=f"{approval_id} is approved, not pending"):
            await gate.reject(approval_id, by="ann")
        assert codes(await gate.batch(plan)) == ["succeeded"] * 4
    assert len(done) == 4


async def test_the_same_plan_again_does_not_ask_again():
    done, tools = office()
    async with gate_of(*tools) as gate:
        first, approval_id = await asked(gate)
        second, same_id = await asked(gate)
        assert (same_id, second.keys) == (approval_id, first.keys)
        await gate.approve(approval_id, by="ann")
        third, _ = await asked(gate)
        assert third.approval_id == approval_id
        assert all(outcome.ok for outcome in await gate.batch(third))
        fourth, new_id = await asked(gate)
        assert new_id != approval_id
        assert set(fourth.keys).isdisjoint(first.keys)
        other, other_id = await asked(gate, CALLS[::-1])
        assert other_id not in {approval_id, new_id}
        assert len(await gate.approvals()) == 2
        assert other.keys != fourth.keys
    assert len(done) == 4


async def test_a_plan_counts_as_one_question_of_those_that_may_wait():
    _, tools = office()
    settings = Settings(approvals=ApprovalSettings(pending_per_session=2))
    async with gate_of(*tools, config=settings) as gate:
        await asked(gate)
        assert isinstance(await gate.call("pay", {"amount": 1}), Pending)
        with pytest.raises(LimitExceeded, match="2 questions"):
            await gate.plan(CALLS[1:], ask=True)
        assert codes([await gate.call("pay", {"amount": 2})]) == ["limit_exceeded"]
        assert len(await gate.approvals()) == 2


async def test_a_list_that_nobody_can_read_is_not_asked():
    _, tools = office()
    async with gate_of(*tools) as gate:
        with pytest.raises(LimitExceeded, match="101 calls"):
            await gate.plan([Call("pay", {"amount": number}) for number in range(101)], ask=True)
        with pytest.raises(LimitExceeded, match="characters"):
            await gate.plan(
                [Call("note", {"text": "x" * 600_000}), Call("pay", {"amount": 1, "to": "y" * 600_000})], ask=True
            )
        assert await gate.approvals(states=None) == []


async def test_nobody_is_asked_about_a_list_that_needs_nobody_or_cannot_run():
    done, tools = office()
    async with gate_of(*tools) as gate:
        harmless = await gate.plan([CALLS[0], CALLS[2]], ask=True)
        assert (harmless.approval_id, harmless.verdict) == (None, Verdict.ALLOW)
        impossible = await gate.plan([*CALLS, Call("nosuch", {})], ask=True)
        assert (impossible.approval_id, impossible.verdict) == (None, Verdict.DENY)
        suggesting = await gate.plan(CALLS, Context(autonomy=Autonomy.A0), ask=True)
        assert (suggesting.approval_id, suggesting.verdict) == (None, Verdict.PREVIEW)
        assert await gate.approvals(states=None) == []
        assert codes(await gate.batch(harmless)) == ["succeeded", "succeeded"]
    assert done == ["look prices", "note paid"]


TWO = """
global:
  rules:
    - {match: "pay", when: "args.amount > 6", verdict: confirm, by: two, assurance: local, why: "large payment"}
"""


async def test_a_plan_needs_what_the_strictest_of_its_calls_needs():
    done, tools = office()
    async with gate_of(*tools, config=parse_settings(TWO, file="callgate.yaml")) as gate:
        plan, approval_id = await asked(gate)
        with pytest.raises(AssuranceTooLow):
            await gate.approve(approval_id, by="ann")
        first = await gate.approve(approval_id, by="ann", assurance=Assurance.LOCAL)
        assert (first.state, [vote.by for vote in first.votes]) == (ApprovalState.PENDING, ["ann"])
        with pytest.raises(ApprovalConflict, match="has approved already"):
            await gate.approve(approval_id, by="Ann", assurance=Assurance.LOCAL)
        with pytest.raises(ApprovalConflict, match="never decides"):
            await gate.approve(approval_id, by="agent", assurance=Assurance.LOCAL)
        assert [outcome.status for outcome in await gate.batch(plan)] == ["pending"] * 4
        second = await gate.approve(approval_id, by="bob", assurance=Assurance.LOCAL)
        assert (second.state, second.decided_by) == (ApprovalState.APPROVED, "ann and bob")
        assert codes(await gate.batch(plan)) == ["succeeded"] * 4
        assert (await gate.verify_audit()).ok
    assert len(done) == 4


async def test_previews_show_what_can_be_known_before_anything_is_made():
    world = {"a": "1"}

    def would(arguments: dict[str, Any], context: Any) -> Preview:
        return Preview(
            text=f"{arguments['name']} is {world.get(arguments['name'])}", state=str(world.get(arguments["name"]))
        )

    @tool(effects="system_state", risk="high", preview=would)
    async def put(name: str, value: str) -> str:
        """Change the world."""
        world[name] = value
        return value

    async with gate_of(put) as gate:
        plan, approval_id = await asked(
            gate, [Call("put", {"name": "a", "value": "2"}), Call("put", {"name": "a", "value": "3"})]
        )
        question = await gate.approval(approval_id)
        assert question.preview == {
            "text": "call 1: a is 1\ncall 2: not shown: a call before it in the plan may change what it would show"
        }
        await gate.approve(approval_id, by="ann")
        assert codes(await gate.batch(plan)) == ["succeeded"] * 2
        plan, approval_id = await asked(gate, [Call("put", {"name": "a", "value": "5"})])
        await gate.approve(approval_id, by="ann")
        world["a"] = "changed by somebody"
        assert codes(await gate.batch(plan)) == ["approval_void"]
    assert world == {"a": "changed by somebody"}


async def test_nobody_is_asked_about_a_list_with_a_call_in_it_that_its_preview_finds_cannot_work():
    there = {"a"}

    def would(arguments: dict[str, Any], context: Any) -> str:
        if arguments["name"] not in there:
            raise InvalidArguments(f"there is no {arguments['name']}; make it first")
        return "would change it"

    @tool(effects="system_state", risk="high", preview=would)
    async def put(name: str) -> str:
        """Change the world."""
        return name

    async with gate_of(put, *office()[1]) as gate:
        plan = await gate.plan([Call("look", {"at": "a"}), Call("put", {"name": "b"}), CALLS[1]], ask=True)
        assert plan.approval_id is None
        assert [(each.verdict, each.code) for each in plan.decisions] == [
            (Verdict.ALLOW, ""),
            (Verdict.DENY, "invalid_arguments"),
            (Verdict.CONFIRM, ""),
        ]
        assert "2. put: deny (there is no b; make it first)" in str(plan)
        assert await gate.approvals(states=None) == []
        assert codes(await gate.batch(plan)) == ["succeeded", "invalid_arguments", "pending"]

        _, approval_id = await asked(gate, [Call("put", {"name": "a"}), Call("put", {"name": "b"})])
        assert "call 2: not shown" in str((await gate.approval(approval_id)).preview)  # the first may make it


async def test_whoever_sits_there_is_asked_once_about_the_whole():
    done, tools = office()
    approver = ScriptedApprover("wait", "approve")
    async with gate_of(*tools, ask=approver) as gate:
        plan, approval_id = await asked(gate)
        assert [outcome.status for outcome in await gate.batch(plan)] == ["pending"] * 4
        assert len(approver.seen) == 1
        outcome = await gate.call("look", {"at": "prices"}, Context(idempotency_key=plan.keys[0]))
        assert outcome.ok
        single = await gate.call("pay", dict(CALLS[1].arguments), Context(idempotency_key=plan.keys[1]))
        assert single.ok
        assert [question.id for question in approver.seen] == [approval_id, approval_id]
        assert len(approver.seen[1].calls) == 4
        approver.seen.clear()
        assert codes(await gate.batch(plan)) == ["succeeded"] * 4
        assert approver.seen == []
        another = ScriptedApprover("approve")
        parts_of(gate).asker = another
        plan, _ = await asked(gate, CALLS[1:2])
        assert codes(await gate.batch(plan)) == ["succeeded"]
    assert done == ["look prices", "pay 5", "note paid", "pay 7", "pay 5"]


async def test_two_who_ask_the_same_at_once_ask_one_question():
    _, tools = office()
    async with gate_of(*tools) as gate:
        plans = await asyncio.gather(*(gate.plan(CALLS, ask=True) for _ in range(5)))
        assert len({plan.approval_id for plan in plans}) == len(await gate.approvals()) == 1
        assert len({plan.keys for plan in plans}) == 1


async def test_deciding_at_once_decides_once():
    _, tools = office()
    async with gate_of(*tools) as gate:
        _, approval_id = await asked(gate)
        answers = await asyncio.gather(
            gate.approve(approval_id, by="ann"), gate.reject(approval_id, by="bob"), return_exceptions=True
        )
        assert sum(isinstance(answer, ApprovalConflict) for answer in answers) == 1
        rows = await parts_of(gate).store.read(lambda reader: reader.approvals_of_plan(approval_id))
        assert len({(row.state, row.decided_by) for row in rows}) == 1


async def test_where_keys_are_wanted_a_plan_makes_none():
    done, tools = office()
    async with gate_of(*tools, config=Settings(require_keys=True)) as gate:
        plan = await gate.plan([CALLS[2]])
        assert plan.keys == (None,)
        assert plan.decisions[0].code == "invalid_arguments"
        plan = await gate.plan([CALLS[2]], Context(idempotency_key="k"))
        assert codes(await gate.batch(plan)) == ["succeeded"]
    assert done == ["note paid"]


async def test_a_question_that_asks_about_too_few_calls_by_now_is_asked_anew():
    done, tools = office()
    context = Context(idempotency_key="k")
    async with gate_of(*tools) as gate:
        _, first = await asked(gate, context=context)
        careful = Context(idempotency_key="k", autonomy=Autonomy.A1)
        plan, second = await asked(gate, context=careful)
        assert first != second
        states = {question.id: question.state for question in await gate.approvals(states=None)}
        assert states == {first: ApprovalState.WITHDRAWN, second: ApprovalState.PENDING}
        told = [event.payload or {} async for event in gate.events(types=["approval.withdrawn"])]
        assert {said["text"] for said in told} == {"the rules ask about more of its calls"}
        assert [call.asks for call in (await gate.approval(second)).calls] == [False, True, True, True]
        await gate.approve(second, by="ann")
        assert codes(await gate.batch(plan)) == ["succeeded"] * 4
        assert (await gate.verify_audit()).ok
    assert len(done) == 4


async def test_an_expiry_that_one_call_sees_is_that_of_the_whole_plan():
    _, tools = office()
    clock = HandClock()
    async with gate_of(*tools, clock=clock) as gate:
        plan, approval_id = await asked(gate)
        clock.turn(3600)
        again = await gate.call("pay", {"amount": 7}, Context(idempotency_key=plan.keys[3]))
        assert isinstance(again, Pending)
        rows = await parts_of(gate).store.read(lambda reader: reader.approvals_of_plan(approval_id))
        assert {row.state for row in rows} == {ApprovalState.EXPIRED}
        with pytest.raises(ApprovalConflict, match="expired, not pending"):
            await gate.approve(approval_id, by="ann")
        with pytest.raises(ApprovalConflict, match="expired, not pending"):
            await gate.approve(rows[0].id, by="ann")


async def test_plans_are_listed_once_each_among_the_other_questions():
    _, tools = office()
    async with gate_of(*tools) as gate:
        _, first = await asked(gate)
        single = await gate.call("pay", {"amount": 1})
        assert isinstance(single, Pending)
        _, second = await asked(gate, CALLS[::-1])
        assert [question.id for question in await gate.approvals()] == [first, single.approval_id, second]
        newest = await gate.approvals(limit=2, newest_first=True)
        assert [question.id for question in newest] == [second, single.approval_id]
        await gate.approve(first, by="ann")
        listed = await gate.approvals(states=(ApprovalState.APPROVED,))
        assert [question.id for question in listed] == [first]
        assert len(await gate.approvals(states=None)) == 3


async def test_silence_lets_a_plan_through_only_where_every_call_of_it_can_be_undone():
    done: list[str] = []
    rules = parse_settings(
        "global: {rules: [{match: '*book', verdict: confirm, on_expiry: proceed}]}", file="callgate.yaml"
    )

    def unbook(_arguments: Any, _output: Any) -> None:
        done.clear()

    @tool(effects="system_state", risk="low", undo=unbook)
    async def book(room: str) -> str:
        """Book a room."""
        done.append(f"book {room}")
        return room

    @tool(effects="system_state", risk="low")
    async def overbook(room: str) -> str:
        """Book a room for good."""
        done.append(f"overbook {room}")
        return room

    clock = HandClock()
    async with gate_of(book, overbook, config=rules, clock=clock) as gate:
        harmless, _ = await asked(gate, [Call("book", {"room": "a"}), Call("book", {"room": "b"})])
        mixed, _ = await asked(gate, [Call("book", {"room": "c"}), Call("overbook", {"room": "d"})])
        clock.turn(3600)
        assert codes(await gate.batch(harmless)) == ["succeeded", "succeeded"]
        assert codes(await gate.batch(mixed)) == ["approval_expired"] * 2
    assert done == ["book a", "book b"]
