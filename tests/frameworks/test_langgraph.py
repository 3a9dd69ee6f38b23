"""Graphs of LangGraph with the tools of a gate: its questions interrupt, and what runs again does nothing twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from callgate import Callgate, Context, tool
from callgate.errors import MalformedResponse
from callgate.frameworks.langgraph import GateToolNode
from callgate.model.approval import ApprovalState
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Verdict
from callgate.testing import HandClock, memory_gate
from tests.frameworks.graphs import THREAD, Model, asking, call, graph, hello, question, ready_made, results
from tests.frameworks.tills import Till, balance, roles, ruled

PAY = asking(call("c1", "bank__pay", amount=900))


def answer(asked: Mapping[str, Any], decision: str, **more: Any) -> Command[Any]:
    """What a graph is resumed with when a person says this to that question."""
    return Command(resume={"approval_id": asked["approval_id"], "decision": decision, **more})


def said_by(config: RunnableConfig) -> str | None:
    return config.get("metadata", {}).get("who")


async def state_of(gate: Callgate, asked: Mapping[str, Any]) -> ApprovalState:
    return (await gate.approval(asked["approval_id"])).state


async def test_calls_of_a_message_are_answered_with_their_ids_and_marks(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    message = asking(
        call("c1", "balance", account="rent"),
        call("c2", "bank__pay", amount=5),
        call("c3", "bank__pay", amount="much"),
        call("c4", "nosuch"),
    )
    message.invalid_tool_calls.append(invalid_tool_call(id="c5", name="balance", args='{"acc', error="cut"))
    async with memory_gate(balance, till.pay) as gate:
        state = await graph(GateToolNode(gate), message).ainvoke(hello(), THREAD)
        assert [each.type for each in state["messages"]] == ["human", "ai", *["tool"] * 5, "ai"]
        told = results(state)
        assert [mark for _, mark in told.values()] == ["success", "success", "error", "error", "error"]
        assert told["c1"][0] == '{"account":"rent","balance":700}'
        assert told["c2"][0] == "paid 5 to bob"
        assert told["c3"][0].startswith("Not run (invalid_arguments)")
        assert told["c4"][0].startswith("Not run (tool_not_found)")
        assert "cannot be read" in told["c5"][0]
        found = [each for each in state["messages"] if isinstance(each, ToolMessage)]
        assert [each.name for each in found][:2] == ["balance", "bank__pay"]
        assert found[1].artifact["status"] == "succeeded"
    assert till.paid == ["5 to bob"]


async def test_an_effect_interrupts_the_graph_until_somebody_decides_at_the_gate(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        flow = graph(GateToolNode(gate, Context(user="ann")), PAY)
        asked = question(await flow.ainvoke(hello(), THREAD))
        assert (asked["tool"], asked["arguments"], asked["call_id"]) == ("bank.pay", {"amount": 900}, "c1")
        assert asked["what"] == 'bank.pay\n  amount: 900\n  to: "bob"'
        assert any("high risk" in reason for reason in asked["reasons"])

        for word in (True, "approve", 7, {"decision": "approve"}):
            again = question(await flow.ainvoke(Command(resume=word), THREAD))
            assert (again["approval_id"], "note" in again) == (asked["approval_id"], False)
        unnamed = question(await flow.ainvoke(answer(asked, "approve"), THREAD))
        assert "no person is named" in unnamed["note"]
        assert till.paid == []

        await gate.approve(asked["approval_id"], by="ann")
        state = await flow.ainvoke(Command(resume="go on"), THREAD)
        assert results(state) == {"c1": ("paid 900 to bob", "success")}
        assert state["messages"][-1].content == "done"
    assert till.paid == ["900 to bob"]


async def test_a_graph_goes_on_in_another_process_and_replays_without_a_second_effect(tmp_path: Path):
    till, store, saver = Till(tmp_path), f"sqlite:///{tmp_path / 'gate.db'}", InMemorySaver()
    async with memory_gate(till.pay, store=store) as gate:
        asked = question(await graph(GateToolNode(gate), PAY, saver=saver).ainvoke(hello(), THREAD))
    async with memory_gate(till.pay, store=store) as gate:
        flow = graph(GateToolNode(gate, by="ann"), PAY, saver=saver)
        state = await flow.ainvoke(answer(asked, "approve"), THREAD)
        assert results(state) == {"c1": ("paid 900 to bob", "success")}
    async with memory_gate(till.pay, store=store) as gate:
        flow = graph(GateToolNode(gate, by="ann"), PAY, saver=saver)
        past = [each async for each in flow.aget_state_history(THREAD) if each.next == ("tools",)]
        assert past
        for each in past:
            state = await flow.ainvoke(None, each.config)
            assert results(state) == {"c1": ("paid 900 to bob", "success")}
    assert till.paid == ["900 to bob"]


async def test_a_named_person_approves_through_the_graph_and_is_recorded_as_asserted(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        flow = graph(GateToolNode(gate, by="ann"), PAY)
        asked = question(await flow.ainvoke(hello(), THREAD))
        await flow.ainvoke(answer(asked, "approve"), THREAD)
        approval = await gate.approval(asked["approval_id"])
        assert (approval.state, approval.decided_by, approval.session) == (ApprovalState.USED, "ann", "t1")
        assert [vote.assurance for vote in approval.votes] == [Assurance.ASSERTED]
    assert till.paid == ["900 to bob"]


async def test_a_person_edits_and_the_model_is_told(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        flow = graph(GateToolNode(gate, by="ann"), PAY)
        asked = question(await flow.ainvoke(hello(), THREAD))
        wrong = question(await flow.ainvoke(answer(asked, "edit", arguments={"amount": "much"}), THREAD))
        assert "amount" in wrong["note"]
        none = question(await flow.ainvoke(answer(asked, "edit"), THREAD))
        assert none["note"].startswith("the answer is none")
        assert till.paid == []
        state = await flow.ainvoke(answer(asked, "edit", arguments={"amount": 500}), THREAD)
        assert results(state)["c1"][0].startswith("paid 500 to bob\nA person changed the call before it ran")
    assert till.paid == ["500 to bob"]


@pytest.mark.parametrize(
    ("decision", "state", "text"),
    [
        ("reject", ApprovalState.REJECTED, "ann rejected this call: not this month"),
        ("respond", ApprovalState.ANSWERED, "Not run (approval_answered): not this month"),
    ],
)
async def test_a_no_or_an_answer_goes_to_the_model_in_place_of_the_call(
    tmp_path: Path, decision: str, state: ApprovalState, text: str
):
    till = Till(tmp_path)
    async with memory_gate(till.pay) as gate:
        flow = graph(GateToolNode(gate, by=said_by), PAY)
        asked = question(await flow.ainvoke(hello(), THREAD | {"metadata": {"who": "ann"}}))
        again = question(await flow.ainvoke(answer(asked, "respond"), THREAD | {"metadata": {"who": "ann"}}))
        assert "an answer needs words" in again["note"]
        ended = await flow.ainvoke(
            answer(asked, decision, message="not this month"), THREAD | {"metadata": {"who": "ann"}}
        )
        told, mark = results(ended)["c1"]
        assert (text in told, mark) == (True, "error")
        assert await state_of(gate, asked) is state
    assert till.paid == []


async def test_of_parallel_calls_only_the_one_that_waits_is_made_again(tmp_path: Path):
    looked: list[str] = []
    till = Till(tmp_path)

    @tool(effects="read_only")
    async def look(at: str) -> str:
        """Look."""
        looked.append(at)
        return f"seen {at} {len(looked)}"

    @tool(effects="system_state", risk="low")
    async def tell(text: str) -> str:
        """Tell."""
        till.note(text)
        return "told"

    message = asking(call("c1", "look", at="x"), call("c2", "bank__pay", amount=5), call("c3", "tell", text="hello"))
    async with memory_gate(look, tell, till.pay) as gate:
        flow = graph(GateToolNode(gate, by="ann"), message)
        asked = question(await flow.ainvoke(hello(), THREAD))
        await flow.ainvoke(Command(resume=True), THREAD)
        state = await flow.ainvoke(answer(asked, "approve"), THREAD)
        told = {"c1": ("seen x 1", "success"), "c2": ("paid 5 to bob", "success"), "c3": ("told", "success")}
        assert results(state) == told
    assert (looked, till.paid) == (["x"], ["hello", "5 to bob"])


async def test_an_answer_counts_for_no_other_question_than_the_one_it_names(tmp_path: Path):
    till = Till(tmp_path)
    message = asking(call("c1", "bank__pay", amount=1), call("c2", "bank__pay", amount=2))
    async with memory_gate(till.pay) as gate:
        flow = graph(GateToolNode(gate, by="ann"), message)
        first = question(await flow.ainvoke(hello(), THREAD))
        assert first["arguments"] == {"amount": 1}
        await gate.reject(first["approval_id"], by="eve")  # so the first that waits is the second by now
        second = question(await flow.ainvoke(answer(first, "approve"), THREAD))
        assert second["arguments"] == {"amount": 2}
        assert "does not wait here" in second["note"]
        assert till.paid == []
        strange = {"approval_id": "none"}
        assert "does not wait here" in question(await flow.ainvoke(answer(strange, "approve"), THREAD))["note"]
        state = await flow.ainvoke(answer(second, "approve"), THREAD)
        assert [mark for _, mark in results(state).values()] == ["error", "success"]
    assert till.paid == ["2 to bob"]


async def test_questions_of_one_message_come_one_after_the_other_and_in_any_order_are_decided(tmp_path: Path):
    till = Till(tmp_path)
    message = asking(call("c1", "bank__pay", amount=1), call("c2", "bank__pay", amount=2))
    async with memory_gate(till.pay) as gate:
        flow = graph(GateToolNode(gate, by="ann"), message)
        first = question(await flow.ainvoke(hello(), THREAD))
        [other] = [each for each in await gate.approvals() if each.id != first["approval_id"]]
        still = question(await flow.ainvoke(answer({"approval_id": other.id}, "approve"), THREAD))
        assert (still["approval_id"], till.paid) == (first["approval_id"], ["2 to bob"])
        state = await flow.ainvoke(answer(first, "approve"), THREAD)
        assert [text for text, _ in results(state).values()] == ["paid 1 to bob", "paid 2 to bob"]
    assert till.paid == ["2 to bob", "1 to bob"]


@pytest.mark.filterwarnings("ignore:create_react_agent has been moved")
@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_it_is_the_tool_node_of_a_ready_made_agent(tmp_path: Path, version: Any):
    looked: list[str] = []
    till = Till(tmp_path)

    @tool(effects="read_only")
    async def look(at: str) -> str:
        """Look."""
        looked.append(at)
        return "seen"

    calls = (call("c1", "look", at="x"), call("c2", "bank__pay", amount=5), call("c3", "bank__pay", amount=6))
    model = Model(messages=iter([asking(*calls), AIMessage("done")]))
    async with memory_gate(look, till.pay) as gate:
        node = GateToolNode(gate, by="ann")
        flow = ready_made(model, node, version=version)
        assert model.bound == ["bank__pay", "look"]
        state = await flow.ainvoke(hello(), THREAD)
        while "__interrupt__" in state:
            replies = {
                each.id: {"approval_id": each.value["approval_id"], "decision": "approve"}
                for each in state["__interrupt__"]
            }
            state = await flow.ainvoke(Command(resume=replies), THREAD)
        assert [text for text, _ in results(state).values()] == ["seen", "paid 5 to bob", "paid 6 to bob"]
    assert (looked, sorted(till.paid)) == (["x"], ["5 to bob", "6 to bob"])


async def test_a_question_whose_time_is_up_is_asked_anew_and_the_late_yes_does_not_count(tmp_path: Path):
    till, clock = Till(tmp_path), HandClock()
    async with memory_gate(till.pay, clock=clock) as gate:
        flow = graph(GateToolNode(gate, by="ann"), PAY)
        first = question(await flow.ainvoke(hello(), THREAD))
        clock.turn(3601)
        later = question(await flow.ainvoke(answer(first, "approve"), THREAD))
        assert later["approval_id"] != first["approval_id"]
        assert await state_of(gate, first) is ApprovalState.EXPIRED
        assert till.paid == []
        # The graph replays every answer that was ever given; the first must not count for the new question.
        assert question(await flow.ainvoke(None, THREAD))["approval_id"] == later["approval_id"]
        assert till.paid == []
        await flow.ainvoke(answer(later, "approve"), THREAD)
    assert till.paid == ["900 to bob"]


async def test_two_people_have_to_agree_where_the_rules_say_so(tmp_path: Path):
    till = Till(tmp_path)
    async with memory_gate(till.pay, config=ruled("bank.pay", Verdict.CONFIRM, by=ConfirmBy.TWO)) as gate:
        flow = graph(GateToolNode(gate, by=said_by), PAY)
        asked = question(await flow.ainvoke(hello(), THREAD))
        for name, note in (("ann", "another has to agree"), ("agent", "never decides")):
            again = question(await flow.ainvoke(answer(asked, "approve"), THREAD | {"metadata": {"who": name}}))
            assert note in again["note"]
        assert till.paid == []


async def test_what_policy_refuses_is_told_and_the_graph_goes_on(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    async with memory_gate(till.pay, config=ruled("bank.pay", Verdict.DENY, when="args.amount > 100")) as gate:
        state = await graph(GateToolNode(gate), PAY).ainvoke(hello(), THREAD)
        text, mark = results(state)["c1"]
        assert (text.startswith("Not run (policy_denied): "), mark) == (True, "error")
    assert till.paid == []


async def test_an_outcome_nobody_knows_is_told_so_and_never_tried_again(tmp_path: Path):
    till = Till(tmp_path)

    @tool(name="bank.send", effects="system_state", risk="low")
    async def send(amount: int) -> str:
        """Send money."""
        till.note(f"sent {amount}")
        message = "reset by peer"
        raise ConnectionResetError(message)

    steps = asking(call("c1", "bank__send", amount=5)), asking(call("c2", "bank__send", amount=5))
    async with memory_gate(send) as gate:
        flow = graph(GateToolNode(gate), *steps)
        told = results(await flow.ainvoke(hello(), THREAD))
        assert "do not repeat it" in told["c1"][0]
        assert told["c2"][0].startswith("Not run (outcome_unknown)")
        past = [each async for each in flow.aget_state_history(THREAD) if each.next == ("tools",)]
        replayed = results(await flow.ainvoke(None, past[-1].config))
        assert "outcome_unknown" in replayed["c1"][0]
    assert till.paid == ["sent 5"]


async def test_a_run_that_is_cancelled_leaves_an_unknown_outcome_and_no_second_effect(tmp_path: Path):
    till, begun = Till(tmp_path), asyncio.Event()

    @tool(name="bank.pay", effects="system_state", risk="low")
    async def pay(amount: int) -> str:
        """Pay, and wait for the other side."""
        till.note(f"{amount}")
        begun.set()
        await asyncio.Event().wait()
        return "never"

    async with memory_gate(pay) as gate:
        flow = graph(GateToolNode(gate), PAY)
        run = asyncio.create_task(flow.ainvoke(hello(), THREAD))
        async with asyncio.timeout(30):
            await begun.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await gate.flush()
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.unknown"]
        told = results(await flow.ainvoke(None, THREAD))
        assert "Not run (outcome_unknown)" in told["c1"][0]
    assert till.paid == ["900"]


async def test_threads_are_sessions_and_ids_that_count_from_zero_are_told_apart_by_their_message(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    steps = [asking(call("call_0", "bank__pay", amount=amount)) for amount in (1, 2)]
    async with memory_gate(till.pay) as gate:
        flow = graph(GateToolNode(gate), *steps)
        for thread in ("a", "b"):
            state = await flow.ainvoke(hello(), {"configurable": {"thread_id": thread}})
            assert [each.status for each in state["messages"] if isinstance(each, ToolMessage)] == ["success"] * 2
        sessions = {attempt.key.session for attempt in await gate.attempts()}
        assert sessions == {"a", "b"}
        own = graph(GateToolNode(gate, Context(session="mine", step_id="s1")), steps[0])
        await own.ainvoke(hello(), THREAD)
        assert "mine" in {attempt.key.session for attempt in await gate.attempts()}
    assert till.paid == ["1 to bob", "2 to bob"] * 2 + ["1 to bob"]


async def test_the_tools_are_those_of_the_asker(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    config = roles(default=("balance",), clerk=("balance", "bank.pay"))
    async with memory_gate(balance, till.pay, config=config) as gate:
        clerk = GateToolNode(gate, Context(role="clerk"))
        assert list(clerk.tools_by_name) == ["balance", "bank__pay"]
        gate.remove("balance")
        assert list(clerk.tools_by_name) == ["bank__pay"]
        gate.add(balance)
        served = GateToolNode(gate, lambda config: Context(role=config.get("metadata", {})["role"]))
        assert list(served.tools_by_name) == ["balance"]
        flow = graph(served, PAY)
        told = results(await flow.ainvoke(hello(), THREAD | {"metadata": {"role": "default"}}))
        assert told["c1"][0].startswith("Not run (policy_denied)")
        other: Any = {"configurable": {"thread_id": "t2"}, "metadata": {"role": "clerk"}}
        assert results(await flow.ainvoke(hello(), other))["c1"][1] == "success"
    assert till.paid == ["900 to bob"]


def test_blocking_graphs_use_it_with_a_gate_of_their_kind(tmp_path: Path):
    till = Till(tmp_path)
    with Callgate.open_sync("memory://") as gate:
        gate.add(till.pay, balance)
        message = asking(call("c1", "balance", account="x"), call("c2", "bank__pay", amount=5))
        flow = graph(GateToolNode(gate, by="ann"), message)
        asked = question(flow.invoke(hello(), THREAD))
        told = results(flow.invoke(answer(asked, "approve"), THREAD))
        assert [mark for _, mark in told.values()] == ["success", "success"]
    assert till.paid == ["5 to bob"]


async def test_messages_alone_and_single_calls_are_taken_as_well_and_nothing_is_refused(tmp_path: Path):
    till = Till(tmp_path, risk="low")
    async with memory_gate(till.pay, balance) as gate:
        node = GateToolNode(gate, Context(session="s"))
        [alone] = await node.ainvoke([HumanMessage("?"), asking(call("c1", "balance", account="x"))])
        assert (alone.tool_call_id, alone.status) == ("c1", "success")
        single = await node.ainvoke([call("c2", "bank__pay", amount=5)])
        assert single["messages"][0].content == "paid 5 to bob"
        again = await node.ainvoke([call("c2", "bank__pay", amount=5)])
        assert again["messages"][0].content == "paid 5 to bob"
        sent = {"__type": "tool_call_with_context", "tool_call": call("c3", "balance", account="x"), "state": {}}
        assert (await node.ainvoke(sent))["messages"][0].status == "success"
        nothings: list[Any] = [{"messages": []}, [HumanMessage("?")], {}]
        for nothing in nothings:
            with pytest.raises(MalformedResponse, match="no AI message"):
                await node.ainvoke(nothing)
    assert till.paid == ["5 to bob"]
