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
    message_id: str | None
    """Of the message that asks for them; it is the same whenever the node runs again."""
    as_list: bool
    """Whether messages go back alone, as they came."""


def read_input(value: Any, messages_key: str) -> Given:
    """The calls of the last AI message, or those that were sent one by one.

    Raises:
        MalformedResponse: There is no AI message, or a call has no id.
    """
    if attribute(value, "__type") == _SENT:
        return _given([attribute(value, "tool_call")], message_id=_message_id(value, messages_key))
    if isinstance(value, list) and value and attribute(value[-1], "type") == "tool_call":
        return _given(cast("list[Any]", value), message_id=None)
    as_list = isinstance(value, list)
    message = _last_ai(value if as_list else attribute(value, messages_key))
    if message is None:
        raise MalformedResponse("the state has no AI message whose calls could be made")
    given = _given(message.tool_calls, message.invalid_tool_calls, message_id=message.id)
    return given._replace(as_list=as_list)


def _given(calls: list[Any], invalid: Sequence[Any] = (), *, message_id: str | None) -> Given:
    response = {"type": "ai", "tool_calls": calls, "invalid_tool_calls": list(invalid)}
    return Given(langchain.calls(response), response, message_id, as_list=False)


def _message_id(sent: Any, messages_key: str) -> str | None:
    """Of the message that a call which was sent alone came from."""
    message = _last_ai(attribute(attribute(sent, "state"), messages_key))
    wanted = attribute(attribute(sent, "tool_call"), "id")
    asks = message is not None and any(call["id"] == wanted for call in message.tool_calls)
    return message.id if message is not None and asks else None


def _last_ai(messages: Any) -> AIMessage | None:
    found = cast("list[Any]", messages) if isinstance(messages, list | tuple) else []
    return next((message for message in reversed(found) if isinstance(message, AIMessage)), None)
