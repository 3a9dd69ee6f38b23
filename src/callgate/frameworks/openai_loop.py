"""The loop with OpenAI Responses, over an `AsyncOpenAI` client. The SDK is not imported: the client is handed in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from callgate.errors import MalformedResponse
from callgate.formats import openai_responses
from callgate.frameworks.conversation import Body, Conversation, Stop, bodies, plain
from callgate.frameworks.tool_loop import MAX_TURNS, OnEvent, ToolLoop, awaited, tell
from callgate.model.requested import attribute
from callgate.model.shapes import as_mapping
from callgate.runtime.gate import Callgate
from callgate.runtime.offering import Chosen, ModelPool
from callgate.runtime.tool_search import SEARCH
from callgate.runtime.turn import Turn

_FINISHED = ("response.completed", "response.incomplete", "response.failed")
_OTHER_CALLS = frozenset(
    {"custom_tool_call", "computer_call", "local_shell_call", "apply_patch_call", "mcp_approval_request"}
)
"""What only the program that asked for such tools could answer."""


class OpenAILoop(ToolLoop):
    """A loop over `client.responses`.

    Args:
        client: An `AsyncOpenAI`; anything that has its `responses`.
        gate: An open gate.
        max_turns: How often the model is asked at most in one `run` or `resume`.
        wait: Seconds to wait for people where calls are pending; None hands back at once.
        strict: As in `pool.to_openai`, and the two below.
        defer_loading: With it the provider's own search is told, and the gate's `search_tools` is not.
        allowed_callers: Who may call.
        **options: Everything else that `responses.create` takes: `model`, `instructions` and so on. `tools` are added
            to the gate's; those that the provider runs itself do not pass the gate. A `tool_choice` that forces a call
            holds until calls were made.
    """

    _form: ClassVar = openai_responses  # pyright: ignore[reportAssignmentType] - a module is what it has
    _unfit: ClassVar = {
        "input": "hand it to run()",
        "stream": "hand on_event to run()",
        "background": "the loop waits for each response",
        "conversation": "the loop sends the whole conversation each time, and the provider would keep it twice",
    }

    def __init__(
        self,
        client: Any,
        gate: Callgate,
        *,
        max_turns: int = MAX_TURNS,
        wait: float | None = None,
        strict: Chosen | None = None,
        defer_loading: Chosen = False,
        allowed_callers: Sequence[str] = (),
        **options: Any,
    ) -> None:
        super().__init__(client, gate, max_turns=max_turns, wait=wait, options=options)
        self._strict = strict
        self._defer = defer_loading
        self._callers = tuple(allowed_callers)

    async def _request(self, talk: Conversation, on_event: OnEvent | None) -> Body:
        request = self._options | {"input": talk.messages}
        tools = self._tools(self._gate.pool(talk.context))
        if tools:
            request["tools"] = tools
        if talk.called and "tool_choice" in request:
            request["tool_choice"] = unforced(request["tool_choice"])
        if on_event is not None:
            request["stream"] = True
        answer = await awaited(self._client.responses.create(**request), "AsyncOpenAI")
        return plain(answer) if on_event is None else await _streamed(answer, on_event)

    def _tools(self, pool: ModelPool) -> list[Body]:
        own = pool.to_openai(strict=self._strict, defer_loading=self._defer, allowed_callers=self._callers)
        if not any(each.get("defer_loading") for each in own):
            return [*own, *self._others]
        own = [each for each in own if each["name"] != pool.wire_names.get(SEARCH)]
        searched = any(each.get("type") == "tool_search" for each in self._others)
        return [*own, *self._others] if searched else [*own, *self._others, {"type": "tool_search"}]

    def _ending(self, response: Body) -> Stop | None:
        status, items = response.get("status"), bodies(response.get("output"))
        others = sorted({str(item.get("type")) for item in items} & _OTHER_CALLS)
        if others:
            raise MalformedResponse(f"the response asks for {', '.join(others)}, which no loop can answer")
        if status == "incomplete":
            reason = attribute(response.get("incomplete_details"), "reason")
            return Stop.REFUSED if reason == "content_filter" else Stop.CUT
        if status not in ("completed", None):
            raise MalformedResponse(f"the response is {status}, not completed")
        refused = bool(_parts(items, "refusal")) and not _waiting(items)
        return Stop.REFUSED if refused else Stop.DONE

    def _text(self, response: Body) -> str:
        items = bodies(response.get("output"))
        return "".join(_parts(items, "text") or _parts(items, "refusal"))

    def _record(self, talk: Conversation, response: Body) -> None:
        talk.messages.extend(bodies(response.get("output")))

    def _unanswered(self, talk: Conversation) -> Body | None:
        # A call that was cut short says so itself, by its status.
        found = _waiting(talk.messages)
        return {"output": found} if found else None

    def _answer(self, talk: Conversation, turn: Turn) -> None:
        talk.messages.extend(turn.results)

    def _call_ids(self, messages: list[Body]) -> list[str]:
        return [str(item.get("call_id")) for item in messages if item.get("type") == "function_call"]


def unforced(choice: Any) -> Any:
    """A choice that leaves it to the model whether to call: one that forces would never let it end."""
    body = as_mapping(choice)
    if body is None:
        return "auto" if choice == "required" else choice
    if body.get("type") != "allowed_tools":
        return "auto"
    inner = as_mapping(body.get("allowed_tools"))
    return {**body, "mode": "auto"} if inner is None else {**body, "allowed_tools": {**inner, "mode": "auto"}}


def _waiting(items: list[Body]) -> list[Body]:
    """The calls without a result. A server that gives ids out again answers them in the order of the calls."""
    answered = [item.get("call_id") for item in items if item.get("type") == "function_call_output"]
    waiting: list[Body] = []
    for item in items:
        if item.get("type") == "function_call" and item.get("call_id") in answered:
            answered.remove(item.get("call_id"))
        elif item.get("type") == "function_call":
            waiting.append(item)
    return waiting


def _parts(items: list[Body], name: str) -> list[str]:
    contents = [part for item in items if item.get("type") == "message" for part in bodies(item.get("content"))]
    return [str(part[name]) for part in contents if part.get(name)]


async def _streamed(stream: Any, on_event: OnEvent) -> Body:
    """The whole response behind a stream.

    Raises:
        MalformedResponse: It ended too early.
    """
    whole: Any = None
    items: dict[Any, Any] = {}
    async with stream:
        async for event in stream:
            kind = attribute(event, "type")
            if kind in _FINISHED:
                whole = attribute(event, "response")
            elif kind == "response.output_item.done":
                items[attribute(event, "output_index")] = plain(attribute(event, "item"))
            await tell(on_event, event)
    if whole is None:
        raise MalformedResponse("the stream ended before the response did; nothing of it was run")
    body: Body = plain(whole)
    # Some servers tell the items one by one and leave them out at the end.
    return body if body.get("output") else body | {"output": [items[at] for at in sorted(items)]}
