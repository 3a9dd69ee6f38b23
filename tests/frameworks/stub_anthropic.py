"""Anthropic Messages on loopback: what it answers, how it streams, and which requests it refuses."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from tests.frameworks.stub_schemas import check_name, check_plain, check_strict
from tests.frameworks.stub_server import Body, Request, StubServer, dicts, halves, refuse_unless

_KINDS = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}
_STREAMED_JSON = "stub_json"


def text(words: str) -> Body:
    """A block of text."""
    return {"type": "text", "text": words}


def thinking(words: str, signature: str = "c2lnbmVk") -> Body:
    """A block of thinking, which has to come back as it was."""
    return {"type": "thinking", "thinking": words, "signature": signature}


def use(call_id: str, name: str, /, **arguments: Any) -> Body:
    """A call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def cut_use(call_id: str, name: str, json_text: str, /, **arguments: Any) -> Body:
    """A call that was cut short: so much JSON was streamed, and these arguments are what is left of it."""
    return use(call_id, name, **arguments) | {_STREAMED_JSON: json_text}


def message(*blocks: Body, stop: str | None = None, **more: Any) -> Body:
    """What the model answers; it stops for its calls where there are some."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    return {"content": list(blocks), "stop_reason": stop or ("tool_use" if calls else "end_turn"), **more}


class AnthropicStub(StubServer):
    """A server; give `url` to the client."""

    def whole(self, answer: Body, request: Request) -> Body:
        content = [
            {name: part for name, part in block.items() if name != _STREAMED_JSON} for block in answer["content"]
        ]
        started = {
            "id": f"msg_{len(self.requests)}",
            "type": "message",
            "role": "assistant",
            "model": request.body["model"],
            "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 5},
        }
        return started | answer | {"content": content}

    def events(self, answer: Body, request: Request) -> Iterator[tuple[str | None, Body | str]]:
        whole = self.whole(answer, request)
        ending = {name: whole.pop(name) for name in ("stop_reason", "stop_sequence", "container") if name in whole}
        start: Body = whole | {"content": [], "stop_reason": None, "stop_sequence": None}
        yield "message_start", {"type": "message_start", "message": start}
        yield "ping", {"type": "ping"}
        for index, block in enumerate(answer["content"]):
            for event in _block_events(block, index):
                yield event["type"], event
        usage = {"output_tokens": whole["usage"]["output_tokens"]}
        yield "message_delta", {"type": "message_delta", "delta": ending, "usage": usage}
        yield "message_stop", {"type": "message_stop"}

    def error(self, status: int, message: str) -> Body:
        kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
        return {"type": "error", "error": {"type": kind, "message": message}}

    def check(self, request: Request) -> None:
        body = request.body
        refuse_unless(request.path == "/v1/messages", f"{request.path} is not known")
        refuse_unless({"x-api-key", "authorization"} & request.headers.keys(), "no key was given")
        refuse_unless("anthropic-version" in request.headers, "anthropic-version is missing")
        refuse_unless(isinstance(body.get("model"), str), "model is missing")
        limit = body.get("max_tokens")
        refuse_unless(isinstance(limit, int) and limit > 0, "max_tokens is missing")
        tools = dicts(body.get("tools"))
        _check_tools(tools)
        names = {tool.get("name") for tool in tools}
        choice = body.get("tool_choice")
        refuse_unless(choice is None or tools, "tool_choice needs tools")
        refuse_unless(not choice or choice.get("name") in {None, *names}, "tool_choice names no tool")
        _check_messages(body.get("messages"))
        _check_references(dicts(body.get("messages")), {tool["name"] for tool in tools if tool.get("defer_loading")})


def _block_events(block: Body, index: int) -> Iterator[Body]:
    streamed: dict[str, tuple[Body, list[Body]]] = {
        "text": ({"text": ""}, [{"type": "text_delta", "text": part} for part in halves(block.get("text", ""))]),
        "tool_use": (
            {"input": {}},
            [
                {"type": "input_json_delta", "partial_json": part}
                for part in ["", *halves(block.get(_STREAMED_JSON, json.dumps(block.get("input"))))]
            ],
        ),
        "thinking": (
            {"thinking": "", "signature": ""},
            [
                {"type": "thinking_delta", "thinking": block.get("thinking")},
                {"type": "signature_delta", "signature": block.get("signature")},
            ],
        ),
    }
    empty, deltas = streamed.get(block["type"], ({}, []))
    start = {name: part for name, part in block.items() if name != _STREAMED_JSON} | empty
    yield {"type": "content_block_start", "index": index, "content_block": start}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def _check_tools(tools: list[Body]) -> None:
    names = [tool.get("name") for tool in tools]
    refuse_unless(len(set(names)) == len(names), "tool names must be unique")
    for tool in tools:
        check_name(tool.get("name"), longest=128)
        if tool.get("type", "custom") != "custom":
            continue
        check_plain(tool.get("input_schema"), f"tool {tool['name']}")
        if tool.get("strict"):
            check_strict(tool["input_schema"], f"tool {tool['name']}", openai=False)
    loaded = [tool for tool in tools if not tool.get("defer_loading")]
    refuse_unless(loaded or not tools, "at least one tool must not be deferred")


def _check_messages(messages: Any) -> None:
    found = dicts(messages)
    refuse_unless(found and len(found) == len(messages), "messages must be a list with at least one message")
    refuse_unless(found[0].get("role") == "user", "the first message must be the user's")
    for message in found:
        refuse_unless(message.get("role") in {"user", "assistant"}, f"role {message.get('role')!r} is not known")
        refuse_unless(message.get("content"), "a message must not be empty")
        for block in dicts(message.get("content")):
            refuse_unless(block.get("type") != "text" or block.get("text"), "text must not be empty")
            signed = block.get("signature") or block.get("type") != "thinking"
            refuse_unless(signed, "thinking must come back with its signature")
    for before, after in itertools.pairwise([{}, *found, {}]):
        _check_pair(before, after)


def _check_pair(before: Body, after: Body) -> None:
    """Every call is answered in the next message, before anything else in it, and nothing else is answered there."""
    asked = [block["id"] for block in dicts(before.get("content")) if block.get("type") == "tool_use"]
    if before.get("role") == "user":
        asked = []
    blocks = dicts(after.get("content"))
    results = [block for block in blocks if block.get("type") == "tool_result"]
    answered = [block.get("tool_use_id") for block in results]
    missing = [each for each in asked if each not in answered]
    refuse_unless(not missing, f"no tool_result directly behind tool_use {', '.join(missing)}")
    strange = [str(each) for each in answered if each not in asked]
    refuse_unless(not strange, f"no tool_use directly before tool_result {', '.join(strange)}")
    refuse_unless(len(set(answered)) == len(answered), "a tool_use is answered twice")
    refuse_unless(blocks[: len(results)] == results, "tool_result blocks must stand before all others")
    for block in results:
        refuse_unless(isinstance(block.get("content", ""), str | list), "content must be text or blocks")
        refuse_unless(isinstance(block.get("is_error", False), bool), "is_error must be true or false")


def _check_references(messages: list[Body], deferred: set[Any]) -> None:
    blocks = [block for message in messages for block in dicts(message.get("content"))]
    for part in [part for block in blocks for part in dicts(block.get("content"))]:
        known = part.get("type") != "tool_reference" or part.get("tool_name") in deferred
        refuse_unless(known, f"tool_reference to {part.get('tool_name')}, which is no deferred tool")
