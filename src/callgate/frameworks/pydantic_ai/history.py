"""What the messages of a run say of its calls: what a model asked for, and what was answered without the gate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from callgate.errors import MalformedResponse
from callgate.frameworks.answers import Said
from callgate.model.requested import Requested, requested


def asked_for(ctx: RunContext[Any], given: Requested) -> Requested | None:
    """The call with that id as the model made it, whatever a person put in its place."""
    parts = (part for message in reversed(ctx.messages) for part in message.parts)
    calls = (part for part in parts if isinstance(part, ToolCallPart) and part.tool_call_id == given.id)
    found = next(calls, None)
    return None if found is None else _read(found, name=given.name)


def answered_outside(ctx: RunContext[Any]) -> Iterator[tuple[Requested, Said | None]]:
    """The calls whose results may have come from elsewhere since a model last spoke; with the no, where it is one.

    Denials are handed in whenever they come; other results only in a run that was resumed.
    """
    answers, asking = _trailing(ctx)
    if asking is None:
        return
    calls = {part.tool_call_id: part for part in asking.parts if isinstance(part, ToolCallPart)}
    for answer in answers:
        part, denied = calls.get(answer.tool_call_id), answer.outcome == "denied"
        call = None if part is None else _read(part, name=part.tool_name)
        if call is not None and (denied or asking.run_id != ctx.run_id):
            yield call, Said("reject", text=str(answer.content)) if denied else None


def _trailing(ctx: RunContext[Any]) -> tuple[list[ToolReturnPart], ModelResponse | None]:
    """The results since a model last spoke, and what it said then."""
    results: list[ToolReturnPart] = []
    for message in reversed(ctx.messages):
        if isinstance(message, ModelResponse):
            return results, message
        results += [part for part in message.parts if isinstance(part, ToolReturnPart)]
    return results, None


def _read(part: ToolCallPart, *, name: str) -> Requested | None:
    try:
        call = requested(part.tool_call_id, name=name, arguments=part.args)
    except MalformedResponse:
        return None
    return call if call.fault is None else None
