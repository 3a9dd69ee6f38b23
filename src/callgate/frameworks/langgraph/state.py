"""The calls in what a graph hands to a node: a state with messages, the messages alone, or single calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from langchain_core.messages import AIMessage

from callgate.errors import MalformedResponse
from callgate.formats import langchain
from callgate.model.requested import Requested, attribute

_SENT = "tool_call_with_context"


class Given(NamedTuple):
    """What a node has to do."""

    calls: list[Requested]
    response: dict[str, Any]
    """The calls as a model's response has them."""
    before: int | None
    """How often earlier messages asked for calls under these ids; None where the message that asks is not known."""
    as_list: bool
    """Whether messages go back alone, as they came."""


def read_input(value: Any, messages_key: str) -> Given:
    """The calls of the last AI message, or those that were sent one by one.

    Raises:
        MalformedResponse: There is no AI message, or a call has no id.
    """
    if attribute(value, "__type") == _SENT:
        call = attribute(value, "tool_call")
        return _given([call], before=_before_sent(call, _asking(attribute(attribute(value, "state"), messages_key))))
    if isinstance(value, list) and value and attribute(value[-1], "type") == "tool_call":
        return _given(cast("list[Any]", value), before=None)
    as_list = isinstance(value, list)
    messages = _asking(value if as_list else attribute(value, messages_key))
    if not messages:
        raise MalformedResponse("the state has no AI message whose calls could be made")
    given = _given(messages[-1].tool_calls, messages[-1].invalid_tool_calls, before=_before(messages))
    return given._replace(as_list=as_list)


def _given(calls: list[Any], invalid: Sequence[Any] = (), *, before: int | None) -> Given:
    response = {"type": "ai", "tool_calls": calls, "invalid_tool_calls": list(invalid)}
    return Given(langchain.calls(response), response, before, as_list=False)


def _before_sent(call: Any, messages: list[AIMessage]) -> int | None:
    """The same for a call that was sent alone, where the message it came from is there."""
    return _before(messages) if messages and attribute(call, "id") in _ids(messages[-1]) else None


def _before(messages: list[AIMessage]) -> int:
    earlier = [each for message in messages[:-1] for each in _ids(message)]
    return max((earlier.count(each) for each in _ids(messages[-1])), default=0)


def _ids(message: AIMessage) -> set[str | None]:
    return {call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)}


def _asking(messages: Any) -> list[AIMessage]:
    found = cast("list[Any]", messages) if isinstance(messages, list | tuple) else []
    return [message for message in found if isinstance(message, AIMessage)]
