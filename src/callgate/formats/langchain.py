"""LangChain messages: `tool_calls` of an AI message in, tool messages back as the mappings its models take.

Definitions are those of Chat Completions, which `bind_tools` takes as they are.
"""

from __future__ import annotations

from typing import Any

from callgate.model.requested import Requested, attribute, listed, requested

NAME = "langchain"
_TYPES = ("ai", "AIMessageChunk")


def recognises(response: Any) -> bool:
    """Whether it is an AI message: calls with `args`, or the type that says so."""
    found = listed(response, "tool_calls")
    return found is not None and attribute(response, "type") in _TYPES


def calls(response: Any) -> list[Requested]:
    """The calls of a message, in order; after them those whose arguments LangChain could not read.

    Raises:
        MalformedResponse: A call has no id.
    """
    good = [_call(call) for call in listed(response, "tool_calls") or []]
    return good + [_invalid(call) for call in listed(response, "invalid_tool_calls") or []]


def _call(call: Any) -> Requested:
    return requested(attribute(call, "id"), name=attribute(call, "name"), arguments=attribute(call, "args"))


def _invalid(call: Any) -> Requested:
    found = _call(call)
    return found._replace(arguments={}, fault=found.fault or "the arguments cannot be read")


def result(call_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    """A message for the conversation, its status said."""
    status = "error" if is_error else "success"
    return {"role": "tool", "tool_call_id": call_id, "content": text, "status": status}
