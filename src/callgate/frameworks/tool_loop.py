"""ToolLoop: a model and a gate in turns, until the model is done, people are needed or a bound is reached.

Knows no provider's words: a loop for one says how it is asked, how it answers, and how its conversation is written.
"""

from __future__ import annotations

import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from callgate.errors import ConfigurationError, LoopInterrupted, StoreError
from callgate.frameworks.conversation import (
    Body,
    Conversation,
    LoopResult,
    Stop,
    conversation_from_json,
    opening,
    plain,
)
from callgate.model.context import Context
from callgate.model.notice import told
from callgate.runtime.gate import Callgate
from callgate.runtime.turn import Format, Turn

Keep = Callable[[Body], Any]
"""Takes the state of the loop, to be written down; may be async."""
OnEvent = Callable[[Any], Any]
"""Takes each event of a streamed response, as the SDK has it; may be async."""
MAX_TURNS = 20
_log = logging.getLogger("callgate")


class Hooks(NamedTuple):
    """What the caller hangs on one run."""

    keep: Keep | None
    on_event: OnEvent | None


class ToolLoop(ABC):
    """One provider's loop. Make it once, and run it for as many conversations as you like, also at the same time."""

    _form: ClassVar[Format]
    _unfit: ClassVar[Mapping[str, str]]
    """Options of the provider that a loop cannot take, and why."""

    def __init__(
        self, client: Any, gate: Callgate, *, max_turns: int, wait: float | None, options: Mapping[str, Any]
    ) -> None:
        if max_turns < 1:
            raise ConfigurationError(f"max_turns must be at least 1, not {max_turns}")
        for name in self._unfit.keys() & options.keys():
            raise ConfigurationError(f"a loop cannot take the option {name}: {self._unfit[name]}")
        self._client = client
        self._gate = gate
        self._max_turns = max_turns
        self._wait = wait
        self._options = {name: value for name, value in options.items() if name != "tools"}
        self._others: list[Body] = [plain(each) for each in options.get("tools") or ()]

    async def run(
        self,
        messages: str | Sequence[Any],
        context: Context | None = None,
        *,
        keep: Keep | None = None,
        on_event: OnEvent | None = None,
    ) -> LoopResult:
        """Ask the model, make the calls it asks for, and so on until it calls no more.

        Args:
            messages: The conversation, or the text of its first message. Where it ends with calls that have no results,
                these are made first. It is not changed; the result has the longer one.
            context: Who asks; the gate's own when left out. Set a `session` for each conversation: a call that is made
                again in it, after a crash say, has its effect once.
            keep: Called with the state before the calls of a response are made and once they are answered, to be
                written down; `resume` goes on from it in any process.
            on_event: Called with every event of the model's responses, which are then streamed.

        Raises:
            LoopInterrupted: The provider failed, or what was handed in here; `state` is where to go on from.
        """
        talk = Conversation(provider=self._form.NAME, context=context or self._gate.context, messages=opening(messages))
        return await self._go(talk, Hooks(keep, on_event))

    async def resume(
        self,
        state: str | bytes | Mapping[str, Any],
        context: Context | None = None,
        *,
        keep: Keep | None = None,
        on_event: OnEvent | None = None,
    ) -> LoopResult:
        """Go on from a state: one of a result, of `keep` or of `LoopInterrupted`, in this process or another.

        Args:
            state: As it was handed out, in values or as text.
            context: Who asks, with the same principal and session as before.
            keep: As in `run`.
            on_event: As in `run`.

        Raises:
            LoopInterrupted: As in `run`.
            MalformedResponse: It is no state, or another provider's.
            Conflict: It is somebody else's.
        """
        talk = conversation_from_json(state, provider=self._form.NAME, gate=self._gate, context=context)
        return await self._go(talk, Hooks(keep, on_event))

    async def _go(self, talk: Conversation, hooks: Hooks) -> LoopResult:
        for _ in range(self._max_turns):
            stop = await self._answer_calls(talk, hooks)
            if stop is not None:
                return talk.result(stop, resumable=True)
            await self._hand_notices(talk, hooks)
            stop = await self._ask(talk, hooks)
            if stop is not None:
                return talk.result(stop, resumable=False)
        stop = await self._answer_calls(talk, hooks)
        return talk.result(stop or Stop.MAX_TURNS, resumable=True)

    async def _hand_notices(self, talk: Conversation, hooks: Hooks) -> None:
        """What the agent left for itself, where its turn begins; not where it goes on with a response of its own."""
        if talk.paused or talk.messages[-1].get("role") == "assistant":
            return
        try:
            notices = await self._gate.notices(talk.context)
        except StoreError as error:
            # They wait on, and the conversation goes on without them: it would be lost with what was done in it.
            _log.warning("notices could not be handed over, and wait for the next turn: %s", error)
            return
        if notices:
            talk.messages.append({"role": "user", "content": told(notices)})
            # They are handed out once: from here on only the conversation has them.
            await _keep(talk, hooks)

    async def _ask(self, talk: Conversation, hooks: Hooks) -> Stop | None:
        """Get one response; None where there is more to do."""
        try:
            body = await self._request(talk, hooks.on_event)
            ending = self._ending(body)
            calls = self._form.calls(body)
        except ConfigurationError:
            raise
        except Exception as error:
            raise _interrupted("asking the model", error, talk=talk) from error
        talk.hear(body, self._text(body))
        if ending is Stop.REFUSED:
            return ending
        self._record(talk, body)
        talk.cut, talk.paused = ending is Stop.CUT, ending is None
        return None if calls else ending

    async def _answer_calls(self, talk: Conversation, hooks: Hooks) -> Stop | None:
        """Make and answer the calls at the end of the conversation; None where the model can be asked again."""
        if talk.turn is None:
            response = self._unanswered(talk)
            if response is None:
                return None
            await _keep(talk, hooks)
            talk.turn = await self._gate.handle(response, self._place(talk, response))
            talk.turns.append(talk.turn)
        if talk.turn.pending:
            await talk.turn.wait(self._wait or 0)
        if talk.turn.pending:
            return Stop.PENDING
        self._answer(talk, talk.turn)
        cut, talk.turn, talk.cut, talk.paused, talk.called = talk.cut, None, False, False, True
        await _keep(talk, hooks)
        return Stop.CUT if cut else None

    def _place(self, talk: Conversation, response: Body) -> Context:
        """Who asks; where a server gives ids out again, with a step that tells this turn from the former ones."""
        here = [call.id for call in self._form.calls(response)]
        everywhere = self._call_ids(talk.messages)
        before = max(everywhere.count(each) - here.count(each) for each in here)
        if before <= 0:
            return talk.context
        step = f"again-{before}"
        return talk.context.narrow(step_id=step if talk.context.step_id is None else f"{talk.context.step_id}/{step}")

    @abstractmethod
    async def _request(self, talk: Conversation, on_event: OnEvent | None) -> Body:
        """The provider's next response, whole and in JSON values, or whatever it raises."""

    @abstractmethod
    def _ending(self, response: Body) -> Stop | None:
        """How a response ended; None where the provider only paused."""

    @abstractmethod
    def _text(self, response: Body) -> str:
        """What it says."""

    @abstractmethod
    def _record(self, talk: Conversation, response: Body) -> None:
        """Put it at the end of the conversation."""

    @abstractmethod
    def _unanswered(self, talk: Conversation) -> Body | None:
        """The response at the end whose calls have no results, as `gate.handle` takes it; None where there is none."""

    @abstractmethod
    def _answer(self, talk: Conversation, turn: Turn) -> None:
        """Put the results of its calls behind it."""

    @abstractmethod
    def _call_ids(self, messages: list[Body]) -> list[str]:
        """The ids of all calls of the conversation."""


async def awaited(found: Any, client: str) -> Any:
    """What an async client answers.

    Raises:
        ConfigurationError: The client is none.
    """
    if not inspect.isawaitable(found):
        raise ConfigurationError(f"the loop needs an async client of the SDK: {client}")
    return await found


async def tell(hook: Callable[[Any], Any], value: Any) -> None:
    """Call what may be async or not."""
    found = hook(value)
    if inspect.isawaitable(found):
        await found


async def _keep(talk: Conversation, hooks: Hooks) -> None:
    if hooks.keep is None:
        return
    try:
        await tell(hooks.keep, talk.to_json())
    except Exception as error:
        raise _interrupted("keeping the state", error, talk=talk) from error


def _interrupted(what: str, error: Exception, *, talk: Conversation) -> LoopInterrupted:
    # What went wrong is the cause's to say: its text may hold parts of the conversation.
    return LoopInterrupted(
        f"the loop was interrupted in {what} ({type(error).__name__}); go on with resume(error.state)",
        state=talk.to_json(),
    )
