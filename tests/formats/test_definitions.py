"""Definitions out: each provider's own shape, all from the one schema a tool has."""

import copy
import json
from typing import Any

import pytest

from callgate import build_tool, tool
from callgate.adapters.convert import convert
from callgate.model.tool import Tool
from callgate.runtime.offering import ModelPool
from callgate.testing import memory_gate

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "Where."}, "days": {"type": "integer", "default": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


def weather(**more: Any) -> Tool:
    async def execute(payload: dict[str, Any], context: Any) -> str:
        return "sun"

    fields: dict[str, Any] = {
        "name": "weather.forecast",
        "description": "Tell the weather.",
        "input_schema": copy.deepcopy(SCHEMA),
        "execute": execute,
        "effects": "read_only",
        "category": "web",
    }
    return build_tool(fields | more)


@pytest.mark.requirement("SCH-01")
def test_anthropic_has_exactly_name_description_and_input_schema():
    (told,) = ModelPool([weather()]).to_anthropic()
    assert told == {"name": "weather__forecast", "description": "Tell the weather.", "input_schema": SCHEMA}


@pytest.mark.requirement("SCH-02")
def test_openai_responses_is_flat_and_has_exactly_four_keys():
    (told,) = ModelPool([weather()]).to_openai()
    assert told == {
        "type": "function",
        "name": "weather__forecast",
        "description": "Tell the weather.",
        "parameters": SCHEMA,
    }


@pytest.mark.requirement("SCH-03")
def test_chat_completions_nests_the_function_and_leaks_no_category():
    (told,) = ModelPool([weather(tags=("agent_scope",))]).to_openai_chat()
    function = {"name": "weather__forecast", "description": "Tell the weather.", "parameters": SCHEMA}
    assert told == {"type": "function", "function": function}


@pytest.mark.requirement("SCH-04")
def test_a_changed_schema_changes_every_format():
    changed = copy.deepcopy(SCHEMA)
    changed["properties"]["city"]["description"] = "Which town."
    pool = ModelPool([weather(input_schema=changed)])
    assert pool.to_anthropic()[0]["input_schema"] == changed
    assert pool.to_openai()[0]["parameters"] == changed
    assert pool.to_openai_chat()[0]["function"]["parameters"] == changed
    assert pool.to_mcp()[0]["inputSchema"] == changed


def test_whoever_changes_a_definition_changes_no_tool():
    one = weather()
    pool = ModelPool([one])
    for told in (pool.to_anthropic(), pool.to_openai(), pool.to_openai_chat(), pool.to_mcp()):
        for value in [told[0], *told[0].values()]:
            if isinstance(value, dict):
                value.clear()
    assert one.input_schema == SCHEMA


async def test_the_same_pool_is_told_byte_for_byte_alike_whatever_the_order_of_adding():
    tools = [weather(name=name) for name in ("b.one", "a.two", "c")]
    texts: list[str] = []
    for order in (tools, tools[::-1]):
        async with memory_gate(*order) as gate:
            pool = gate.pool()
            told = [pool.to_anthropic(strict=True), pool.to_openai(), pool.to_openai_chat(strict=True), pool.to_mcp()]
            texts.append(json.dumps(told))
    assert texts[0] == texts[1]


def test_anthropic_options_are_there_where_they_are_asked_for():
    example = {"city": "Oslo"}
    one, other = weather(examples=(example,)), weather(name="other")
    first, second = ModelPool([one, other]).to_anthropic(
        strict=["weather.forecast"], defer_loading=["other"], input_examples=True
    )
    assert (first["strict"], first["input_examples"]) == (True, [example])
    assert "defer_loading" not in first
    assert second["defer_loading"] is True
    assert not {"strict", "input_examples"} & second.keys()


def test_a_tool_that_chains_may_not_use_is_offered_to_direct_callers_only():
    @tool(effects="network_access", risk="low")
    async def pay() -> None: ...

    @tool(effects="network_access", risk="low", allowed_callers=("direct", "chain"))
    async def ping() -> None: ...

    pool = ModelPool([*convert(pay), *convert(ping), weather()])
    both = ["direct", "code_execution_20250825"]
    assert [told["allowed_callers"] for told in pool.to_anthropic(allowed_callers=both)] == [["direct"], both, both]
    code = pool.to_anthropic(allowed_callers=both[1:])
    assert [told["allowed_callers"] for told in code] == [["direct"], both[1:], both[1:]]
    program = pool.to_openai(allowed_callers=["direct", "programmatic"])
    assert [len(told["allowed_callers"]) for told in program] == [1, 2, 2]


def test_openai_strict_is_said_only_where_it_is_asked_for():
    free = weather(name="free", input_schema={"type": "object", "properties": {"any": {"type": "object"}}})
    pool = ModelPool([weather(), free])
    assert [told["strict"] for told in pool.to_openai(strict=True)] == [True, False]
    assert [told["strict"] for told in pool.to_openai(strict=False)] == [False, False]
    assert [told["function"]["strict"] for told in pool.to_openai_chat(strict=["free"])] == [False, False]
    assert all("strict" not in told for told in pool.to_openai())
    assert [told.get("defer_loading") for told in pool.to_openai(defer_loading=["free"])] == [None, True]


def test_a_parameter_that_a_provider_would_refuse_travels_under_another_name():
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"filter[name]": {"type": "string"}},
        "required": ["filter[name]"],
    }
    example = {"filter[name]": "x"}
    (told,) = ModelPool([weather(input_schema=schema, examples=(example,))]).to_anthropic(input_examples=True)
    (wire,) = told["input_schema"]["properties"]
    assert wire.startswith("filter_name__")
    assert told["input_schema"]["required"] == [wire]
    assert told["input_examples"] == [{wire: "x"}]


def test_a_parameter_that_the_schema_refers_to_keeps_its_name_also_in_examples():
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a:b": {"type": "string"}, "c": {"$ref": "#/properties/a:b"}},
    }
    (told,) = ModelPool([weather(input_schema=schema, examples=({"a:b": "x"},))]).to_anthropic(input_examples=True)
    assert list(told["input_schema"]["properties"]) == ["a:b", "c"]
    assert told["input_examples"] == [{"a:b": "x"}]


def test_mcp_tells_what_the_tool_declares_and_what_it_returns():
    @tool(effects="network_access", risk="high", destructive=True, idempotent=True)
    async def wipe(disk: str) -> dict[str, int]:
        """Wipe a disk."""
        return {"blocks": len(disk)}

    (told,) = ModelPool(convert(wipe)).to_mcp()
    assert set(told) == {"name", "description", "inputSchema", "annotations", "outputSchema"}
    assert told["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "idempotentHint": True,
        "openWorldHint": True,
    }
    assert told["outputSchema"]["type"] == "object"
    (read,) = ModelPool([weather()]).to_mcp()
    assert read["annotations"] == {"readOnlyHint": True, "openWorldHint": False}
