"""What only Anthropic's loop has: pauses, searches, containers, and arguments that come in pieces."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic

from callgate import Context, tool
from callgate.errors import ConfigurationError, LoopInterrupted
from callgate.frameworks.anthropic_loop import AnthropicLoop
from callgate.frameworks.conversation import Stop
from callgate.testing import memory_gate
from tests.frameworks.stub_anthropic import AnthropicStub, cut_use, message, text, thinking, use

MINE = Context(session="chat-1")
SEARCHES = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "Oslo"}}


@tool(effects="read_only")
async def weather(city: str) -> str:
    """Tell the weather of a city."""
    return f"clear in {city}"


@tool(name="bank.pay", effects="system_state", risk="low")
async def pay(amount: int) -> str:
    """Pay money to somebody."""
    return f"paid {amount}"


def client(stub: AnthropicStub) -> AsyncAnthropic:
    return AsyncAnthropic(base_url=stub.url, api_key="none", max_retries=0)


def loop(stub: AnthropicStub, gate: Any, **choices: Any) -> AnthropicLoop:
    return AnthropicLoop(client(stub), gate, model="stub", max_tokens=100, **choices)


@pytest.mark.parametrize("on_event", [None, repr], ids=["whole", "streamed"])
async def test_a_turn_that_the_provider_paused_goes_on(on_event: Any):
    script = [message(text("I look. "), SEARCHES, stop="pause_turn"), message(text("Found."))]
    async with memory_gate(weather) as gate, AnthropicStub(script) as stub:
        result = await loop(stub, gate).run("Oslo?", MINE, on_event=on_event)
    assert (result.stopped, result.text) == (Stop.DONE, "I look. Found.")
    assert [each["role"] for each in stub.bodies[1]["messages"]] == ["user", "assistant"]
    assert stub.bodies[1]["messages"][1]["content"][1] == SEARCHES
    assert stub.refusals == []


async def test_a_provider_that_pauses_for_ever_is_asked_so_often_and_no_more():
    async with memory_gate() as gate, AnthropicStub(lambda _: message(SEARCHES, stop="pause_turn")) as stub:
        result = await loop(stub, gate, max_turns=4).run("Oslo?", MINE)
    assert (result.stopped, len(stub.requests)) == (Stop.MAX_TURNS, 4)


async def test_a_text_that_was_cut_ends_the_loop_with_nothing_to_resume():
    async with memory_gate() as gate, AnthropicStub([message(text("Once upon"), stop="max_tokens")]) as stub:
        result = await loop(stub, gate).run("Tell.", MINE)
    assert (result.stopped, result.text, result.state) == (Stop.CUT, "Once upon", None)


async def test_an_empty_answer_is_no_message():
    async with memory_gate() as gate, AnthropicStub([message()]) as stub:
        result = await loop(stub, gate).run("Say nothing.", MINE)
    assert (result.stopped, result.text, len(result.messages)) == (Stop.DONE, "", 1)


async def test_thinking_goes_back_as_it_came():
    thought = thinking("Clear or not?", "c2lnbmF0dXJl")
    script = [message(thought, use("toolu_1", "weather", city="Oslo")), message(text("Clear."))]
    async with memory_gate(weather) as gate, AnthropicStub(script) as stub:
        await loop(stub, gate, system="Be brief.").run("Oslo?", MINE, on_event=repr)
    assert stub.bodies[1]["messages"][1]["content"][0] == thought
    assert stub.bodies[1]["system"] == "Be brief."


async def test_arguments_that_the_sdk_completes_by_guessing_are_not_run():
    """The stream says that the response is whole, and the JSON of its call is not."""
    ran: list[str] = []

    @tool(effects="system_state", risk="low")
    async def note(words: str) -> str:
        """Note."""
        ran.append(words)
        return "noted"

    guessed = cut_use("toolu_1", "note", '{"words": "pay 1000 to bob", "unless')
    script = [message(guessed), message(guessed, text("And"), stop="max_tokens")]
    async with memory_gate(note) as gate, AnthropicStub(script) as stub:
        for _ in script:
            with pytest.raises(LoopInterrupted) as stopped:
                await loop(stub, gate).run("Note.", MINE, on_event=repr)
            assert "cannot be read" in str(stopped.value.__cause__)
            assert "bob" not in str(stopped.value)
    assert ran == []


async def test_a_container_is_used_again_with_what_was_asked_of_it():
    ran_code = message(
        use("toolu_1", "weather", city="Oslo"), container={"id": "container_1", "expires_at": "2030-01-01T00:00:00Z"}
    )
    async with memory_gate(weather) as gate, AnthropicStub([ran_code, message(text("Clear."))]) as stub:
        await loop(stub, gate).run("Oslo?", MINE)
    assert "container" not in stub.bodies[0]
    assert stub.bodies[1]["container"] == "container_1"
    skills = {"skills": [{"type": "anthropic", "skill_id": "xlsx"}]}
    async with memory_gate(weather) as gate, AnthropicStub([ran_code, message(text("Clear."))]) as stub:
        await loop(stub, gate, container=skills).run("Oslo?", MINE, on_event=repr)
    assert stub.bodies[1]["container"] == {"id": "container_1", **skills}


async def test_deferred_tools_are_found_by_the_search_of_the_gate():
    script = [
        message(use("toolu_1", "search_tools", query="pay money")),
        message(use("toolu_2", "bank__pay", amount=5)),
        message(use("toolu_3", "search_tools", query="knitting")),
        message(text("Paid.")),
    ]
    async with memory_gate(weather, pay) as gate, AnthropicStub(script) as stub:
        gate.add_search()
        result = await loop(stub, gate, defer_loading=True).run("Pay.", MINE)
    told = {tool["name"]: tool.get("defer_loading", False) for tool in stub.bodies[0]["tools"]}
    assert told == {"search_tools": False, "bank__pay": True, "weather": True}
    found, ran, nothing = [body["messages"][-1]["content"][0]["content"] for body in stub.bodies[1:]]
    assert found == [{"type": "tool_reference", "tool_name": "bank__pay"}]
    assert (ran, nothing) == ("paid 5", "[]")
    assert (result.stopped, stub.refusals) == (Stop.DONE, [])


async def test_without_a_search_of_the_gate_the_provider_searches():
    search = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    async with memory_gate(weather, pay) as gate, AnthropicStub(lambda _: message(text("Well."))) as stub:
        await loop(stub, gate, defer_loading=["bank.pay"]).run("Pay.", MINE)
        await loop(stub, gate, defer_loading=True, tools=[search]).run("Pay.", MINE)
        await loop(stub, gate, defer_loading=["gone"]).run("Pay.", MINE)
    first, second, third = [[tool["name"] for tool in body["tools"]] for body in stub.bodies]
    assert first == ["bank__pay", "weather", "tool_search_tool_bm25"]
    assert second == ["bank__pay", "weather", "tool_search_tool_regex"]
    assert third == ["bank__pay", "weather"]
    assert [tool.get("defer_loading", False) for tool in stub.bodies[0]["tools"]] == [True, False, False]
    assert stub.refusals == []


async def test_code_that_the_provider_runs_calls_through_the_gate():
    @tool(effects="read_only", examples=[{"city": "Oslo"}])
    async def sky(city: str) -> str:
        """Tell the sky."""
        return f"blue over {city}"

    code = {"caller": {"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}}
    calls = [use("toolu_1", "sky", city="Oslo") | code, use("toolu_2", "bank__pay", amount=5) | code]
    callers = ["direct", "code_execution_20250825"]
    async with memory_gate(sky, pay) as gate, AnthropicStub([message(*calls), message(text("Blue."))]) as stub:
        await loop(stub, gate, allowed_callers=callers, input_examples=True).run("Oslo?", MINE)
    told = {tool["name"]: tool for tool in stub.bodies[0]["tools"]}
    assert [told[name]["allowed_callers"] for name in ("sky", "bank__pay")] == [callers, ["direct"]]
    assert told["sky"]["input_examples"] == [{"city": "Oslo"}]
    blue, refused = stub.bodies[1]["messages"][-1]["content"]
    assert (blue["content"], refused["is_error"]) == ("blue over Oslo", True)


async def test_a_client_that_blocks_is_not_taken():
    async with memory_gate(weather) as gate, AnthropicStub() as stub:
        blocking = Anthropic(base_url="http://127.0.0.1:9", api_key="none", max_retries=0)
        with pytest.raises(ConfigurationError, match="AsyncAnthropic"):
            await AnthropicLoop(blocking, gate, model="stub", max_tokens=9).run("Hi.", on_event=repr)
    assert stub.requests == []


async def test_the_beta_of_the_client_does_as_well():
    script = [message(use("toolu_1", "weather", city="Oslo")), message(text("Clear."))]
    for on_event in (None, repr):
        async with memory_gate(weather) as gate, AnthropicStub(script) as stub:
            beta = AnthropicLoop(client(stub).beta, gate, model="stub", max_tokens=9, betas=["some-2030-01-01"])
            result = await beta.run("Oslo?", MINE, on_event=on_event)
        assert (result.text, stub.refusals) == ("Clear.", [])
        assert stub.requests[0].headers["anthropic-beta"] == "some-2030-01-01"
