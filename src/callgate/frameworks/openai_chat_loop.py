"""The loop with OpenAI Chat Completions, and with who speaks it. The SDK is not imported: the client is handed in."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from callgate.errors import MalformedResponse
from callgate.formats import openai_chat
from callgate.frameworks.conversation import Body, Conversation, Stop, bodies, plain
from callgate.frameworks.openai_chunks import Assembly
from callgate.frameworks.openai_loop import unforced
from callgate.frameworks.tool_loop import MAX_TURNS, OnEvent, ToolLoop, awaited, tell
from callgate.model.shapes import as_mapping
from callgate.runtime.gate import Callgate
from callgate.runtime.offering import Chosen
from callgate.runtime.turn import Turn

_ONLY_OUT = frozenset({"annotations", "parsed"})
"""What the API says in a message and does not take back."""


class OpenAIChatLoop(ToolLoop):
    """A loop over `client.chat.completions`.

    Args:
        client: An `AsyncOpenAI`, of OpenAI or of any server that speaks Chat Completions.
        gate: An open gate.
        max_turns: How often the model is asked at most in one `run` or `resume`.
        wait: Seconds to wait for people where calls are pending; None hands back at once.
        strict: As in `pool.to_openai_chat`.
        **options: Everything else that `chat.completions.create` takes: `model` and so on. `tools` are added to the
            gate's. A `tool_choice` that forces a call holds until calls were made.
    """

    _form: ClassVar = openai_chat  # pyright: ignore[reportAssignmentType] - a module is what it has
    _unfit: ClassVar = {
        "messages": "hand them to run()",
        "stream": "hand on_event to run()",
        "n": "a conversation goes on with one choice",
        "functions": "calls of functions have no id; the gate's tools are told by themselves",
    }

    def __init__(
        self,
        client: Any,
        gate: Callgate,
        *,
        max_turns: int = MAX_TURNS,
        wait: float | None = None,
        strict: Chosen | None = None,
        **options: Any,
    ) -> None:
        super().__init__(client, gate, max_turns=max_turns, wait=wait, options=options)
        self._strict = strict

    async def _request(self, talk: Conversation, on_event: OnEvent | None) -> Body:
        request = self._options | {"messages": talk.messages}
        own = self._gate.pool(talk.context).to_openai_chat(strict=self._strict)
        tools = [*own, *self._others]
        if tools:
            request["tools"] = tools
        if talk.called and "tool_choice" in request:
            request["tool_choice"] = unforced(request["tool_choice"])
        if on_event is not None:
            request = {"stream_options": {"include_usage": True}} | request | {"stream": True}
        answer = await awaited(self._client.chat.completions.create(**request), "AsyncOpenAI")
        return plain(answer) if on_event is None else await _streamed(answer, on_event)

    def _ending(self, response: Body) -> Stop | None:
        ending = _choice(response).get("finish_reason")
        if ending == "length":
            return Stop.CUT
        message = _message(response)
        refused = bool(message.get("refusal")) and not message.get("tool_calls")
        return Stop.REFUSED if refused or ending == "content_filter" else Stop.DONE

    def _text(self, response: Body) -> str:
        message = _message(response)
        return str(message.get("content") or message.get("refusal") or "")

    def _record(self, talk: Conversation, response: Body) -> None:
        talk.messages.append(_sent_back(_message(response)))

    def _unanswered(self, talk: Conversation) -> Body | None:
        behind = list(itertools.takewhile(lambda message: message.get("role") == "tool", reversed(talk.messages)))
        last = talk.messages[-1 - len(behind)] if len(behind) < len(talk.messages) else {}
        answered = {message.get("tool_call_id") for message in behind}
        calls = [call for call in bodies(last.get("tool_calls")) if call.get("id") not in answered]
        if not calls:
            return None
        ending = "length" if talk.cut else "tool_calls"
        return {"choices": [{"finish_reason": ending, "message": last | {"tool_calls": calls}}]}

    def _answer(self, talk: Conversation, turn: Turn) -> None:
        talk.messages.extend(turn.results)

    def _call_ids(self, messages: list[Body]) -> list[str]:
        return [str(call.get("id")) for message in messages for call in bodies(message.get("tool_calls"))]


def _choice(response: Body) -> Body:
    choices = bodies(response.get("choices"))
    if len(choices) != 1:
        raise MalformedResponse(f"the response has {len(choices)} choices, not one")
    return choices[0]


def _message(response: Body) -> Body:
    return dict(as_mapping(_choice(response).get("message")) or {})


def _sent_back(message: Body) -> Body:
    """A message as the API takes it again: without what is null, empty or its own alone."""
    body = {name: value for name, value in message.items() if value is not None and name not in _ONLY_OUT}
    if not body.get("tool_calls"):
        body.pop("tool_calls", None)
        body.setdefault("content", "")
    audio = as_mapping(body.get("audio"))
    return body if audio is None else body | {"audio": {"id": audio.get("id")}}


async def _streamed(stream: Any, on_event: OnEvent) -> Body:
    whole = Assembly()
    async with stream:
        async for chunk in stream:
            whole.add(chunk)
            await tell(on_event, chunk)
    return whole.completion()
