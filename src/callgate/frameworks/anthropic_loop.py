"""The loop with Anthropic Messages, over an `AsyncAnthropic` client. The SDK is not imported: its client is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from callgate.errors import ConfigurationError, MalformedResponse
from callgate.formats import anthropic
from callgate.frameworks.conversation import Body, Conversation, Stop, bodies, plain
from callgate.frameworks.tool_loop import MAX_TURNS, OnEvent, ToolLoop, awaited, tell
from callgate.model.canonical import NotCanonical, loads
from callgate.model.outcome import Outcome, Succeeded
from callgate.model.requested import attribute
from callgate.model.shapes import as_mapping, as_sequence
from callgate.runtime.gate import Callgate
from callgate.runtime.offering import Chosen, ModelPool
from callgate.runtime.tool_search import SEARCH
from callgate.runtime.turn import Turn

_ENDINGS = {
    "max_tokens": Stop.CUT,
    "model_context_window_exceeded": Stop.CUT,
    "refusal": Stop.REFUSED,
    "pause_turn": None,
}
_FORCES = ("any", "tool")
_PROVIDERS_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


class AnthropicLoop(ToolLoop):
    """A loop over `client.messages`.

    Args:
        client: An `AsyncAnthropic`, or its `beta`; anything that has their `messages`.
        gate: An open gate.
        max_turns: How often the model is asked at most in one `run` or `resume`.
        wait: Seconds to wait for people where calls are pending; None hands back at once.
        strict: As in `pool.to_anthropic`, and the three below.
        defer_loading: With it the model finds tools by the gate's `search_tools` where `gate.add_search()` added it,
            else by the provider's own search.
        allowed_callers: Who may call.
        input_examples: Tell the examples that tools declare.
        **options: Everything else that `messages.create` takes: `model`, `max_tokens`, `system` and so on. `tools` are
            added to the gate's; those that the provider runs itself do not pass the gate. A `tool_choice` that forces
            a call holds until calls were made.
    """

    _form: ClassVar = anthropic  # pyright: ignore[reportAssignmentType] - a module is what it has
    _unfit: ClassVar = {"messages": "hand them to run()", "stream": "hand on_event to run()"}

    def __init__(
        self,
        client: Any,
        gate: Callgate,
        *,
        max_turns: int = MAX_TURNS,
        wait: float | None = None,
        strict: Chosen = False,
        defer_loading: Chosen = False,
        allowed_callers: Sequence[str] = (),
        input_examples: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(client, gate, max_turns=max_turns, wait=wait, options=options)
        self._strict = strict
        self._defer = defer_loading
        self._callers = tuple(allowed_callers)
        self._examples = input_examples

    async def _request(self, talk: Conversation, on_event: OnEvent | None) -> Body:
        request = self._options | {"messages": talk.messages} | _container(self._options, talk.carry)
        tools = self._tools(self._gate.pool(talk.context))
        if tools:
            request["tools"] = tools
        if talk.called and "tool_choice" in request:
            request["tool_choice"] = _unforced(request["tool_choice"])
        if on_event is not None:
            return await _streamed(self._client.messages.stream(**request), on_event)
        return plain(await awaited(self._client.messages.create(**request), "AsyncAnthropic"))

    def _tools(self, pool: ModelPool) -> list[Body]:
        deferred = self._deferred(pool)
        own = pool.to_anthropic(
            strict=self._strict,
            defer_loading=deferred,
            allowed_callers=self._callers,
            input_examples=self._examples,
        )
        told = [*own, *self._others]
        searched = SEARCH in pool.names or any("tool_search" in str(each.get("type")) for each in self._others)
        return told if not deferred or searched else [*told, dict(_PROVIDERS_SEARCH)]

    def _deferred(self, pool: ModelPool) -> frozenset[str]:
        """The tools that are to be searched for; never the search itself."""
        chosen = self._defer if not isinstance(self._defer, bool) else pool.names if self._defer else ()
        return frozenset(chosen) & frozenset(pool.names) - {SEARCH}

    def _ending(self, response: Body) -> Stop | None:
        return _ENDINGS.get(str(response.get("stop_reason")), Stop.DONE)

    def _text(self, response: Body) -> str:
        blocks = bodies(response.get("content"))
        return "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")

    def _record(self, talk: Conversation, response: Body) -> None:
        content = bodies(response.get("content"))
        if content:
            talk.messages.append({"role": "assistant", "content": content})
        container = attribute(response.get("container"), "id")
        if container is not None:
            talk.carry["container"] = container

    def _unanswered(self, talk: Conversation) -> Body | None:
        last = talk.messages[-1]
        if last.get("role") != "assistant" or not _ids(last):
            return None
        return {
            "role": "assistant",
            "content": last["content"],
            "stop_reason": "max_tokens" if talk.cut else "tool_use",
        }

    def _answer(self, talk: Conversation, turn: Turn) -> None:
        pool = self._gate.pool(talk.context)
        deferred = self._deferred(pool)
        found = {name: wire for name, wire in pool.wire_names.items() if name in deferred}
        content = [
            _shown(result, outcome, deferred=found) for result, outcome in zip(turn.results, turn.outcomes, strict=True)
        ]
        talk.messages.append({"role": "user", "content": content})

    def _call_ids(self, messages: list[Body]) -> list[str]:
        return [each for message in messages if message.get("role") == "assistant" for each in _ids(message)]


def _container(options: Body, carry: Body) -> Body:
    """Where the provider's own code runs: the same place again, with what the caller asked of it."""
    if "container" not in carry:
        return {}
    asked = as_mapping(options.get("container"))
    return dict(carry) if asked is None else {"container": {**asked, "id": carry["container"]}}


def _ids(message: Body) -> list[str]:
    blocks = bodies(message.get("content"))
    return [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]


def _unforced(choice: Any) -> Any:
    """A choice that leaves it to the model whether to call: one that forces would never let it end."""
    body = as_mapping(choice)
    if body is None or body.get("type") not in _FORCES:
        return choice
    return {"type": "auto"} | {name: value for name, value in body.items() if name == "disable_parallel_tool_use"}


def _shown(result: Body, outcome: Outcome, *, deferred: dict[str, str]) -> Body:
    """What the gate's search found, as references that make the provider load the tools; any other result as it is."""
    if outcome.tool != SEARCH or not isinstance(outcome, Succeeded):
        return result
    names = [attribute(each, "name") for each in as_sequence(outcome.value) or ()]
    found = [{"type": "tool_reference", "tool_name": deferred[name]} for name in names if name in deferred]
    return result | {"content": found} if found else result


async def _streamed(manager: Any, on_event: OnEvent) -> Body:
    """The whole message behind a stream.

    Raises:
        MalformedResponse: It ended too early, or the arguments of a call are no JSON. The SDK takes what there is of
            them, which could be less than the model meant.
    """
    if not hasattr(manager, "__aenter__"):
        raise ConfigurationError("the loop needs an async client of the SDK: AsyncAnthropic")
    texts: dict[Any, str] = {}
    async with manager as stream:
        async for event in stream:
            if attribute(attribute(event, "delta"), "type") == "input_json_delta":
                at = attribute(event, "index")
                texts[at] = texts.get(at, "") + str(attribute(event.delta, "partial_json"))
            await tell(on_event, event)
        body: Body = plain(await stream.get_final_message())
    if body.get("stop_reason") is None:
        raise MalformedResponse("the stream ended before the response did; nothing of it was run")
    if _ENDINGS.get(body["stop_reason"]) in (Stop.CUT, Stop.REFUSED):
        texts.pop(len(body["content"]) - 1, None)  # what it was cut in is not run
    _check_json(texts)
    return body


def _check_json(texts: dict[Any, str]) -> None:
    try:
        for text in texts.values():
            loads(text or "{}")
    except NotCanonical as error:
        raise MalformedResponse(f"the arguments of a call cannot be read: {error}; nothing was run") from None
