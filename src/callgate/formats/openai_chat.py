"""OpenAI Chat Completions, and who speaks it: nested definitions out, `tool_calls` in, messages of role `tool` back."""

from __future__ import annotations

from typing import Any

from callgate.errors import MalformedResponse
from callgate.model.requested import CUT_SHORT, Requested, attribute, listed, requested

NAME = "openai_chat"
_CUT_SHORT = ("length", "content_filter")


def definition(*, name: str, description: str, schema: dict[str, Any], strict: bool | None = None) -> dict[str, Any]:
    """A tool as `chat.completions.create(tools=…)` takes it; what is not asked for is not there."""
    function: dict[str, Any] = {"name": name, "description": description, "parameters": schema}
    if strict is not None:
        function["strict"] = strict
    return {"type": "function", "function": function}


def recognises(response: Any) -> bool:
    """Whether it is a completion of this API, or the message of one."""
    if listed(response, "choices") is not None:
        return True
    if attribute(response, "role") != "assistant":
        return False
    return isinstance(attribute(response, "content"), str) or bool(listed(response, "tool_calls"))


def calls(response: Any) -> list[Requested]:
    """The calls of a completion's one choice, or of a message, in order.

    Raises:
        MalformedResponse: There are several choices, a call has no id, or it is in the former shape without one.
    """
    message, cut = _message(response)
    if attribute(message, "function_call") is not None:
        raise MalformedResponse(
            "the response has a function_call, which has no id; ask with tools instead of functions"
        )
    found = listed(message, "tool_calls") or []
    last = len(found) - 1
    return [_call(each, fault=CUT_SHORT if cut and index == last else None) for index, each in enumerate(found)]


def _message(response: Any) -> tuple[Any, bool]:
    choices = listed(response, "choices")
    if choices is None:
        return response, False
    if len(choices) > 1:
        raise MalformedResponse(f"the response has {len(choices)} choices; hand in the message of the one to follow")
    if not choices:
        return None, False
    return attribute(choices[0], "message"), attribute(choices[0], "finish_reason") in _CUT_SHORT


def _call(found: Any, *, fault: str | None) -> Requested:
    function = attribute(found, "function")
    if function is None:
        fault = fault or "the call is none of a function; only function calls are made here"
    return requested(
        attribute(found, "id"),
        name=attribute(function, "name"),
        arguments=attribute(function, "arguments"),
        fault=fault,
    )


def result(call_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    """A message for the conversation. The API has no mark for an error, so the text begins with one."""
    return {"role": "tool", "tool_call_id": call_id, "content": f"[ERROR] {text}" if is_error else text}
