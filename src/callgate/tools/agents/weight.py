"""Weight: how many characters a request to a model has, and an answer of it. Pure.

A model is told everything anew at every turn: its instructions, what its tools take, and whatever was said so far. What
is not known here counts too: a budget may only be too careful.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestContext

_NOT_SENT = frozenset({"timestamp", "part_kind", "metadata"})
"""Fields of a part that stay here."""


def of_request(request: ModelRequestContext) -> int:
    """Of everything that is sent with this request."""
    asked = request.model_request_parameters
    tools = (*asked.function_tools, *asked.output_tools)
    described = sum(_length((tool.name, tool.description, tool.parameters_json_schema)) for tool in tools)
    form = 0 if asked.output_object is None else _length((asked.output_object.json_schema,))
    told = [getattr(message, "instructions", None) for message in request.messages]
    # The last that were given are the ones that hold; they are sent once.
    instructions = next((each for each in reversed(told) if each), "")
    return described + form + len(instructions) + sum(of_message(message) for message in request.messages)


def of_message(message: ModelMessage) -> int:
    """Of one message: what was said, and which calls were made with which arguments."""
    return sum(
        _length(getattr(part, field.name) for field in fields(part) if field.name not in _NOT_SENT)
        for part in message.parts
    )


def _length(values: Iterable[Any]) -> int:
    return sum(len(str(value)) for value in values if value is not None)
