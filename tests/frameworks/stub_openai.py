"""OpenAI on loopback, Responses and Chat Completions: what it answers, how it streams, which requests it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.frameworks.stub_schemas import check_name, check_plain, check_strict
from tests.frameworks.stub_server import Body, Request, StubServer, dicts, halves, refuse_unless

_NEEDS_FOLLOWER = {"function_call", "message", "reasoning"}


def said(words: str) -> Body:
    """An item of text."""
    part: Body = {"type": "output_text", "text": words, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def refusal(words: str) -> Body:
    """An item with which the model refuses."""
    part = {"type": "refusal", "refusal": words}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def reasoned() -> Body:
    """An item of reasoning, which has to come back before what followed it."""
    return {"type": "reasoning", "summary": []}


def called(call_id: str, name: str, /, **arguments: Any) -> Body:
    """An item that calls."""
    text = json.dumps(arguments)
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": text, "status": "completed"}


def cut_called(call_id: str, name: str, json_text: str) -> Body:
    """A call that was cut short."""
    return called(call_id, name) | {"arguments": json_text, "status": "incomplete"}


def response(*items: Body, status: str = "completed", reason: str | None = None) -> Body:
    """What the model answers."""
    return {"output": list(items), "status": status, "incomplete_details": reason and {"reason": reason}}


def tool_call(call_id: str, name: str, json_text: str) -> Body:
    """A call of a chat completion."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json_text}}


def completion(words: str | None = None, *calls: Body, stop: str | None = None, **message: Any) -> Body:
    """What the model answers in a chat."""
    body = {"content": words, **message} | ({"tool_calls": list(calls)} if calls else {})
    return {"message": body, "finish_reason": stop or ("tool_calls" if calls else "stop")}


class OpenAIStub(StubServer):
    """A server for both APIs; give `url` to the client."""

    prefix = "/v1"

    def whole(self, answer: Body, request: Request) -> Body:
        if request.path == "/v1/responses":
            return self._response(answer, request)
        message: Body = {"role": "assistant", "refusal": None, "annotations": [], **answer["message"]}
        choice: Body = {"index": 0, "logprobs": None, "message": message, "finish_reason": answer["finish_reason"]}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        return self._chat(request, "chat.completion") | {"choices": [choice], "usage": usage}

    def _chat(self, request: Request, kind: str) -> Body:
        at = len(self.requests)
        return {"id": f"chatcmpl_{at}", "object": kind, "created": 1, "model": request.body["model"]}

    def _response(self, answer: Body, request: Request) -> Body:
        at = len(self.requests)
        details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
        return {
            "id": f"resp_{at}",
            "object": "response",
            "created_at": 1,
            "model": request.body["model"],
            "status": answer["status"],
            "error": answer.get("error"),
            "incomplete_details": answer["incomplete_details"],
            "output": [{"id": f"item_{at}_{index}", **item} for index, item in enumerate(answer["output"])],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": request.body.get("tools", []),
            "usage": {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, **details},
        }

    def events(self, answer: Body, request: Request) -> Iterator[tuple[str | None, Body | str]]:
        if request.path == "/v1/responses":
            for number, event in enumerate(_response_events(self._response(answer, request))):
                yield event["type"], event | {"sequence_number": number}
            return
        ground = self._chat(request, "chat.completion.chunk")
        for delta, ending in _deltas(answer):
            yield None, ground | {"choices": [{"index": 0, "delta": delta, "finish_reason": ending}]}
        if request.body.get("stream_options", {}).get("include_usage"):
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            yield None, ground | {"choices": [], "usage": usage}
        yield None, "[DONE]"

    def error(self, status: int, message: str) -> Body:
        kind = "invalid_request_error" if status < 500 else "server_error"
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def check(self, request: Request) -> None:
        body = request.body
        refuse_unless(request.headers.get("authorization", "").startswith("Bearer "), "no key was given")
        refuse_unless(isinstance(body.get("model"), str), "model is missing")
        refuse_unless(body.get("tools") != [], "tools must not be empty")
        if request.path == "/v1/responses":
            _check_tools(dicts(body.get("tools")))
            _check_input(body.get("input"))
            return
        refuse_unless(request.path == "/v1/chat/completions", f"{request.path} is not known")
        refuse_unless(all("function" in tool for tool in dicts(body.get("tools"))), "tools need a function")
        _check_tools([{"type": tool["type"], **tool["function"]} for tool in dicts(body.get("tools"))])
        _check_messages(body.get("messages"))


def _response_events(whole: Body) -> Iterator[Body]:
    started: Body = whole | {"status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "response": started}
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        empty = item | {"arguments": ""} if "arguments" in item else item
        yield {"type": "response.output_item.added", "output_index": index, "item": empty | {"status": "in_progress"}}
        for part in halves(item.get("arguments", "")):
            yield {"type": "response.function_call_arguments.delta", "delta": part, **place}
        for part in [part for each in dicts(item.get("content")) for part in halves(each.get("text", ""))]:
            words: Body = {"content_index": 0, "logprobs": []}
            yield {"type": "response.output_text.delta", "delta": part, **place, **words}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _deltas(answer: Body) -> Iterator[tuple[Body, str | None]]:
    message = answer["message"]
    yield {"role": "assistant", "content": ""}, None
    for name in ("content", "refusal", "reasoning_content"):
        for part in halves(message.get(name) or ""):
            yield {name: part}, None
    for index, call in enumerate(dicts(message.get("tool_calls"))):
        first = {**call["function"], "arguments": ""}
        yield {"tool_calls": [{"index": index, **call, "function": first}]}, None
        for part in halves(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": part}}]}, None
    yield {}, answer["finish_reason"]


def _check_tools(tools: list[Body]) -> None:
    functions = [tool for tool in tools if tool.get("type") == "function"]
    names = [tool.get("name") for tool in functions]
    refuse_unless(len(set(names)) == len(names), "function names must be unique")
    for tool in functions:
        check_name(tool.get("name"), longest=64)
        check_plain(tool.get("parameters"), f"function {tool['name']}")
        if tool.get("strict"):
            check_strict(tool["parameters"], f"function {tool['name']}", openai=True)
    searched = any(tool.get("type") == "tool_search" for tool in tools)
    deferred = any(tool.get("defer_loading") for tool in tools)
    refuse_unless(searched or not deferred, "deferred tools need tool_search")
    refuse_unless(deferred or not searched, "tool_search needs deferred tools")


def _check_input(given: Any) -> None:
    if isinstance(given, str):
        return
    items = dicts(given)
    refuse_unless(items and len(items) == len(given), "input must be text or a list of items")
    waiting: set[str] = set()
    for item, following in zip(items, [*items[1:], {}], strict=True):
        kind, call_id = item.get("type", "message"), item.get("call_id")
        if kind == "function_call":
            refuse_unless(isinstance(item.get("arguments"), str), "arguments must be text")
            refuse_unless(call_id not in waiting, f"the call_id {call_id} is there twice")
            waiting.add(str(call_id))
        elif kind == "function_call_output":
            refuse_unless(call_id in waiting, f"no function_call for the output with call_id {call_id}")
            refuse_unless(isinstance(item.get("output"), str | list), "output must be text or parts")
            waiting.discard(str(call_id))
        elif kind == "reasoning":
            refuse_unless(following.get("type") in _NEEDS_FOLLOWER, "reasoning without the item that followed it")
    refuse_unless(not waiting, f"no output for the function_call {', '.join(sorted(waiting))}")


def _check_messages(messages: Any) -> None:
    found = dicts(messages)
    refuse_unless(found and len(found) == len(messages), "messages must be a list with at least one message")
    waiting: list[Any] = []
    for message in found:
        role = message.get("role")
        if role == "tool":
            refuse_unless(message.get("tool_call_id") in waiting, "a tool message answers no call directly before it")
            refuse_unless(isinstance(message.get("content"), str | list), "content must be text or parts")
            waiting.remove(message.get("tool_call_id"))
            continue
        refuse_unless(not waiting, f"tool_calls without an answer directly behind them: {waiting}")
        refuse_unless(role in {"system", "developer", "user", "assistant"}, f"role {role!r} is not known")
        calls = message.get("tool_calls")
        refuse_unless(calls != [], "tool_calls must not be empty")
        refuse_unless(calls or message.get("content") is not None, f"content of a message by {role} is missing")
        for call in dicts(calls):
            refuse_unless(isinstance(call["function"].get("arguments"), str), "arguments must be text")
        waiting = [call.get("id") for call in dicts(calls)]
    refuse_unless(not waiting, f"tool_calls without an answer: {waiting}")
