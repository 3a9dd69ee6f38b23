"""Anthropic Messages: tool definitions out, `tool_use` blocks in, `tool_result` blocks back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from callgate.model.requested import CUT_SHORT, Requested, attribute, listed, requested

NAME = "anthropic"
_CUT_SHORT = ("max_tokens", "model_context_window_exceeded", "refusal")
_DIRECT = "direct"


def definition(
    *,
    name: str,
    description: str,
    schema: dict[str, Any],
    strict: bool = False,
    defer_loading: bool = False,
    allowed_callers: Sequence[str] = (),
    input_examples: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """A tool as `messages.create(tools=…)` takes it; what is not asked for is not there."""
    body: dict[str, Any] = {"name": name, "description": description, "input_schema": schema}
    if strict:
        body["strict"] = True
    if defer_loading:
        body["defer_loading"] = True
    if allowed_callers:
        body["allowed_callers"] = list(allowed_callers)
    examples = [dict(example) for example in input_examples]
    if examples:
        body["input_examples"] = examples
    return body


def recognises(response: Any) -> bool:
    """Whether it is a message of this API: content in blocks, and no place for tool calls beside it."""
    return listed(response, "content") is not None and listed(response, "tool_calls") is None


def calls(response: Any) -> list[Requested]:
    """The calls a message asks for, in order. Tools that the provider runs itself are none.

    Raises:
        MalformedResponse: A call has no id.
    """
    blocks = listed(response, "content") or []
    cut = attribute(response, "stop_reason") in _CUT_SHORT
    return [
        _call(block, fault=CUT_SHORT if cut and index == len(blocks) - 1 else None)
        for index, block in enumerate(blocks)
        if attribute(block, "type") == "tool_use"
    ]


def _call(block: Any, *, fault: str | None) -> Requested:
    caller = attribute(attribute(block, "caller"), "type")
    return requested(
        attribute(block, "id"),
        name=attribute(block, "name"),
        arguments=attribute(block, "input"),
        fault=fault,
        programmatic=caller is not None and caller != _DIRECT,
    )


def result(call_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    """A block for the content of the next user message."""
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return block | {"is_error": True} if is_error else block
