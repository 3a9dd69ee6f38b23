"""Conversation: how far a loop has come, in JSON values, and what it hands back. Knows no provider, makes no call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast

from callgate.errors import ConfigurationError, Conflict, MalformedResponse
from callgate.model.canonical import NotCanonical, loads
from callgate.model.context import Context
from callgate.model.shapes import as_mapping
from callgate.runtime.gate import Callgate
from callgate.runtime.turn import Turn

Body = dict[str, Any]
_VERSION = 1


class Stop(StrEnum):
    """Why a loop ended."""

    DONE = "done"
    """The model calls no more tools."""
    PENDING = "pending"
    """Calls wait for people."""
    MAX_TURNS = "max_turns"
    """The bound is reached and the model is not done."""
    CUT = "cut"
    """The response ended for want of room. A call it was cut in was not made."""
    REFUSED = "refused"
    """The model or its provider refused. No call of that response was made, and it is not among the messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopResult:
    """What a loop hands back."""

    stopped: Stop
    text: str
    """What the model said last; a refusal too."""
    messages: list[Body]
    """The whole conversation, in the provider's words and in JSON values. While calls are pending it has no results of
    the last turn."""
    turns: list[Turn]
    """What became of the calls of this run, one turn for each response that had some."""
    pending: list[str]
    """The approvals that calls wait for."""
    usage: dict[str, int]
    """The numbers that the provider counts (`input_tokens` and others), summed over the conversation."""
    response: Body | None
    """The last response, in JSON values."""
    state: Body | None
    """Where to go on from, for `resume`, in JSON values; None where there is nothing to go on with."""

    @property
    def finished(self) -> bool:
        """Whether the model came to its own end."""
        return self.stopped is Stop.DONE


@dataclass(slots=True, kw_only=True)
class Conversation:
    """A conversation under way."""

    provider: str
    context: Context
    messages: list[Body]
    cut: bool = False
    """Whether the response at the end was cut short."""
    paused: bool = False
    """Whether the provider only paused, so that the next response goes on with the last one's text."""
    called: bool = False
    """Whether calls were made and answered."""
    turn: Turn | None = None
    """The calls of the response at the end, where they are made and not yet answered."""
    usage: dict[str, int] = field(default_factory=dict[str, int])
    carry: Body = field(default_factory=dict[str, Any])
    """What the provider wants to see again in the next request."""
    turns: list[Turn] = field(default_factory=list[Turn])
    text: str = ""
    response: Body | None = None

    def hear(self, response: Body, text: str) -> None:
        """Take in what the model answered."""
        self.response = response
        self.text = self.text + text if self.paused else text
        for name, number in (as_mapping(response.get("usage")) or {}).items():
            if isinstance(number, int) and not isinstance(number, bool):
                self.usage[str(name)] = self.usage.get(str(name), 0) + number

    def result(self, stopped: Stop, *, resumable: bool) -> LoopResult:
        """What to hand back now."""
        return LoopResult(
            stopped=stopped,
            text=self.text,
            messages=list(self.messages),
            turns=list(self.turns),
            pending=[] if self.turn is None else self.turn.pending,
            usage=dict(self.usage),
            response=self.response,
            state=self.to_json() if resumable else None,
        )

    def to_json(self) -> Body:
        """Where to go on from. It has nothing that gives a right: who resumes brings the context."""
        return {
            "version": _VERSION,
            "provider": self.provider,
            "principal": self.context.principal,
            "session": self.context.session,
            "trace_id": self.context.trace_id,
            "messages": list(self.messages),
            "cut": self.cut,
            "called": self.called,
            "turn": None if self.turn is None else self.turn.to_json(),
            "usage": dict(self.usage),
            "carry": dict(self.carry),
        }


def conversation_from_json(
    state: str | bytes | Mapping[str, Any], *, provider: str, gate: Callgate, context: Context | None
) -> Conversation:
    """The conversation that was kept.

    Raises:
        MalformedResponse: It is none, or another provider's.
        Conflict: It is somebody else's.
    """
    body = _read(state, provider)
    ground = context or gate.context
    if (ground.principal, ground.session) != (body.get("principal"), body.get("session")):
        raise Conflict("this conversation is somebody else's: its principal and session are not those of the context")
    usage = {str(name): number for name, number in _mapping(body, "usage").items() if isinstance(number, int)}
    talk = Conversation(
        provider=provider,
        # The trace is part of the key of a call where nobody set a session.
        context=ground.narrow(trace_id=_text(body, "trace_id")),
        messages=_messages(body),
        cut=body.get("cut") is True,
        called=body.get("called") is True,
        usage=usage,
        carry=dict(_mapping(body, "carry")),
    )
    if body.get("turn") is not None:
        talk.turn = gate.load_turn(_mapping(body, "turn"), ground)
        talk.turns.append(talk.turn)
    return talk


def _read(state: str | bytes | Mapping[str, Any], provider: str) -> Mapping[Any, Any]:
    try:
        body = as_mapping(loads(state) if isinstance(state, str | bytes) else state)
    except NotCanonical as error:
        raise MalformedResponse(f"the state of the loop cannot be read: {error}") from None
    if body is None or body.get("version") != _VERSION or body.get("provider") != provider:
        raise MalformedResponse(f"this is no state of a loop with {provider}, or one of another version")
    return body


def _mapping(body: Mapping[Any, Any], name: str) -> Mapping[Any, Any]:
    found = as_mapping(body.get(name))
    if found is None:
        raise MalformedResponse(f"the state of the loop has no {name}")
    return found


def _text(body: Mapping[Any, Any], name: str) -> str:
    found = body.get(name)
    if not isinstance(found, str) or not found:
        raise MalformedResponse(f"the state of the loop has no {name}")
    return found


def _messages(body: Mapping[Any, Any]) -> list[Body]:
    found = body.get("messages")
    messages = bodies(found)
    if not messages or len(messages) != len(cast("list[Any]", found)):
        raise MalformedResponse("the state of the loop has no messages")
    return messages


def plain(value: Any) -> Any:
    """A value in JSON values: an SDK's objects as the provider sent them, and what holds them."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
    body = as_mapping(value)
    if body is not None:
        return {str(name): plain(part) for name, part in body.items()}
    return [plain(part) for part in cast("list[Any]", value)] if isinstance(value, list | tuple) else value


def opening(messages: str | Sequence[Any]) -> list[Body]:
    """The conversation that was handed in, or the text it begins with, in JSON values of our own.

    Raises:
        ConfigurationError: Something in it is no message.
    """
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    found = [plain(message) for message in messages]
    if not found or not all(isinstance(message, dict) for message in found):
        raise ConfigurationError(
            "messages must be a text, or a list of the provider's messages with at least one in it"
        )
    return found


def bodies(values: Any) -> list[Body]:
    """The messages, items or blocks of a list in JSON values."""
    found = cast("list[Any]", values) if isinstance(values, list) else []
    return [cast("Body", each) for each in found if isinstance(each, dict)]
