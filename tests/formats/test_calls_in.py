"""Calls in: what a provider's response asks for, as an SDK's object or as JSON, and whatever else may come."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.errors import MalformedResponse
from callgate.formats import anthropic, langchain, mcp, openai_chat, openai_responses
from callgate.model.requested import CUT_SHORT, Requested
from callgate.model.shapes import as_mapping, as_sequence
from callgate.runtime.turn import format_of

ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "stop_reason": "tool_use",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Oslo"}},
        {"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}},
    ],
}
RESPONSES: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {
            "type": "function_call",
            "id": "fc_2",
            "call_id": "call_2",
            "name": "now",
            "arguments": "",
            "status": "completed",
        },
    ],
}
MESSAGE: dict[str, Any] = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city":"Oslo"}'}},
        {"id": "call_2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
    ],
}
CHAT: dict[str, Any] = {"object": "chat.completion", "choices": [{"finish_reason": "tool_calls", "message": MESSAGE}]}
LANGCHAIN: dict[str, Any] = {
    "type": "ai",
    "content": [{"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Oslo"}}],
    "tool_calls": [
        {"name": "weather", "args": {"city": "Oslo"}, "id": "call_1", "type": "tool_call"},
        {"name": "now", "args": {}, "id": "call_2", "type": "tool_call"},
    ],
    "invalid_tool_calls": [],
}
EVERY = [
    pytest.param(ANTHROPIC, anthropic, id="anthropic"),
    pytest.param(RESPONSES, openai_responses, id="openai"),
    pytest.param(CHAT, openai_chat, id="chat"),
    pytest.param(MESSAGE, openai_chat, id="message"),
    pytest.param(LANGCHAIN, langchain, id="langchain"),
]


def as_object(value: Any) -> Any:
    """The same with attributes, as SDKs have it; arguments stay the mapping that they are."""
    items = as_sequence(value)
    if items is not None:
        return [as_object(item) for item in items]
    body = as_mapping(value)
    if body is None:
        return value
    return SimpleNamespace(**{key: item if key in {"input", "args"} else as_object(item) for key, item in body.items()})


@pytest.mark.parametrize(("response", "form"), EVERY)
@pytest.mark.parametrize("shape", [dict, as_object])
def test_a_response_is_told_apart_by_its_shape_and_read_in_order(response: Any, form: Any, shape: Any):
    given_in = shape(response)
    found = format_of(given_in)
    assert found is form
    first, second = found.calls(given_in)
    assert (first.name, dict(first.arguments), first.fault) == ("weather", {"city": "Oslo"}, None)
    assert (second.name, dict(second.arguments), second.fault) == ("now", {}, None)
    assert first.id.endswith("_1")
    assert second.id.endswith("_2")


@pytest.mark.parametrize(
    "response",
    [
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hi."}]},
        {"output": [{"type": "message", "content": [{"type": "output_text", "text": "Hi."}]}]},
        {
            "choices": [
                {"finish_reason": "stop", "message": {"role": "assistant", "content": "Hi.", "tool_calls": None}}
            ]
        },
        {"choices": []},
        {"choices": [{"message": None}]},
        {"role": "assistant", "content": "Hi."},
        {"type": "ai", "content": "Hi.", "tool_calls": []},
    ],
)
def test_a_response_without_calls_has_none(response: Any):
    assert format_of(response).calls(response) == []


@pytest.mark.parametrize(
    "response",
    [None, "text", 3, [], {}, {"error": {"message": "overloaded"}}, {"content": "text"}, {"content": [], "output": []}],
)
def test_what_is_no_response_is_a_clear_error(response: Any):
    with pytest.raises(MalformedResponse, match=r"hand in a message of Anthropic"):
        format_of(response)


def one(text: Any, **more: Any) -> Requested:
    function = {"name": "weather", "arguments": text} | more
    (call,) = openai_chat.calls({"role": "assistant", "tool_calls": [{"id": "call_1", "function": function}]})
    return call


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"city": "Os', "not JSON"),
        ('{"a": 1, "a": 2}', "'a' is given twice"),
        ('{"a": {"b": 1, "b": 2}}', "'b' is given twice"),
        ('{"a": NaN}', "NaN has no canonical form"),
        ('{"a": Infinity}', "Infinity has no canonical form"),
        ('{"a": 1e999}', "inf has no canonical form"),
        (r'{"a": "\ud800"}', "surrogate"),
        ("[" * 5000, "not JSON"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "not JSON"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
        ("[1]", "must be a JSON object, not an array"),
        ('"text"', "not text"),
        ("3", "not a number"),
        ("true", "not true or false"),
        ("null", "not null"),
        (["a"], "not an array"),
        ({"a": float("nan")}, "nan has no canonical form"),
        ({1: 2}, "is int, not text"),
        ({"a": object()}, "object is not JSON"),
        (b"{}", "not bytes"),
    ],
)
def test_arguments_that_have_no_one_reading_are_the_fault_of_their_call(text: Any, fault: str):
    call = one(text)
    assert call.fault is not None
    assert fault in call.fault
    assert call.arguments == {}


@pytest.mark.parametrize("text", [None, "", "{}", {}])
def test_no_arguments_are_no_fault(text: Any):
    assert one(text) == Requested("call_1", "weather", {})


@pytest.mark.parametrize("name", [None, "", 3, ["weather"], "\ud800", "x" * 513])
def test_a_call_without_a_name_has_a_fault_of_its_own(name: Any):
    assert one("{}", name=name).fault == "the call has no tool name"


def test_a_call_of_something_else_than_a_function_has_a_fault_of_its_own():
    (call,) = openai_chat.calls({"role": "assistant", "tool_calls": [{"id": "call_1", "type": "custom", "custom": {}}]})
    assert call.fault is not None
    assert "only function calls" in call.fault


@pytest.mark.parametrize("call_id", [None, "", 3, "x" * 513, "\ud800"])
@pytest.mark.parametrize(("response", "form"), EVERY)
def test_a_call_that_could_not_be_answered_is_an_error_of_the_response(response: Any, form: Any, call_id: Any):
    words = json.loads(json.dumps(response))
    blocks: list[Any] = [
        *(words.get("content") or []),
        *words.get("output", []),
        *words.get("tool_calls", []),
        *[call for choice in words.get("choices", []) for call in choice["message"]["tool_calls"]],
    ]
    for block in blocks:
        block["id"] = block["call_id"] = call_id
    with pytest.raises(MalformedResponse, match="without a usable id"):
        form.calls(words)


def test_several_choices_and_calls_without_ids_are_clear_errors():
    choice = {"message": MESSAGE}
    with pytest.raises(MalformedResponse, match="2 choices"):
        openai_chat.calls({"choices": [choice, choice]})
    with pytest.raises(MalformedResponse, match="function_call"):
        openai_chat.calls({"choices": [{"message": {"function_call": {"name": "weather", "arguments": "{}"}}}]})


def test_only_the_call_in_which_a_response_was_cut_short_is_not_made():
    cut = ANTHROPIC | {"stop_reason": "max_tokens"}
    assert [call.fault for call in anthropic.calls(cut)] == [None, CUT_SHORT]
    more = cut | {"content": [*cut["content"], {"type": "text", "text": "And"}]}
    assert [call.fault for call in anthropic.calls(more)] == [None, None]
    chat = {"choices": [{"finish_reason": "length", "message": MESSAGE}]}
    assert [call.fault for call in openai_chat.calls(chat)] == [None, CUT_SHORT]
    items = [RESPONSES["output"][1] | {"status": "incomplete"}, RESPONSES["output"][3]]
    assert [call.fault for call in openai_responses.calls({"output": items})] == [CUT_SHORT, None]


def test_calls_that_langchain_could_not_read_come_last_with_their_fault():
    invalid = [
        {"name": "weather", "args": '{"city"', "id": "call_3", "error": None},
        {"name": "now", "args": "{}", "id": "c"},
    ]
    found = langchain.calls(LANGCHAIN | {"invalid_tool_calls": invalid})
    assert [call.fault is None for call in found] == [True, True, False, False]


def test_a_call_of_code_that_the_provider_runs_is_told_apart():
    block = ANTHROPIC["content"][2]
    code = block | {"caller": {"type": "code_execution_20250825", "tool_id": "srv_1"}}
    direct = block | {"caller": {"type": "direct"}}
    assert [call.programmatic for call in anthropic.calls({"content": [block, code, direct]})] == [False, True, False]
    item = RESPONSES["output"][1]
    program = {"type": "program", "caller_id": "prog_1"}
    items = [item, item | {"caller": program}, item | {"caller": {"type": "direct"}}, item | {"caller": {"type": 3}}]
    found = openai_responses.calls({"output": items})
    assert [call.programmatic for call in found] == [False, True, False, True]
    assert [dict(call.echo) for call in found] == [{}, {"caller": program}, {}, {"caller": {}}]


WORDS = [
    *("type", "content", "output", "choices", "message", "tool_calls", "role", "id", "name", "input", "function"),
    *("arguments", "args", "call_id", "caller", "invalid_tool_calls", "stop_reason", "function_call"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(WORDS),
            inner | st.sampled_from(["tool_use", "function_call", "assistant", "ai"]),
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_whatever_comes_is_read_or_refused_and_nothing_else(response: Any):
    for form in (anthropic, openai_responses, openai_chat, langchain):
        form.recognises(response)
        try:
            found = form.calls(response)
        except MalformedResponse:
            continue
        assert all(isinstance(call.id, str) and call.id and isinstance(call.name, str) for call in found)


def test_an_mcp_request_is_read_with_or_without_its_envelope_and_its_id_names_no_call():
    params = {"name": "weather", "arguments": {"city": "Oslo"}}
    request = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    for given_in in (request, params, as_object({"params": params | {"arguments": None}})):
        call = mcp.call(given_in)
        assert (call.id, call.name) == ("", "weather")
    assert mcp.call({"params": {}}).fault == "the call has no tool name"
    assert mcp.call({"name": "weather", "arguments": [1]}).fault is not None


@pytest.mark.requirement("SCH-14")
def test_a_result_carries_the_id_of_its_call_and_the_mark_of_an_error():
    assert anthropic.result("toolu_1", "sun", is_error=False) == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": "sun",
    }
    assert anthropic.result("toolu_1", "no", is_error=True)["is_error"] is True
    assert openai_responses.result("call_1", "sun", is_error=False) == {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": "sun",
    }
    assert openai_responses.result("call_1", "no", is_error=True)["output"] == "[ERROR] no"
    assert openai_chat.result("call_1", "sun", is_error=False) == {
        "role": "tool",
        "tool_call_id": "call_1",
        "content": "sun",
    }
    assert openai_chat.result("call_1", "no", is_error=True)["content"] == "[ERROR] no"
    assert langchain.result("call_1", "no", is_error=True)["status"] == "error"
    assert langchain.result("call_1", "sun", is_error=False)["status"] == "success"
