"""OpenAI Responses: flat function definitions out, `function_call` items in, `function_call_output` items back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from callgate.model.requested import CUT_SHORT, Requested, attribute, listed, requested

NAME = "openai"
_DIRECT = "direct"


def definition(
    *,
    name: str,
    description: str,
    schema: dict[str, Any],
    strict: bool | None = None,
    defer_loading: bool = False,
    allowed_callers: Sequence[str] = (),
) -> dict[str, Any]:
    """A tool as `responses.create(tools=…)` takes it; what is not asked for is not there."""
    body: dict[str, Any] = {"type": "function", "name": name, "description": description, "parameters": schema}
    if strict is not None:
        body["strict"] = strict
    if defer_loading:
        body["defer_loading"] = True
    if allowed_callers:
        body["allowed_callers"] = list(allowed_callers)
    return body


def recognises(response: Any) -> bool:
    """Whether it is a response of this API: output in items."""
    return listed(response, "output") is not None


def calls(response: Any) -> list[Requested]:
    """The function calls of a response, in order. Tools that the provider runs itself are none.

    Raises:
        MalformedResponse: A call has no id.
    """
    items = listed(response, "output") or []
    return [_call(item) for item in items if attribute(item, "type") == "function_call"]


def _call(item: Any) -> Requested:
    status = attribute(item, "status")
    cut = isinstance(status, str) and status != "completed"
    call = requested(
        attribute(item, "call_id"),
        name=attribute(item, "name"),
        arguments=attribute(item, "arguments"),
        fault=CUT_SHORT if cut else None,
    )
    caller = attribute(item, "caller")
    words = {name: attribute(caller, name) for name in ("type", "caller_id")}
    if words["type"] is None or words["type"] == _DIRECT:
        return call
    told = {name: word for name, word in words.items() if isinstance(word, str)}
    return call._replace(programmatic=True, echo={"caller": told})


def result(call_id: str, text: str, *, is_error: bool) -> dict[str, Any]:
    """An item for the next input. The API has no mark for an error, so the text begins with one."""
    return {"type": "function_call_output", "call_id": call_id, "output": f"[ERROR] {text}" if is_error else text}
