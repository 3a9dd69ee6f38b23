"""Agents of Pydantic AI with the tools of a gate: every call goes through it, and its questions end the run."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import (
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolApproved,
    ToolDenied,
    UnexpectedModelBehavior,
)
from pydantic_ai.capabilities import AbstractCapability, HandleDeferredToolCalls
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart

from callgate import Callgate, Context, ToolContext, build_tool, tool
from callgate.errors import ConfigurationError
from callgate.frameworks.pydantic_ai import GateToolset
from callgate.model.approval import ApprovalState
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Autonomy, Verdict
from callgate.settings.values import Settings
from callgate.testing import HandClock, memory_gate
from tests.frameworks.agents import Run, Script, call, told, waiting
from tests.frameworks.tills import Till, balance, roles, ruled
from tests.journeys.faulty import Faulty, make_faulty
from tests.journeys.gates import parts_of

MINE = Context(user="ann", session="chat")
PAY = (call("c1", "bank__pay", amount=900),)


def approving(run: Run, answer: Any = True) -> dict[str, Any]:
    """What a run is resumed with when a person says this to everything it waits for."""
    approvals: dict[str, Any] = dict.fromkeys(waiting(run), answer)
    results = DeferredToolResults(approvals=approvals)
    return {"message_history": run.all_messages(), "deferred_tool_results": results}


async def asked(gate: Callgate, run: Run, call_id: str = "c1") -> Any:
    """The question of a run, as it stands at the gate."""
    return await gate.approval(waiting(run)[call_id]["approval_id"])


async def test_a_read_gives_the_model_its_value_under_a_name_that_providers_take():
    @tool(name="mail.count", effects="read_only")
    def count(folder: str, newer_than: int = 0) -> int:
        """Count mails."""
        return 3

    script = Script([call("c1", "balance", account="rent"), call("c2", "mail__count", folder="in")], "fine")
    async with memory_gate(balance, count) as gate:
        toolset = GateToolset[Any](gate, MINE)
        run = await script.agent(toolset).run("?")
        assert run.output == "fine"
        assert told(run) == {"c1": ({"account": "rent", "balance": 700}, "success"), "c2": (3, "success")}
        assert script.offered == [["balance", "mail__count"]] * 2
        await gate.flush()
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.succeeded"] * 2


async def test_a_model_is_told_schemas_as_they_travel_and_may_use_parameters_of_any_name():
    got: list[dict[str, Any]] = []

    async def keep(arguments: dict[str, Any], _context: Any) -> str:
        got.append(arguments)
        return "kept"

    schema = {"type": "object", "properties": {"größe in m²": {"type": "number"}}, "required": ["größe in m²"]}
    odd = build_tool(
        {"name": "keep", "description": "Keep.", "input_schema": schema, "execute": keep}, effects="read_only"
    )
    async with memory_gate(odd) as gate:
        [definition] = gate.pool(MINE).to_openai_chat()
        [wire] = definition["function"]["parameters"]["properties"]
        run = await Script([ToolCallPart("keep", {wire: 3}, "c1")], "ok").agent(GateToolset[Any](gate, MINE)).run("?")
        assert told(run)["c1"] == ("kept", "success")
    assert got == [{"größe in m²": 3}]


async def test_an_effect_waits_for_a_decision_at_the_gate_and_happens_once(tmp_path: Path):
    till, script = Till(tmp_path), Script(PAY, "done")
    async with memory_gate(till.pay) as gate:
        agent = script.agent(GateToolset[Any](gate, MINE))
        first = await agent.run("Pay my rent.")
        question = waiting(first)["c1"]
        assert [part.tool_name for part in first.output.approvals] == ["bank__pay"]
        assert (question["tool"], question["arguments"], question["risk"]) == ("bank.pay", {"amount": 900}, "high")
        assert 'bank.pay\n  amount: 900\n  to: "bob"' in question["what"]
        assert any("high risk" in reason for reason in question["reasons"])

        hasty = await agent.run(**approving(first))
        assert waiting(hasty)["c1"]["approval_id"] == question["approval_id"]
        assert "no person is named" in waiting(hasty)["c1"]["note"]
        assert till.paid == []

        await gate.approve(question["approval_id"], by="ann")
        last = await agent.run(**approving(hasty))
        assert (last.output, told(last)["c1"]) == ("done", ("paid 900 to bob", "success"))
        for earlier in (first, hasty):
            again = await agent.run(**approving(earlier))
            assert told(again)["c1"] == ("paid 900 to bob", "success")
        assert till.paid == ["900 to bob"]


async def test_a_history_replayed_in_another_process_has_no_second_effect(tmp_path: Path):
    till, store = Till(tmp_path), f"sqlite:///{tmp_path / 'gate.db'}"
    async with memory_gate(till.pay, store=store) as gate:
        first = await Script(PAY, "done").agent(GateToolset[Any](gate)).run("Pay.")
        kept = first.all_messages_json()
    results = DeferredToolResults(approvals={"c1": True})
    for _ in range(2):
        async with memory_gate(till.pay, store=store) as gate:
            agent = Script(PAY, "done").agent(GateToolset[Any](gate, by="ann"))
            history = ModelMessagesTypeAdapter.validate_json(kept)
            run = await agent.run(message_history=history, deferred_tool_results=results)
            assert told(run)["c1"] == ("paid 900 to bob", "success")
    assert till.paid == ["900 to bob"]


async def test_a_named_person_approves_through_the_framework_and_is_recorded_as_asserted(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        agent = Script(PAY, "done").agent(GateToolset[Any](gate, MINE, by="ann"))
        first = await agent.run("Pay.")
        assert (await agent.run(**approving(first))).output == "done"
        approval = await asked(gate, first)
        assert (approval.state, approval.decided_by) == (ApprovalState.USED, "ann")
        assert [vote.assurance for vote in approval.votes] == [Assurance.ASSERTED]
    assert till.paid == ["900 to bob"]


async def test_a_person_edits_through_the_framework_and_the_model_is_told(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        unnamed = Script(PAY, "done").agent(GateToolset[Any](gate, MINE))
        named = Script(PAY, "done").agent(GateToolset[Any](gate, MINE, by="ann"))
        edit = ToolApproved(override_args={"amount": 500})
        first = await unnamed.run("Pay.")
        still = await unnamed.run(**approving(first, edit))
        assert waiting(still)["c1"]["arguments"] == {"amount": 900}
        wrong = await named.run(**approving(still, ToolApproved(override_args={"amount": "a lot"})))
        assert "amount" in waiting(wrong)["c1"]["note"]
        assert till.paid == []
        last = await named.run(**approving(wrong, edit))
        text, mark = told(last)["c1"]
        assert mark == "success"
        assert text.startswith("paid 500 to bob\nA person changed the call before it ran; it ran with ")
        again = await named.run(**approving(first, edit))
        assert told(again)["c1"][0].startswith("paid 500")
        assert (await asked(gate, first)).edited
    assert till.paid == ["500 to bob"]


async def test_what_hooks_of_the_framework_make_of_a_call_is_what_is_asked_about_and_no_edit(tmp_path: Path):
    till = Till(tmp_path)

    class Halving(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, args: dict[str, Any], **_more: Any) -> dict[str, Any]:
            return args | {"amount": args["amount"] // 2}

    async with memory_gate(till.pay) as gate:
        agent = Script(PAY, "done").agent(GateToolset[Any](gate, MINE, by="ann"), capabilities=[Halving()])
        first = await agent.run("Pay.")
        assert waiting(first)["c1"]["arguments"] == {"amount": 450}
        for _ in range(2):
            run = await agent.run(**approving(first))
            assert told(run)["c1"] == ("paid 450 to bob", "success")
        assert not (await asked(gate, first)).edited
    assert till.paid == ["450 to bob"]


async def test_what_was_decided_at_the_gate_stands_before_what_the_framework_says(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        agent = Script(PAY, "done").agent(GateToolset[Any](gate, MINE, by="ann"))
        first = await agent.run("Pay.")
        await gate.reject(waiting(first)["c1"]["approval_id"], by="eve", why="too much")
        run = await agent.run(**approving(first))
        text, mark = told(run)["c1"]
        assert text.startswith("Not run (approval_rejected): eve rejected this call: too much.")
        assert mark == "failed"
    assert till.paid == []


@pytest.mark.parametrize(
    ("by", "state"), [("ann", ApprovalState.REJECTED), (None, ApprovalState.WITHDRAWN), ("agent", "withdrawn")]
)
async def test_a_denial_closes_the_question_at_the_gate(tmp_path: Path, by: str | None, state: str):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        agent = Script(PAY, "sorry").agent(GateToolset[Any](gate, MINE, by=by))
        first = await agent.run("Pay.")
        run = await agent.run(**approving(first, ToolDenied("not this month")))
        assert (run.output, told(run)["c1"]) == ("sorry", ("not this month", "denied"))
        approval = await asked(gate, first)
        assert approval.state == state
        if by == "ann":
            assert (approval.decided_by, approval.text) == ("ann", "not this month")
            replayed = await agent.run(**approving(first))
            assert "ann rejected this call: not this month." in told(replayed)["c1"][0]
    assert till.paid == []


async def test_a_person_answers_in_place_of_the_call(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        agent = Script(PAY, "ok").agent(GateToolset[Any](gate, MINE, by="ann"))
        first = await agent.run("Pay.")
        await gate.respond(waiting(first)["c1"]["approval_id"], by="ann", text="ask me on Monday")
        run = await agent.run(**approving(first))
        assert told(run)["c1"][0].startswith("Not run (approval_answered): ask me on Monday.")

        other = GateToolset[Any](gate, Context(user="ann", session="other"), by="ann")
        second = await Script(PAY, "ok").agent(other).run("Pay.")
        handed_in = DeferredToolResults(calls={"c1": "it is paid already"})
        run = (
            await Script(PAY, "ok")
            .agent(other)
            .run(message_history=second.all_messages(), deferred_tool_results=handed_in)
        )
        assert told(run)["c1"] == ("it is paid already", "success")
        approval = await asked(gate, second)
        assert approval.state is ApprovalState.WITHDRAWN  # who said it, nobody told
    assert till.paid == []


async def test_a_call_whose_id_nobody_could_answer_is_not_made(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    calls = [call("x" * 600, "bank__pay", amount=1), call("c1", "balance", account="rent")]
    async with memory_gate(till.pay, balance, config=ruled("balance", Verdict.CONFIRM)) as gate:
        agent = Script(calls, "ok").agent(GateToolset[Any](gate, MINE, by="ann"))
        run = await agent.run(**approving(await agent.run("?")))
        assert "without a usable id" in told(run)["x" * 600][0]
        assert told(run)["c1"][1] == "success"
    assert till.paid == []


async def test_the_result_of_one_read_ends_no_question_about_an_equal_one():
    twins = [call("c1", "balance", account="rent"), call("c2", "balance", account="rent")]
    async with memory_gate(balance, config=ruled("balance", Verdict.CONFIRM)) as gate:
        toolset = GateToolset[Any](gate, MINE, by="ann")
        agent = Script(twins, "ok").agent(toolset)
        first = await agent.run("?")
        question = waiting(first)["c2"]["approval_id"]
        assert waiting(first)["c1"]["approval_id"] == question
        handed_in = DeferredToolResults(calls={"c1": "700"}, approvals={"c2": ToolDenied("no")})
        await agent.run(message_history=first.all_messages(), deferred_tool_results=handed_in)
        assert (await gate.approval(question)).state is ApprovalState.REJECTED


async def test_a_question_whose_time_is_up_is_asked_anew_and_the_late_yes_does_not_count(tmp_path: Path):
    till, clock = Till(tmp_path), HandClock()
    async with memory_gate(till.pay, clock=clock) as gate:
        agent = Script(PAY, "done").agent(GateToolset[Any](gate, MINE, by="ann"))
        first = await agent.run("Pay.")
        clock.turn(3601)
        late = await agent.run(**approving(first))
        assert (await asked(gate, first)).state is ApprovalState.EXPIRED
        assert (await asked(gate, late)).state is ApprovalState.PENDING
        assert till.paid == []
        await agent.run(**approving(late))
    assert till.paid == ["900 to bob"]


async def test_two_people_have_to_agree_where_the_rules_say_so(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay, config=ruled("bank.pay", Verdict.CONFIRM, by=ConfirmBy.TWO)) as gate:

        def speaker(ctx: RunContext[str]) -> str:
            return ctx.deps

        agent = Script(PAY, "done").agent(GateToolset[str](gate, MINE, by=speaker))
        first = await agent.run("Pay.", deps="ann")
        for name, note in (
            ("ann", "another has to agree"),
            ("Ann", "has approved already"),
            ("agent", "never decides"),
        ):
            run = await agent.run(**approving(first), deps=name)
            assert note in waiting(run)["c1"]["note"]
        assert till.paid == []
        assert (await agent.run(**approving(first), deps="eve")).output == "done"
    assert till.paid == ["900 to bob"]


async def test_what_policy_refuses_is_told_once_and_not_retried(tmp_path: Path):
    till, script = Till(tmp_path, risk="low"), Script(PAY, "ok")
    async with memory_gate(till.pay, config=ruled("bank.pay", Verdict.DENY, when="args.amount > 100")) as gate:
        run = await script.agent(GateToolset[Any](gate, MINE, max_retries=0)).run("Pay.")
        text, mark = told(run)["c1"]
        assert (text.startswith("Not run (policy_denied): "), mark) == (True, "failed")
        assert "the house says so" in text
    assert (till.paid, len(script.offered)) == ([], 2)


async def test_arguments_that_do_not_fit_are_the_models_to_correct(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    wrong, twice = call("w1", "bank__pay", amount="much"), ToolCallPart("bank__pay", '{"amount": 1, "amount": 2}', "w2")
    async with memory_gate(till.pay) as gate:
        run = await Script([wrong], [twice], PAY, "done").agent(GateToolset[Any](gate, MINE, max_retries=2)).run("Pay.")
        assert run.output == "done"
        assert [mark for _, mark in told(run).values()] == ["retried", "retried", "success"]
        assert "Not run (invalid_arguments)" in str(told(run)["w1"][0])
        assert "given twice" in str(told(run)["w2"][0])
        with pytest.raises(UnexpectedModelBehavior, match="exceeded max retries"):
            await Script([wrong], [wrong], "done").agent(GateToolset[Any](gate, MINE)).run("Pay.")
        refused = [event async for event in gate.events(types=["tool_call.refused"])]
        assert len(refused) == 3  # what cannot be read never reaches the gate
    assert till.paid == ["900 to bob"]


async def test_an_outcome_nobody_knows_is_told_so_and_never_tried_again(tmp_path: Path):
    till = Till(tmp_path)

    @tool(name="bank.send", effects="system_state", risk="low")
    async def send(amount: int) -> str:
        """Send money."""
        till.note(f"sent {amount}")
        message = "reset by peer"
        raise ConnectionResetError(message)

    steps = ([call("c1", "bank__send", amount=5)], [call("c2", "bank__send", amount=5)], "ok")
    async with memory_gate(send) as gate:
        agent = Script(*steps).agent(GateToolset[Any](gate, MINE))
        run = await agent.run("Send.")
        first, second = told(run)["c1"], told(run)["c2"]
        assert ("do not repeat it" in first[0], first[1]) == (True, "failed")
        assert (second[0].startswith("Not run (outcome_unknown)"), second[1]) == (True, "failed")
        replayed = await agent.run("Send.")
        assert "outcome_unknown" in told(replayed)["c1"][0]
    assert till.paid == ["sent 5"]


async def test_the_pool_is_that_of_the_asker_at_each_step(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    config = roles(clerk=("balance", "bank.pay", "close"), guest=("balance",))
    async with memory_gate(balance, till.pay, config=config) as gate:

        @tool(name="close", effects="read_only")
        def close() -> str:
            """Close the till."""
            gate.remove("bank.pay")
            return "closed"

        gate.add(close)

        def asking(ctx: RunContext[str]) -> Context:
            return Context(role=ctx.deps, session="chat")

        script = Script([call("c1", "close")], [call("c2", "bank__pay", amount=1)], "ok")
        agent = script.agent(GateToolset[str](gate, asking, max_retries=3))
        run = await agent.run("?", deps="clerk")
        assert script.offered[0] == ["balance", "bank__pay", "close"]
        assert script.offered[1] == ["balance", "close"]
        assert "Unknown tool name" in told(run)["c2"][0]
        await agent.run("?", deps="guest")
        assert script.offered[3] == ["balance"]
    assert till.paid == []


async def test_of_parallel_calls_only_the_one_that_waits_is_made_again(tmp_path: Path):
    looked: list[str] = []
    till = Till(tmp_path)

    @tool(effects="read_only")
    async def look(at: str) -> str:
        """Look."""
        looked.append(at)
        return "seen"

    @tool(effects="system_state", risk="low")
    async def tell(text: str) -> str:
        """Tell."""
        till.note(text)
        return "told"

    calls = [call("c1", "look", at="x"), call("c2", "bank__pay", amount=5), call("c3", "tell", text="hello")]
    async with memory_gate(look, tell, till.pay) as gate:
        agent = Script(calls, "done").agent(GateToolset[Any](gate, MINE, by="ann"))
        first = await agent.run("?")
        assert list(waiting(first)) == ["c2"]
        assert (looked, till.paid) == (["x"], ["hello"])
        run = await agent.run(**approving(first))
        assert {own: mark for own, (_, mark) in told(run).items()} == dict.fromkeys(("c1", "c2", "c3"), "success")
    assert (looked, till.paid) == (["x"], ["hello", "5 to bob"])


async def test_a_run_that_is_cancelled_leaves_an_unknown_outcome_and_no_second_effect(tmp_path: Path):
    till, begun = Till(tmp_path), asyncio.Event()

    @tool(name="bank.pay", effects="system_state", risk="low")
    async def pay(amount: int, ctx: ToolContext) -> str:
        """Pay, and wait for the other side."""
        ctx.progress(0.5, "on its way")
        till.note(f"{amount}")
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with memory_gate(pay) as gate:
        agent = Script(PAY, "done").agent(GateToolset[Any](gate, MINE))
        run = asyncio.create_task(agent.run("Pay."))
        async with asyncio.timeout(30):
            await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        outcome = await gate.outcome("call:c1", MINE)
        assert outcome is not None
        assert outcome.status == "unknown"
        again = await agent.run("Pay.")
        assert "Not run (outcome_unknown)" in told(again)["c1"][0]
        await gate.flush()
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types[:3] == ["tool_call.attempted", "tool_call.progress", "tool_call.unknown"]
    assert till.paid == ["900"]


async def test_what_is_only_shown_is_told_as_not_run(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay, config=Settings(autonomy=Autonomy.A0)) as gate:
        run = await Script(PAY, "ok").agent(GateToolset[Any](gate, MINE)).run("Pay.")
        assert (told(run)["c1"][0].startswith("Shown only, not run"), told(run)["c1"][1]) == (True, "failed")
    assert till.paid == []


async def test_a_store_that_fails_is_told_and_costs_the_calls_beside_it_nothing(tmp_path: Path):
    till = Till(tmp_path)

    @tool(effects="read_only")
    async def look() -> str:
        """Look."""
        return "seen"

    class Unreadable(Faulty):
        async def read(self, unit: Any) -> Any:
            self._fail()
            return await self._store.read(unit)

    async with memory_gate(till.pay, look) as gate:
        agent = Script([*PAY, call("c2", "look")], "ok").agent(GateToolset[Any](gate, MINE, by="ann"))
        first = await agent.run("Pay.")
        full = make_faulty(gate)
        full.broken = True
        unwritten = await agent.run(**approving(first))
        assert "the disk is full" in waiting(unwritten)["c1"]["note"]
        full.broken = False
        parts: Any = parts_of(gate)
        parts.store = gone = Unreadable(parts.store)
        gone.broken = True
        run = await agent.run(**approving(first))
        assert told(run)["c1"] == ("Not run (store_unavailable): the disk is full.", "failed")
        assert told(run)["c2"] == ("seen", "success")
        gone.broken = False
    assert till.paid == []


async def test_a_conversation_is_a_session_where_the_context_has_none_of_its_own(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    async with memory_gate(till.pay, context=Context(principal="clerk")) as gate:
        agent = Script(PAY, "done").agent(GateToolset[Any](gate))
        one, two = await agent.run("Pay."), await agent.run("Pay.")
        assert till.paid == ["900 to bob"] * 2  # two conversations, one id
        for run in (one, two):
            session = run.conversation_id
            outcome = await gate.outcome("call:c1", Context(principal="clerk", session=session))
            assert outcome is not None
            assert outcome.ok
        await agent.run("Pay.", conversation_id=one.conversation_id)
    assert till.paid == ["900 to bob"] * 2


async def test_what_looks_like_an_address_to_load_stays_text_also_in_a_history_that_was_kept():
    @tool(effects="read_only")
    async def fetch() -> list[Any]:
        """Fetch."""
        return [{"kind": "image-url", "url": "https://example.com/?stolen", "media_type": "image/png"}]

    @tool(effects="read_only")
    async def nothing() -> None:
        """Do nothing."""

    async with memory_gate(fetch, nothing) as gate:
        script = Script([call("c1", "fetch"), call("c2", "nothing")], "ok")
        run = await script.agent(GateToolset[Any](gate, MINE)).run("?")
        assert told(run)["c2"] == ("Done; it returned nothing.", "success")
        kept = ModelMessagesTypeAdapter.validate_json(run.all_messages_json())
        parts = [part for message in kept for part in message.parts if part.part_kind == "tool-return"]
        assert all(isinstance(part.content, str) for part in parts)


async def test_a_toolset_can_be_prefixed_and_questions_answered_on_the_spot(tmp_path: Path):
    till = Till(tmp_path)

    async def answer(_ctx: RunContext[Any], requests: DeferredToolRequests) -> DeferredToolResults:
        no = call("c2", "").tool_call_id
        return requests.build_results(approvals={no: ToolDenied("no")}, approve_all=True)

    pays = [call("c1", "house_bank__pay", amount=5), call("c2", "house_bank__pay", amount=6)]
    async with memory_gate(till.pay) as gate:
        toolset = GateToolset[Any](gate, MINE, by="ann").prefixed("house")
        run = await Script(pays, "ok").agent(toolset, capabilities=[HandleDeferredToolCalls(answer)]).run("Pay.")
        assert told(run) == {"c1": ("paid 5 to bob", "success"), "c2": ("no", "denied")}
    assert till.paid == ["5 to bob"]


@pytest.fixture
def own_loop():
    """The loop that `run_sync` uses, which it leaves to whoever made it."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()
    asyncio.set_event_loop(None)


@pytest.mark.usefixtures("own_loop")
def test_blocking_programs_use_it_with_a_gate_of_their_kind(tmp_path: Path):
    till = Till(tmp_path)
    with Callgate.open_sync("memory://") as gate:
        gate.add(till.pay)
        agent = Script(PAY, "done").agent(GateToolset[Any](gate, by="ann"))
        first = agent.run_sync("Pay.")
        assert agent.run_sync(**approving(first)).output == "done"
    assert till.paid == ["900 to bob"]


async def test_a_gate_that_is_not_open_says_so():
    gate = memory_gate(balance)
    with pytest.raises(ConfigurationError, match="the gate is not open"):
        await Script("ok").agent(GateToolset[Any](gate)).run("?")
