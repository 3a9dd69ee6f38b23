"""The servers of these tests refuse what the providers would: a test that passes against them means something."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest

from tests.frameworks.stub_anthropic import AnthropicStub, message, text, use
from tests.frameworks.stub_openai import OpenAIStub, completion, response, said, tool_call
from tests.frameworks.stub_server import Cut, Fault

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}
ASKED = {"role": "user", "content": "Go."}
USED = {"role": "assistant", "content": [use("toolu_1", "add", a=1)]}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "2"}


def plain(name: str = "add", schema: Any = SCHEMA, **more: Any) -> list[dict[str, Any]]:
    return [{"name": name, "description": "Add.", "input_schema": schema, **more}]


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        ({"tools": plain("bank.pay")}, "tool name"),
        ({"tools": plain("x" * 129)}, "tool name"),
        ({"tools": [*plain(), *plain()]}, "unique"),
        ({"tools": plain(schema={"type": "string"})}, "type object"),
        ({"tools": plain(schema=SCHEMA | {"anyOf": []})}, "anyOf may not stand at the top"),
        ({"tools": plain(schema={"type": "object", "properties": {"filter[x]": {}}})}, "bad name"),
        ({"tools": plain(schema={"type": "object", "properties": {"a": {"type": "array"}}})}, "no items"),
        ({"tools": plain(strict=True)}, "additionalProperties"),
        (
            {"tools": plain(schema=SCHEMA | {"additionalProperties": False, "minLength": 3}, strict=True)},
            "does not know minLength",
        ),
        ({"tools": plain(defer_loading=True)}, "must not be deferred"),
        ({"tool_choice": {"type": "any"}}, "needs tools"),
        ({"tools": plain(), "tool_choice": {"type": "tool", "name": "pay"}}, "names no tool"),
        ({"messages": [{"role": "assistant", "content": "Hi."}]}, "first message"),
        ({"messages": [{"role": "user", "content": ""}]}, "empty"),
        ({"messages": [{"role": "system", "content": "x"}]}, "first message"),
        ({"messages": [ASKED, USED]}, "no tool_result directly behind"),
        ({"messages": [ASKED, USED, ASKED, {"role": "user", "content": [RESULT]}]}, "no tool_result directly behind"),
        ({"messages": [{"role": "user", "content": [RESULT]}]}, "no tool_use directly before"),
        ({"messages": [ASKED, USED, {"role": "user", "content": [text("Here."), RESULT]}]}, "before all others"),
        ({"messages": [ASKED, USED, {"role": "user", "content": [RESULT, RESULT]}]}, "answered twice"),
        (
            {
                "messages": [
                    ASKED,
                    USED,
                    {"role": "user", "content": [RESULT | {"content": [{"type": "tool_reference", "tool_name": "x"}]}]},
                ]
            },
            "no deferred tool",
        ),
        ({"messages": [ASKED, {"role": "assistant", "content": [{"type": "thinking", "thinking": "?"}]}]}, "signature"),
    ],
)
async def test_anthropics_server_refuses(request_: dict[str, Any], fault: str):
    async with AnthropicStub([message(text("Well."))]) as stub:
        client: Any = anthropic.AsyncAnthropic(base_url=stub.url, api_key="none", max_retries=0)
        with pytest.raises(anthropic.BadRequestError, match=fault):
            await client.messages.create(**{"model": "stub", "max_tokens": 9, "messages": [ASKED]} | request_)
        good = [ASKED, USED, {"role": "user", "content": [RESULT, text("Go on.")]}]
        answer = await client.messages.create(model="stub", max_tokens=9, messages=good, tools=plain())
    assert answer.content[0].to_dict() == text("Well.")
    assert len(stub.refusals) == len(stub.requests) == 1


REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL = {"type": "function_call", "call_id": "call_1", "name": "add", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "2"}


def function(name: str = "add", schema: Any = SCHEMA, **more: Any) -> list[dict[str, Any]]:
    return [{"type": "function", "name": name, "parameters": schema, **more}]


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        ({"tools": []}, "not be empty"),
        ({"tools": function("bank.pay")}, "tool name"),
        ({"tools": function("x" * 65)}, "tool name"),
        ({"tools": [*function(), *function()]}, "unique"),
        ({"tools": function(strict=True)}, "additionalProperties"),
        ({"tools": function(schema=SCHEMA | {"additionalProperties": False}, strict=True)}, "not required are a"),
        (
            {
                "tools": function(
                    schema=SCHEMA | {"additionalProperties": False, "required": ["a"], "not": {}}, strict=True
                )
            },
            "not may not stand",
        ),
        ({"tools": function(defer_loading=True)}, "need tool_search"),
        ({"tools": [*function(), {"type": "tool_search"}]}, "needs deferred"),
        ({"input": [ASKED, CALL]}, "no output for the function_call call_1"),
        ({"input": [ASKED, OUTPUT]}, "no function_call for the output"),
        ({"input": [ASKED, CALL, CALL, OUTPUT]}, "there twice"),
        ({"input": [ASKED, REASONING, ASKED]}, "reasoning without"),
        ({"input": []}, "list of items"),
    ],
)
async def test_the_server_of_responses_refuses(request_: dict[str, Any], fault: str):
    async with OpenAIStub([response(said("Well."))]) as stub:
        client: Any = openai.AsyncOpenAI(base_url=stub.url, api_key="none", max_retries=0)
        with pytest.raises(openai.BadRequestError, match=fault):
            await client.responses.create(**{"model": "stub", "input": "Go."} | request_)
        answer = await client.responses.create(model="stub", input=[ASKED, CALL, OUTPUT], tools=function())
    assert answer.output_text == "Well."
    assert len(stub.refusals) == len(stub.requests) == 1


CALLED = {"role": "assistant", "tool_calls": [tool_call("call_1", "add", "{}")]}
ANSWERED = {"role": "tool", "tool_call_id": "call_1", "content": "2"}


@pytest.mark.parametrize(
    ("request_", "fault"),
    [
        ({"tools": function()}, "need a function"),
        ({"tools": [{"type": "function", "function": {"name": "a.b", "parameters": SCHEMA}}]}, "tool name"),
        ({"messages": [ASKED, CALLED]}, "without an answer"),
        ({"messages": [ASKED, CALLED, ASKED, ANSWERED]}, "without an answer directly behind"),
        ({"messages": [ASKED, ANSWERED]}, "answers no call"),
        ({"messages": [ASKED, CALLED, ANSWERED, ANSWERED]}, "answers no call"),
        ({"messages": [ASKED, {"role": "assistant", "content": None}]}, "is missing"),
        ({"messages": [ASKED, CALLED | {"tool_calls": []}]}, "not be empty"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "not known"),
    ],
)
async def test_the_server_of_chat_completions_refuses(request_: dict[str, Any], fault: str):
    async with OpenAIStub([completion("Well.")]) as stub:
        client: Any = openai.AsyncOpenAI(base_url=stub.url, api_key="none", max_retries=0)
        with pytest.raises(openai.BadRequestError, match=fault):
            await client.chat.completions.create(**{"model": "stub", "messages": [ASKED]} | request_)
        answer = await client.chat.completions.create(model="stub", messages=[ASKED, CALLED, ANSWERED])
    assert answer.choices[0].message.content == "Well."
    assert len(stub.refusals) == len(stub.requests) == 1


async def test_a_script_may_be_a_function_and_ends_with_an_error():
    async def answer(request: Any) -> Any:
        return message(text(json.dumps(request.body["messages"])))

    async with AnthropicStub([answer, Fault(529), Cut(), Cut(message(text("Half of it.")))]) as stub:
        client: Any = anthropic.AsyncAnthropic(base_url=stub.url, api_key="none", max_retries=0)

        async def ask() -> Any:
            return await client.messages.create(
                model="stub", max_tokens=9, messages=[{"role": "user", "content": "Go."}]
            )

        assert json.loads((await ask()).content[0].text) == [ASKED]
        with pytest.raises(anthropic.APIStatusError, match="overloaded"):
            await ask()
        for _ in range(2):
            with pytest.raises(anthropic.APIConnectionError):
                await ask()
        with pytest.raises(anthropic.BadRequestError):
            await ask()
    assert stub.refusals == ["the script is over"]
