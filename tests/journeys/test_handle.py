"""A model's turn: its response goes in, every call passes the gate, and what comes out can be sent back as it is."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, NoEffect, Pending, build_tool, tool
from callgate.errors import ApprovalNotFound, ConfigurationError, MalformedResponse
from callgate.model.levels import Autonomy, Caller
from callgate.testing import HandClock
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")
MINE = Context(user="ann", session="s1")


@tool(effects="read_only")
async def weather(city: str, days: int = 1) -> dict[str, Any]:
    """Tell the weather."""
    return {"city": city, "days": days}


def till(risk: str = "low") -> tuple[list[int], Any]:
    """A tool that pays, and what it paid."""
    paid: list[int] = []

    @tool(name="bank.pay", effects="system_state", risk=risk)
    async def pay(amount: int, to: str) -> str:
        """Pay somebody."""
        paid.append(amount)
        return f"paid {amount} to {to}"

    return paid, pay


def use(call_id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def message(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": "tool_use"}


def completion(*calls: tuple[str, str, str]) -> dict[str, Any]:
    found = [
        {"id": own, "type": "function", "function": {"name": name, "arguments": text}} for own, name, text in calls
    ]
    return {"choices": [{"finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": found}}]}


@pytest.mark.requirement("SCH-14", "SCH-15")
async def test_results_come_in_order_with_ids_and_error_marks():
    paid, pay = till()
    response = message(
        use("toolu_1", "bank__pay", amount=5, to="bob"),
        use("toolu_2", "weather", city="Oslo"),
        use("toolu_3", "nosuch"),
        use("toolu_4", "weather", city=3),
    )
    async with gate_of(weather, pay) as gate:
        assert [told["name"] for told in gate.pool(MINE).to_anthropic()] == ["bank__pay", "weather"]
        turn = await gate.handle(response, MINE)
    assert turn.provider == "anthropic"
    assert turn.ids == ["toolu_1", "toolu_2", "toolu_3", "toolu_4"]
    assert [outcome.status for outcome in turn.outcomes] == ["succeeded", "succeeded", "refused", "refused"]
    assert [outcome.tool for outcome in turn.outcomes] == ["bank.pay", "weather", "nosuch", "weather"]
    assert [result["tool_use_id"] for result in turn.results] == turn.ids
    assert [result.get("is_error", False) for result in turn.results] == [False, False, True, True]
    assert turn.results[0]["content"] == "paid 5 to bob"
    assert json.loads(turn.results[1]["content"]) == {"city": "Oslo", "days": 1}
    assert turn.results[2]["content"].startswith("Not run (tool_not_found): ")
    assert "invalid_arguments" in turn.results[3]["content"]
    assert (turn.pending, paid) == ([], [5])


@pytest.mark.requirement("SCH-15")
async def test_names_that_are_nearly_alike_reach_each_its_own_tool():
    names = ["a.b", "a_b", "ab", "a.b_c", "a_b.c", "a_b_c", f"{'x' * 30}.{'y' * 32}"]

    def saying(name: str) -> Any:
        @tool(name=name, effects="read_only")
        async def say() -> str:
            """Say who it is."""
            return name

        return say

    async with gate_of(*map(saying, names)) as gate:
        wires = gate.pool(MINE).wire_names
        assert [told["function"]["name"] for told in gate.pool(MINE).to_openai_chat()] == [*wires.values()]
        turn = await gate.handle(message(*(use(name, wires[name]) for name in names)), MINE)
    assert [result["content"] for result in turn.results] == names


@pytest.mark.requirement("SCH-14")
async def test_each_provider_is_answered_in_its_own_words():
    items = [{"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Oslo"}'}]
    calls = [{"name": "weather", "args": {"city": "Oslo"}, "id": "call_1"}]
    text = '{"city":"Oslo","days":1}'
    async with gate_of(weather) as gate:
        responses = await gate.handle({"output": items}, MINE)
        chat = await gate.handle(completion(("call_1", "weather", '{"city":"Oslo"}')), MINE)
        chain = await gate.handle({"type": "ai", "content": "", "tool_calls": calls}, MINE)
        wrong = await gate.handle(completion(("call_1", "weather", "{}")), MINE)
    assert responses.results == [{"type": "function_call_output", "call_id": "call_1", "output": text}]
    assert chat.results == [{"role": "tool", "tool_call_id": "call_1", "content": text}]
    assert chain.results == [{"role": "tool", "tool_call_id": "call_1", "content": text, "status": "success"}]
    assert wrong.results[0]["content"].startswith("[ERROR] Not run (invalid_arguments): ")


async def test_a_response_without_calls_gives_an_empty_turn():
    async with gate_of(weather) as gate:
        turn = await gate.handle(message({"type": "text", "text": "Hi."}))
        assert (turn.results, turn.outcomes, turn.pending) == ([], [], [])
        assert (await turn.wait()).results == []
        assert gate.load_turn(turn.to_json()).results == []


async def test_one_call_that_cannot_be_read_costs_no_other_its_result():
    paid, pay = till()
    response = completion(
        ("call_1", "bank__pay", '{"amount": 1, "amount": 2, "to": "bob"}'),
        ("call_2", "bank__pay", '{"amount": 5, "to": "bob"}'),
        ("call_3", "bank__pay", '{"amount": NaN, "to": "bob"}'),
        ("call_4", "", "{}"),
        ("call_5", "weather", '{"city": "Os'),
    )
    async with gate_of(weather, pay) as gate:
        turn = await gate.handle(response, MINE)
        refusals = [event async for event in gate.events(types=["tool_call.refused"])]
    assert [outcome.status for outcome in turn.outcomes] == ["refused", "succeeded", "refused", "refused", "refused"]
    assert "'amount' is given twice" in turn.results[0]["content"]
    assert "NaN" in turn.results[2]["content"]
    assert "no tool name" in turn.results[3]["content"]
    assert "not JSON" in turn.results[4]["content"]
    assert len(refusals) == 4
    assert paid == [5]


async def test_a_response_that_could_not_be_answered_runs_nothing():
    paid, pay = till()
    block = use("toolu_1", "bank__pay", amount=5, to="bob")
    async with gate_of(pay) as gate:
        with pytest.raises(MalformedResponse, match="without a usable id"):
            await gate.handle(message(block, block | {"id": None}), MINE)
    assert paid == []


async def test_an_id_that_is_given_twice_makes_one_call():
    paid, pay = till()
    response = message(use("toolu_1", "bank__pay", amount=5, to="bob"), use("toolu_1", "bank__pay", amount=6, to="bob"))
    async with gate_of(pay) as gate:
        turn = await gate.handle(response, MINE)
    assert [result.get("is_error", False) for result in turn.results] == [False, True]
    assert "id was given to another call" in turn.results[1]["content"]
    assert paid == [5]


async def test_the_same_response_handled_twice_has_its_effects_once():
    paid, pay = till()
    response = message(use("toolu_1", "bank__pay", amount=5, to="bob"))
    async with gate_of(pay) as gate:
        first = await gate.handle(response, MINE)
        second = await gate.handle(response, Context(user="ann", session="s1"))
        at_once = await asyncio.gather(*(gate.handle(response, MINE) for _ in range(5)))
        assert (await gate.outcome("call:toolu_1", MINE)) is not None
    assert first.results == second.results == at_once[0].results
    assert second.outcomes[0].deduped
    assert paid == [5]


async def test_ids_that_a_provider_uses_again_are_other_calls_in_another_session_trace_or_step():
    paid, pay = till()
    response = message(use("call_0", "bank__pay", amount=5, to="bob"))
    async with gate_of(pay) as gate:
        for context in (
            Context(session="s1"),
            Context(session="s2"),
            Context(session="s1", step_id="2"),
            Context(session="s1", idempotency_key="2"),
            Context(session="s1", principal="other"),
            Context(),
            Context(),
        ):
            await gate.handle(response, context)
        assert len(paid) == 7
        conflict = await gate.handle(message(use("call_0", "bank__pay", amount=6, to="bob")), Context(session="s1"))
    assert conflict.outcomes[0].error is not None
    assert conflict.outcomes[0].error.code == "idempotency_conflict"
    assert len(paid) == 7


async def test_a_read_is_made_again():
    looked: list[str] = []

    @tool(effects="read_only")
    async def look(where: str) -> int:
        """Look."""
        looked.append(where)
        return len(looked)

    response = message(use("toolu_1", "look", where="there"))
    async with gate_of(look) as gate:
        await gate.handle(response, MINE)
        assert (await gate.handle(response, MINE)).results[0]["content"] == "2"


async def test_a_turn_waits_for_people_and_fills_in_what_they_decided():
    paid, pay = till(risk="high")
    response = message(
        use("toolu_1", "bank__pay", amount=1, to="bob"),
        use("toolu_2", "weather", city="Oslo"),
        use("toolu_3", "bank__pay", amount=3, to="bob"),
        use("toolu_4", "bank__pay", amount=4, to="bob"),
        use("toolu_5", "bank__pay", amount=5, to="bob"),
    )
    async with asyncio.timeout(30), gate_of(weather, pay) as gate:
        turn = await gate.handle(response, MINE)
        first, second, third, fourth = turn.pending
        assert "Not run yet: a person has to decide about bank.pay first (" in turn.results[0]["content"]
        assert "is_error" not in turn.results[0]
        assert (await turn.wait(timeout=0)).pending == [first, second, third, fourth]
        waiting = asyncio.ensure_future(turn.wait())
        await gate.approve(third, by="ann", arguments={"amount": 40, "to": "eve"})
        await gate.reject(second, by="ann", why="too much")
        await gate.respond(fourth, by="ann", text="Ask eve first.")
        await gate.approve(first, by="ann")
        assert await waiting is turn
        again = await gate.handle(response, MINE)
    told = [result["content"] for result in turn.results]
    assert told[0] == "paid 1 to bob"
    assert told[2].startswith("Not run (approval_rejected): ann rejected this call: too much.")
    assert told[3] == 'paid 40 to eve\nA person changed the call before it ran; it ran with {"amount":40,"to":"eve"}'
    assert told[4].startswith("Not run (approval_answered): Ask eve first.")
    assert [result.get("is_error", False) for result in turn.results] == [False, False, True, False, True]
    assert sorted(paid) == [1, 40]
    assert turn.pending == again.pending == []


async def test_a_turn_that_is_handled_again_while_people_think_asks_nobody_twice():
    _, pay = till(risk="high")
    response = message(use("toolu_1", "bank__pay", amount=1, to="bob"))
    async with gate_of(pay) as gate:
        first = await gate.handle(response, MINE)
        assert (await gate.handle(response, MINE)).pending == first.pending
        assert len(await gate.approvals()) == 1


async def test_a_turn_is_kept_while_people_think_and_finished_by_another_gate(tmp_path: Path):
    paid, pay = till(risk="high")
    store = f"sqlite:///{tmp_path / 'kept.db'}"
    async with gate_of(weather, pay, store=store) as gate:
        response = message(use("toolu_1", "weather", city="Oslo"), use("toolu_2", "bank__pay", amount=1, to="bob"))
        text = json.dumps((await gate.handle(response, MINE)).to_json())
    async with asyncio.timeout(30), gate_of(weather, pay, store=store) as later:
        turn = later.load_turn(text)
        await later.approve(turn.pending[0], by="ann")
        await turn.wait()
        again = await later.load_turn(text, MINE).wait()
    assert [result["content"] for result in turn.results] == ['{"city":"Oslo","days":1}', "paid 1 to bob"]
    assert again.results == turn.results
    assert paid == [1]


async def test_two_that_wait_for_one_turn_make_its_call_once():
    paid, pay = till(risk="high")
    async with asyncio.timeout(30), gate_of(pay) as gate:
        turn = await gate.handle(message(use("toolu_1", "bank__pay", amount=1, to="bob")), MINE)
        kept = gate.load_turn(turn.to_json())
        await gate.approve(turn.pending[0], by="ann")
        await asyncio.gather(turn.wait(), turn.wait(), kept.wait())
    assert turn.results == kept.results
    assert paid == [1]


async def test_what_expired_or_was_withdrawn_is_told_and_never_run():
    paid, pay = till(risk="high")
    clock = HandClock()
    response = message(use("toolu_1", "bank__pay", amount=1, to="bob"), use("toolu_2", "bank__pay", amount=2, to="bob"))
    async with asyncio.timeout(30), gate_of(pay, clock=clock) as gate:
        turn = await gate.handle(response, MINE)
        await gate.withdraw(turn.pending[0])
        clock.turn(3600)
        await turn.wait()
    assert [outcome.error.code for outcome in turn.outcomes if outcome.error] == ["approval_void", "approval_expired"]
    assert paid == []


async def test_a_no_that_is_collected_late_asks_nobody_again():
    paid, pay = till(risk="high")
    clock = HandClock()
    response = message(use("toolu_1", "bank__pay", amount=1, to="bob"), use("toolu_2", "bank__pay", amount=2, to="bob"))
    async with asyncio.timeout(30), gate_of(pay, clock=clock) as gate:
        turn = await gate.handle(response, MINE)
        await gate.reject(turn.pending[0], by="ann")
        await gate.respond(turn.pending[1], by="ann", text="Wait for spring.")
        clock.turn(7200)
        await turn.wait()
        assert await gate.approvals() == []
    codes = [outcome.error.code for outcome in turn.outcomes if outcome.error]
    assert codes == ["approval_rejected", "approval_answered"]
    assert "Wait for spring." in turn.results[1]["content"]
    assert paid == []


async def test_somebody_elses_turn_and_question_give_nothing_away():
    paid, pay = till(risk="high")
    async with asyncio.timeout(30), gate_of(pay) as gate:
        turn = await gate.handle(message(use("toolu_1", "bank__pay", amount=1, to="bob")), MINE)
        await gate.approve(turn.pending[0], by="ann")
        with pytest.raises(ApprovalNotFound, match="somebody else's"):
            gate.load_turn(turn.to_json(), Context(session="other"))
        forged = gate.load_turn(turn.to_json() | {"session": "other"}, Context(session="other"))
        await forged.wait()
        assert "Not run (approval_void): Unknown approval" in forged.results[0]["content"]
        kept = turn.to_json()
        kept["calls"][0]["outcome"]["approval_id"] = "nosuch"
        lost = await gate.load_turn(kept, MINE).wait()
        assert "Unknown approval: nosuch" in lost.results[0]["content"]
    assert paid == []


async def test_code_that_the_provider_runs_may_call_only_what_chains_may():
    paid, pay = till()
    code = {"caller": {"type": "code_execution_20250825", "tool_id": "srv_1"}}
    response = message(
        use("toolu_1", "bank__pay", amount=1, to="bob") | code,
        use("toolu_2", "weather", city="Oslo") | code,
        use("toolu_3", "bank__pay", amount=3, to="bob"),
    )
    async with gate_of(weather, pay) as gate:
        turn = await gate.handle(response, MINE)
        told = [event.payload async for event in gate.events(types=["tool_call.*"])]
    assert [outcome.status for outcome in turn.outcomes] == ["refused", "succeeded", "succeeded"]
    callers = {(body["tool"], body["caller"]) for body in told if body is not None and "caller" in body}
    assert callers == {("bank.pay", Caller.CHAIN), ("weather", Caller.CHAIN), ("bank.pay", Caller.DIRECT)}
    assert paid == [3]


async def test_what_a_provider_wants_to_see_again_is_in_the_result_also_of_a_turn_that_was_kept():
    caller = {"type": "program", "caller_id": "prog_1"}
    item = {
        "type": "function_call",
        "call_id": "c1",
        "name": "weather",
        "arguments": '{"city":"Oslo"}',
        "caller": caller,
    }
    async with gate_of(weather) as gate:
        turn = await gate.handle({"output": [item]}, MINE)
        assert turn.results[0]["caller"] == caller
        assert gate.load_turn(turn.to_json()).results == turn.results


async def test_parameters_come_back_under_their_own_names_and_a_null_that_stands_for_nothing_is_none():
    seen: list[Any] = []
    schema = {
        "type": "object",
        "properties": {"filter[name]": {"type": "string"}, "limit": {"type": "integer", "default": 7}},
        "required": ["filter[name]"],
        "additionalProperties": False,
    }

    async def execute(payload: dict[str, Any], context: Any) -> str:
        seen.append(payload)
        return "ok"

    find = build_tool({"name": "find", "input_schema": schema, "execute": execute, "effects": "read_only"})
    async with gate_of(find) as gate:
        (told,) = gate.pool(MINE).to_openai(strict=True)
        wire, limit = told["parameters"]["properties"]
        arguments = json.dumps({wire: "x", limit: None})
        both = json.dumps({wire: "x", "filter[name]": "y"})
        turn = await gate.handle(completion(("c1", "find", arguments), ("c2", "find", both)), MINE)
    assert seen == [{"filter[name]": "x", "limit": 7}]
    assert "given twice" in turn.results[1]["content"]


async def test_what_may_not_be_called_is_refused_with_the_reason_though_it_was_never_offered():
    _, pay = till()
    async with gate_of(weather, pay) as gate:
        turn = await gate.handle(message(use("toolu_1", "bank__pay", amount=1, to="bob")), Context(read_only=True))
    assert turn.outcomes[0].tool == "bank.pay"
    assert turn.outcomes[0].error is not None
    assert turn.outcomes[0].error.code == "policy_denied"


async def test_the_model_is_told_what_a_failure_left_and_what_a_preview_shows():
    @tool(effects="system_state", risk="low")
    async def breaks() -> None:
        """Break."""
        raise RuntimeError

    @tool(effects="system_state", risk="low")
    async def undone() -> None:
        """Break before anything."""
        raise NoEffect("no money")

    @tool(effects="system_state", risk="low", timeout=0.01)
    async def hangs() -> None:
        """Hang."""
        await asyncio.Event().wait()

    @tool(effects="read_only")
    async def blind() -> None:
        """See nothing."""

    def letter(arguments: dict[str, Any], context: Any) -> str:
        return "a letter to bob"

    @tool(effects="network_access", preview=letter)
    async def send() -> None:
        """Send."""

    names = ("breaks", "undone", "hangs", "blind")
    async with gate_of(breaks, undone, hangs, blind, send) as gate:
        turn = await gate.handle(message(*(use(name, name) for name in names)), MINE)
        shown = await gate.handle(message(use("a", "send"), use("b", "breaks")), Context(autonomy=Autonomy.A0))
    told = [result["content"] for result in turn.results]
    assert "do not repeat it before that is known" in told[0]
    assert "no money. Nothing was changed." in told[1]
    assert told[2].startswith("Unknown (")
    assert "do not repeat it" in told[2]
    assert told[3] == "Done; it returned nothing."
    assert shown.results[0]["content"].endswith("It would do this:\na letter to bob")
    assert "cannot say what it would do" in shown.results[1]["content"]
    assert all(result["is_error"] for result in [*turn.results[:3], *shown.results])


async def test_every_kind_of_outcome_survives_being_kept():
    _, pay = till(risk="high")

    @tool(effects="system_state", risk="low")
    async def breaks() -> None:
        """Break."""
        raise RuntimeError

    @tool(effects="system_state", risk="low", timeout=0.01)
    async def hangs() -> None:
        """Hang."""
        await asyncio.Event().wait()

    response = message(
        use("1", "bank__pay", amount=1, to="bob"),
        use("2", "weather", city="Oslo"),
        use("3", "breaks"),
        use("4", "hangs"),
        use("5", "nosuch"),
    )
    async with gate_of(weather, pay, breaks, hangs) as gate:
        for context in (MINE, Context(autonomy=Autonomy.A0)):
            turn = await gate.handle(response, context)
            kept = gate.load_turn(json.dumps(turn.to_json()))
            assert kept.to_json() == turn.to_json()
            assert kept.results == turn.results
            assert kept.pending == turn.pending
            assert [type(outcome) for outcome in kept.outcomes] == [type(outcome) for outcome in turn.outcomes]
    assert "Turn(anthropic, calls=5, pending=0)" in repr(kept)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (["version"], 2),
        (["provider"], "nobody"),
        (["provider"], ["anthropic"]),
        (["calls"], None),
        (["calls"], [3]),
        (["principal"], None),
        (["calls", 0, "id"], None),
        (["calls", 0, "outcome"], None),
        (["calls", 0, "outcome", "status"], "odd"),
        (["calls", 0, "outcome", "status"], []),
        (["calls", 0, "outcome", "tool"], 3),
        (["calls", 0, "outcome", "error"], {"code": "x"}),
        (["calls", 0, "outcome", "approval_id"], None),
        (["calls", 0, "outcome", "metadata"], None),
    ],
)
async def test_a_kept_turn_that_was_damaged_is_refused_as_a_whole(place: list[Any], value: Any):
    _, pay = till(risk="high")
    async with gate_of(pay) as gate:
        turn = await gate.handle(message(use("1", "bank__pay", amount=1, to="bob")), MINE)
        kept: Any = turn.to_json()
        part = kept
        for step in place[:-1]:
            part = part[step]
        part[place[-1]] = value
        with pytest.raises(MalformedResponse):
            gate.load_turn(kept)


@pytest.mark.parametrize("text", ["{", '{"version": 1, "version": 1}', "[]", b"\xff"])
async def test_text_that_is_no_kept_turn_is_refused(text: str | bytes):
    async with gate_of(weather) as gate:
        with pytest.raises(MalformedResponse):
            gate.load_turn(text)


async def test_a_closed_gate_handles_nothing():
    gate = gate_of(weather)
    with pytest.raises(ConfigurationError, match="not open"):
        await gate.handle(message())
    with pytest.raises(ConfigurationError, match="not open"):
        gate.load_turn({})


def test_blocking_code_handles_and_waits_through_the_gate():
    paid, pay = till(risk="high")
    with Callgate.open_sync("memory://") as gate:
        gate.add(pay)
        turn = gate.handle(message(use("toolu_1", "bank__pay", amount=1, to="bob")), MINE)
        assert isinstance(turn.outcomes[0], Pending)
        gate.approve(turn.pending[0], by="ann")
        assert gate.wait_for(turn, timeout=30).results[0]["content"] == "paid 1 to bob"
    assert paid == [1]


@pytest.mark.parametrize("unreadable", [0, 1])
async def test_a_message_of_langchain_whose_content_is_in_blocks_is_told_from_anthropics(unreadable: int) -> None:
    from langchain_core.messages import AIMessage  # noqa: PLC0415 - an extra

    broken = {"type": "invalid_tool_call", "id": "c1", "name": "pay", "args": "{", "error": "no JSON"}
    said = AIMessage(content=[{"type": "text", "text": "Done."}], invalid_tool_calls=[broken] * unreadable)
    async with gate_of(weather) as gate:
        turn = await gate.handle(said, MINE)
    assert len(turn.results) == unreadable
