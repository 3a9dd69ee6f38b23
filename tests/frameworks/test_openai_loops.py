"""What only OpenAI's loops have: items of many kinds, and servers that speak Chat Completions in their own way."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Self

import pytest
from openai import AsyncOpenAI, OpenAI

from callgate import Context, tool
from callgate.errors import ConfigurationError, LoopInterrupted
from callgate.frameworks.conversation import Stop
from callgate.frameworks.openai_chat_loop import OpenAIChatLoop
from callgate.frameworks.openai_loop import OpenAILoop, unforced
from callgate.model.layer import Layer
from callgate.runtime.call_key import call_key
from callgate.testing import memory_gate
from tests.frameworks.stub_openai import (
    OpenAIStub,
    called,
    completion,
    reasoned,
    refusal,
    response,
    said,
    tool_call,
)
from tests.frameworks.stub_server import Body

MINE = Context(session="chat-1")
both = pytest.mark.parametrize("on_event", [None, repr], ids=["whole", "streamed"])


@tool(effects="read_only")
async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"clear in {city}"


def till() -> tuple[list[int], Any]:
    paid: list[int] = []

    @tool(effects="system_state", risk="low")
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return f"paid {amount}"

    return paid, pay


def client(stub: OpenAIStub) -> AsyncOpenAI:
    return AsyncOpenAI(base_url=stub.url, api_key="none", max_retries=0)


def loop(stub: OpenAIStub, gate: Any, **choices: Any) -> OpenAILoop:
    return OpenAILoop(client(stub), gate, model="stub", **choices)


def chat(stub: OpenAIStub, gate: Any, **choices: Any) -> OpenAIChatLoop:
    return OpenAIChatLoop(client(stub), gate, model="stub", **choices)


@both
async def test_everything_that_a_response_has_goes_back_in_its_order(on_event: Any):
    items = [reasoned(), called("call_1", "weather", city="Oslo"), reasoned(), called("call_2", "weather", city="Rome")]
    async with memory_gate(weather) as gate, OpenAIStub([response(*items), response(said("Clear."))]) as stub:
        result = await loop(stub, gate, instructions="Be brief.").run("Both?", MINE, on_event=on_event)
    kinds = [item.get("type", "message") for item in stub.bodies[1]["input"]]
    calls = ["reasoning", "function_call"]
    assert kinds == ["message", *calls, *calls, "function_call_output", "function_call_output"]
    assert (result.text, stub.refusals, stub.bodies[1]["instructions"]) == ("Clear.", [], "Be brief.")


@both
async def test_a_model_that_refuses_in_its_own_words(on_event: Any):
    async with memory_gate(weather) as gate, OpenAIStub([response(refusal("No."))]) as stub:
        result = await loop(stub, gate).run("Oslo?", MINE, on_event=on_event)
    assert (result.stopped, result.text, len(result.messages)) == (Stop.REFUSED, "No.", 1)
    async with memory_gate(weather) as gate, OpenAIStub([completion(None, refusal="No.")]) as stub:
        result = await chat(stub, gate).run("Oslo?", MINE, on_event=on_event)
    assert (result.stopped, result.text, len(result.messages)) == (Stop.REFUSED, "No.", 1)


@both
async def test_a_response_that_failed_interrupts_and_runs_nothing(on_event: Any):
    paid, pay = till()
    failed = response(called("call_1", "pay", amount=5), status="failed") | {
        "error": {"code": "server_error", "message": "x"}
    }
    async with memory_gate(pay) as gate, OpenAIStub([failed]) as stub:
        with pytest.raises(LoopInterrupted) as stopped:
            await loop(stub, gate).run("Pay.", MINE, on_event=on_event)
    assert "is failed" in str(stopped.value.__cause__)
    assert paid == []


async def test_items_that_only_the_program_could_answer_interrupt():
    paid, pay = till()
    custom = {"type": "custom_tool_call", "call_id": "call_2", "name": "shell", "input": "rm"}
    async with memory_gate(pay) as gate, OpenAIStub([response(called("call_1", "pay", amount=5), custom)]) as stub:
        with pytest.raises(LoopInterrupted) as stopped:
            await loop(stub, gate).run("Pay.", MINE)
    assert "asks for custom_tool_call" in str(stopped.value.__cause__)
    assert paid == []


async def test_deferred_tools_are_left_to_the_search_of_the_provider():
    paid, pay = till()
    found: Body = {"type": "tool_search_call", "execution": "server", "arguments": {}, "status": "completed"}
    script = [response(found, called("call_1", "pay", amount=5)), response(said("Paid."))]
    async with memory_gate(weather, pay) as gate, OpenAIStub(script) as stub:
        gate.add_search()
        result = await loop(stub, gate, defer_loading=True).run("Pay.", MINE)
    told = [(tool["type"], tool.get("name"), tool.get("defer_loading")) for tool in stub.bodies[0]["tools"]]
    assert told == [("function", "pay", True), ("function", "weather", True), ("tool_search", None, None)]
    assert stub.bodies[1]["input"][1]["type"] == "tool_search_call"
    assert (result.text, stub.refusals, paid) == ("Paid.", [], [5])
    async with memory_gate(weather, pay) as gate, OpenAIStub([response(said("Well."))]) as stub:
        await loop(stub, gate, defer_loading=["pay"], tools=[{"type": "tool_search"}]).run("Pay.", MINE)
    assert [tool["type"] for tool in stub.bodies[0]["tools"]] == ["function", "function", "tool_search"]


async def test_options_that_would_break_a_loop_are_refused_by_reason():
    async with memory_gate(weather) as gate, OpenAIStub() as stub:
        for name in ("conversation", "background", "input", "stream"):
            with pytest.raises(ConfigurationError, match=name):
                loop(stub, gate, **{name: "x"})
        for name in ("n", "functions", "messages", "stream"):
            with pytest.raises(ConfigurationError, match=name):
                chat(stub, gate, **{name: 2})


async def test_tools_of_the_caller_are_told_behind_those_of_the_gate():
    search = {"type": "web_search"}
    async with memory_gate(weather) as gate, OpenAIStub(lambda _: response(said("Well."))) as stub:
        with_one = loop(stub, gate, tools=(each for each in [search]))
        for _ in range(2):
            await with_one.run("Oslo?", MINE)
        await loop(stub, gate, tools=[]).run("Oslo?", MINE.narrow(layers=[Layer(name="none", allow=())]))
    assert [[tool["type"] for tool in body.get("tools", [])] for body in stub.bodies] == [
        ["function", "web_search"],
        ["function", "web_search"],
        [],
    ]
    assert stub.refusals == []


async def test_a_client_that_blocks_is_not_taken():
    async with memory_gate(weather) as gate, OpenAIStub([completion("Well.")]) as stub:
        blocking = OpenAI(base_url=stub.url, api_key="none", max_retries=0)

        def run() -> None:
            asyncio.run(OpenAIChatLoop(blocking, gate, model="stub").run("Hi.", MINE))

        with pytest.raises(ConfigurationError, match="AsyncOpenAI"):
            await asyncio.to_thread(run)  # in a thread, for it keeps the server from answering where it is


@pytest.mark.parametrize(
    ("choice", "free"),
    [
        ("required", "auto"),
        ("none", "none"),
        ("auto", "auto"),
        ({"type": "function", "name": "pay"}, "auto"),
        (
            {"type": "allowed_tools", "mode": "required", "tools": []},
            {"type": "allowed_tools", "mode": "auto", "tools": []},
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": []}},
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
        ),
    ],
)
def test_every_choice_that_forces_has_one_that_does_not(choice: Any, free: Any):
    assert unforced(choice) == free


@both
async def test_a_server_that_counts_its_ids_anew_has_every_call_made_once(on_event: Any):
    paid, pay = till()
    again = completion(None, tool_call("call_0", "pay", '{"amount": 5}'))
    script = [again, again, completion("Paid twice."), completion("So it is.")]
    kept: list[Body] = []
    async with memory_gate(pay) as gate, OpenAIStub(script) as stub:
        result = await chat(stub, gate).run("Pay twice.", MINE, keep=kept.append, on_event=on_event)
        assert (result.text, paid) == ("Paid twice.", [5, 5])
        before_the_second = kept[2]
        assert (await chat(stub, gate).resume(before_the_second, MINE)).text == "So it is."
    assert (paid, stub.refusals) == ([5, 5], [])


async def test_a_step_of_the_caller_is_part_of_the_place_of_a_repeated_id():
    paid, pay = till()
    again = response(called("call_0", "pay", amount=5))
    async with memory_gate(pay) as gate, OpenAIStub([again, again, response(said("Paid."))]) as stub:
        result = await loop(stub, gate).run("Pay twice.", MINE.narrow(step_id="april"))
    keys = [outcome.key for turn in result.turns for outcome in turn.outcomes]
    assert keys == [call_key("call_0", MINE.narrow(step_id=step)) for step in ("april", "april/again-1")]
    assert paid == [5, 5]


@both
async def test_what_other_servers_add_to_a_message_goes_back_and_what_is_empty_does_not(on_event: Any):
    first = completion(None, tool_call("call_1", "weather", '{"city": "Oslo"}'), reasoning_content="Let me see.")
    async with memory_gate(weather) as gate, OpenAIStub([first, completion("Clear.")]) as stub:
        result = await chat(stub, gate).run(
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Oslo?"}], MINE, on_event=on_event
        )
    sent = stub.bodies[1]["messages"][2]
    assert sent["reasoning_content"] == "Let me see."
    assert not {"refusal", "annotations", "function_call"} & sent.keys()
    assert (result.messages[-1], stub.refusals) == ({"role": "assistant", "content": "Clear."}, [])


async def test_calls_of_which_some_are_answered_are_made_where_they_are_not():
    paid, pay = till()
    calls = [tool_call("call_1", "pay", '{"amount": 1}'), tool_call("call_2", "pay", '{"amount": 2}')]
    messages = [
        {"role": "user", "content": "Pay."},
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "call_1", "content": "paid 1"},
    ]
    async with memory_gate(pay) as gate, OpenAIStub([completion("Paid.")]) as stub:
        assert (await chat(stub, gate).run(messages, MINE)).text == "Paid."
    assert (paid, stub.refusals) == ([2], [])
    assert [message["role"] for message in stub.bodies[0]["messages"]] == ["user", "assistant", "tool", "tool"]


@both
async def test_arguments_that_are_no_json_are_that_calls_error(on_event: Any):
    paid, pay = till()
    first = completion(None, tool_call("call_1", "pay", '{"amount": 5, "amount": 6}'), tool_call("call_2", "pay", "{"))
    async with memory_gate(pay) as gate, OpenAIStub([first, completion("Well.")]) as stub:
        await chat(stub, gate).run("Pay.", MINE, on_event=on_event)
    told = [message["content"] for message in stub.bodies[1]["messages"][2:]]
    assert [text.startswith("[ERROR] Not run (invalid_arguments)") for text in told] == [True, True]
    assert paid == []


async def test_a_stream_of_several_choices_and_one_of_whole_calls():
    paid, pay = till()

    async def asked(*chunks: Body) -> Any:
        class Client:
            """A server that streams in its own way, as its client has it."""

            class chat:  # noqa: N801 - as the SDK calls it
                class completions:  # noqa: N801 - as the SDK calls it
                    @staticmethod
                    async def create(**request: Any) -> Any:
                        return _Stream(
                            chunks if len(request["messages"]) == 1 else [_chunk(0, content="Paid.", end="stop")]
                        )

        async with memory_gate(pay) as gate:
            return await OpenAIChatLoop(Client, gate, model="stub").run("Pay.", MINE, on_event=repr)

    whole = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": '{"amount": 5}'}}
    result = await asked(_chunk(0, tool_calls=[whole, whole | {"id": "call_2"}], end="tool_calls"))
    assert (result.text, paid) == ("Paid.", [5, 5])
    with pytest.raises(LoopInterrupted):
        await asked(_chunk(0, tool_calls=[whole], end="tool_calls"), _chunk(1, content="Or this.", end="stop"))
    assert paid == [5, 5]


class _Stream:
    def __init__(self, chunks: Any) -> None:
        self._chunks = list(chunks)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    def __aiter__(self) -> _Stream:
        return self

    async def __anext__(self) -> Body:
        if not self._chunks:
            raise StopAsyncIteration
        return json.loads(json.dumps(self._chunks.pop(0)))


def _chunk(index: int, *, end: str, **delta: Any) -> Body:
    return {"choices": [{"index": index, "delta": delta, "finish_reason": end}]}
