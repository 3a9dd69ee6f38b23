"""The permission prompt of Claude Code: an MCP tool that it asks where it would ask its user.

A door that serves MCP registers `DEFINITION` and answers calls of it with `answer_prompt`. Nobody reports how these
tool uses end, as no hook is needed for it: they are unknown after their time limit. Connect the hooks to know more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from callgate.errors import CallgateError
from callgate.model.call import Call
from callgate.runtime.host_arguments import Misread
from callgate.serve.hooks.answering import as_given, placed, why_not
from callgate.serve.hooks.claude_code import as_told, named
from callgate.serve.hooks.moment import Kind, Moment, mapping, text
from callgate.serve.showing import Show, show_here

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.runtime.gate import Callgate

PERMISSION_PROMPT = "permission_prompt"

DEFINITION: dict[str, Any] = {
    "name": PERMISSION_PROMPT,
    "description": "Ask whether the host may run a tool of its own. For the host, not for a model.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "description": "The host's name of the tool."},
            "input": {"type": "object", "description": "What it is called with."},
            "tool_use_id": {"type": "string", "description": "The host's id of the tool use."},
        },
        "required": ["tool_name", "input"],
    },
}


async def answer_prompt(
    gate: Callgate, context: Context, *, arguments: Mapping[str, Any], wait: float, show: Show = show_here
) -> str:
    """The JSON text that the host reads: allow, with what is to be run, or deny, with the reason.

    Args:
        gate: An open gate that knows the hosts' tools (`prepare`).
        context: Who asks.
        arguments: What the host called the tool with.
        wait: Seconds to wait for a person.
        show: How people find a question.
    """
    try:
        return json.dumps(await _answer(gate, context, arguments=arguments, wait=wait, show=show))
    except Exception as error:  # noqa: BLE001 - nothing may run that the gate did not judge
        why = str(error) if isinstance(error, CallgateError | Misread) else type(error).__name__
        return json.dumps(_denied(f"Not run: the gate could not judge it ({why}). Nothing has happened."))


async def _answer(
    gate: Callgate, context: Context, *, arguments: Mapping[str, Any], wait: float, show: Show
) -> dict[str, Any]:
    given = mapping(arguments, "input")
    name, told = named(text(arguments, "tool_name"), given)
    moment = Moment(kind=Kind.BEFORE, tool=name, arguments=told, folder=context.working_directory)
    use = text(arguments, "tool_use_id", needed=False) or None
    # Nobody will report its end: what nobody knows of one must not stop the next.
    call = Call(name, placed(moment), id=use, distinct=True)
    judgement = await gate.judge_use(call, context, wait=wait)
    if not judgement.allowed:
        return _denied(why_not(judgement, call, show=show))
    if judgement.edited is None:
        return {"behavior": "allow", "updatedInput": given}
    edited = as_given(judgement.edited, moment)
    if edited is None:
        return _denied("Not run: a person changed where this call works, which the host cannot be told.")
    return {"behavior": "allow", "updatedInput": as_told(name, given, edited=edited)}


def _denied(message: str) -> dict[str, Any]:
    return {"behavior": "deny", "message": message}
