"""Turn: the calls of one response of a model, how each ended, and what to send back. Knows not how calls are made."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self

from callgate.errors import MalformedResponse
from callgate.formats import anthropic, langchain, openai_chat, openai_responses
from callgate.model.outcome import Outcome, Pending
from callgate.model.pauses import pauses
from callgate.model.requested import Requested
from callgate.model.shapes import as_mapping
from callgate.runtime.outcome_form import outcome_from_json, outcome_to_json
from callgate.runtime.telling import is_error, told

_VERSION = 1


class Format(Protocol):
    """How one provider writes calls and reads results."""

    NAME: str

    def recognises(self, response: Any, /) -> bool:
        """Whether a response is this provider's."""
        ...

    def calls(self, response: Any, /) -> list[Requested]:
        """The calls it asks for."""
        ...

    def result(self, call_id: str, text: str, /, *, is_error: bool) -> dict[str, Any]:
        """One result to send back."""
        ...


_FORMATS: dict[str, Format] = {form.NAME: form for form in (anthropic, openai_responses, openai_chat, langchain)}  # pyright: ignore[reportAssignmentType] - modules are what they have


def format_of(response: Any) -> Format:
    """The format of a response, told by its shape.

    Raises:
        MalformedResponse: It has no known shape, or that of several.
    """
    found = [form for form in _FORMATS.values() if form.recognises(response)]
    if len(found) != 1:
        what = "has the shape of several providers" if found else "is no provider's that is known here"
        raise MalformedResponse(
            f"the response ({type(response).__name__}) {what}: hand in a message of Anthropic, a response or a chat "
            "completion of OpenAI, or an AI message of LangChain, as an object or as JSON"
        )
    return found[0]


class Answered(NamedTuple):
    """One call of a turn."""

    id: str
    outcome: Outcome
    echo: Mapping[str, Any] = MappingProxyType({})
    """What the provider wants to see again in the result, besides the id."""


class Asker(NamedTuple):
    """For whom the calls were made."""

    principal: str
    session: str


class Desk(Protocol):
    """Where a turn asks what became of its questions."""

    def monotonic(self) -> float:
        """Seconds that never go back."""
        ...

    async def decided(self, question: Pending, asker: Asker, /) -> Outcome | None:
        """What became of the call that waited; None while nobody has decided, or while it still runs."""
        ...


class Turn:
    """What became of one response: made by `gate.handle` and `gate.load_turn`."""

    def __init__(self, form: Format, calls: list[Answered], *, asker: Asker, desk: Desk) -> None:
        self._form = form
        self._calls = calls
        self._desk = desk
        self._lock = asyncio.Lock()
        self.asker = asker
        """Who asked; what people decide is collected for nobody else."""

    @property
    def provider(self) -> str:
        """In whose words the results are."""
        return self._form.NAME

    @property
    def ids(self) -> list[str]:
        """The provider's ids of the calls, in order."""
        return [call.id for call in self._calls]

    @property
    def outcomes(self) -> list[Outcome]:
        """How each call ended, in order."""
        return [call.outcome for call in self._calls]

    @property
    def results(self) -> list[dict[str, Any]]:
        """One result for each call, in order, in the provider's words and with its ids; ready to be sent back."""
        return [
            self._form.result(call.id, told(call.outcome), is_error=is_error(call.outcome)) | dict(call.echo)
            for call in self._calls
        ]

    @property
    def pending(self) -> list[str]:
        """The approvals that calls of this turn wait for, in order."""
        return [question.approval_id for question in self._questions()]

    async def wait(self, timeout: float | None = None) -> Self:
        """Wait for people to decide, make the calls they allowed, and put what became of them into the results.

        Args:
            timeout: Seconds at most; what is undecided then stays pending, and can be waited for again.
        """
        until = float("inf") if timeout is None else self._desk.monotonic() + timeout
        pause = pauses()
        async with self._lock:
            while not await self._collect():
                left = until - self._desk.monotonic()
                if left <= 0:
                    break
                await asyncio.sleep(min(next(pause), left))
        return self

    async def _collect(self) -> bool:
        """Put what was decided by now in the place of the questions; True when none is left."""
        for question in self._questions():
            outcome = await self._desk.decided(question, self.asker)
            if outcome is not None:
                places = enumerate(self._calls)
                at = next(place for place, call in places if call.outcome is question)
                self._calls[at] = self._calls[at]._replace(outcome=outcome)
        return not self._questions()

    def _questions(self) -> list[Pending]:
        return [call.outcome for call in self._calls if isinstance(call.outcome, Pending)]

    def to_json(self) -> dict[str, Any]:
        """The turn in JSON values, to be kept while people decide; `gate.load_turn` reads it in any process."""
        return {
            "version": _VERSION,
            "provider": self.provider,
            "principal": self.asker.principal,
            "session": self.asker.session,
            "calls": [
                {"id": call.id, "outcome": outcome_to_json(call.outcome), "echo": dict(call.echo)}
                for call in self._calls
            ],
        }

    def __repr__(self) -> str:
        return f"Turn({self.provider}, calls={len(self._calls)}, pending={len(self.pending)})"


def turn_from_json(body: Any, *, desk: Desk) -> Turn:
    """The turn that was written.

    Raises:
        MalformedResponse: It is none, or one of another version.
    """
    turn = as_mapping(body)
    if turn is None or turn.get("version") != _VERSION or turn.get("provider") not in tuple(_FORMATS):
        raise MalformedResponse("this is no turn that was kept with to_json(), or one of another version")
    calls, who = turn.get("calls"), (turn.get("principal"), turn.get("session"))
    if not isinstance(calls, list) or not all(isinstance(name, str) for name in who):
        raise MalformedResponse("the turn has no calls, or nobody who asked for them")
    answered = [_answered(call) for call in calls]  # pyright: ignore[reportUnknownVariableType] - checked one by one
    return Turn(_FORMATS[turn["provider"]], answered, asker=Asker(str(who[0]), str(who[1])), desk=desk)


def _answered(call: Any) -> Answered:
    body: Mapping[Any, Any] = as_mapping(call) or {}
    outcome, echo = as_mapping(body.get("outcome")), as_mapping(body.get("echo"))
    if not isinstance(body.get("id"), str) or outcome is None or echo is None:
        raise MalformedResponse("a call of the turn has no id or no outcome")
    return Answered(body["id"], outcome_from_json(outcome), dict(echo))
