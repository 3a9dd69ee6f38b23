"""Judging: the host's own tools, allowed or denied by the gate before they run, and reported after.

Every call is brought before the gate, also those that the host would allow by itself: the hook makes the host ask. No
answer of the gate's is a no.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

from claude_agent_sdk import (
    HookContext,
    HookInput,
    HookJSONOutput,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from callgate.errors import CallgateError, MalformedResponse
from callgate.frameworks.claude_agent.server import GateServer
from callgate.frameworks.desk import Desk
from callgate.model.call import Call
from callgate.model.canonical import dumps
from callgate.model.outcome import Outcome, Pending, Succeeded
from callgate.model.shapes import as_mapping
from callgate.runtime.call_key import call_key
from callgate.runtime.host_arguments import Misread, as_host_said, renamed
from callgate.runtime.telling import reasons, told

_log = logging.getLogger("callgate")
_ASK: HookJSONOutput = {
    "hookSpecificOutput": {
        "hookEventName": "PreToolUse",
        "permissionDecision": "ask",
        "permissionDecisionReason": "the gate judges every call",
    }
}


class Judge:
    """Decides about the tools of the host.

    Args:
        desk: The gate, for whom.
        server: The gate's own tools; it judges their calls itself.
        server_name: By which name the host knows it.
        host_names: Under which name of the gate each tool of the host is judged.
        wait: Seconds a call waits for a person before it is denied.
    """

    def __init__(
        self, desk: Desk, server: GateServer, *, server_name: str, host_names: Mapping[str, str], wait: float
    ) -> None:
        self._desk = desk
        self._server = server
        self._server_name = server_name
        self._host_names = dict(host_names)
        self._wait = wait
        self._own: dict[str, str] = {}
        """By tool use: the tool of our server that it is, as the host says; a name alone may be another server's."""
        self._judged: dict[str, str] = {}
        """By tool use: the judgement that waits for its report."""
        self._waiting: dict[str, str] = {}
        """By what is called: the tool use under which a person was asked about it."""

    async def before(self, given: HookInput, tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        """PreToolUse: have the host ask, whatever its own rules and mode say."""
        server = as_mapping(given.get("mcp_server"))
        if server is not None and (server.get("name"), server.get("source")) == (self._server_name, "sdk"):
            self._own[str(given.get("tool_use_id") or tool_use_id)] = str(given.get("tool_name"))
        return _ASK

    async def can_use_tool(  # noqa: PLR0917 - as the SDK calls it
        self, name: str, arguments: dict[str, Any], context: ToolPermissionContext
    ) -> PermissionResult:
        """Whether the host may run a tool of its own, and with which arguments. Whatever fails is a no."""
        try:
            return await self._decide(name, arguments, tool_use_id=_id(context))
        except Exception as error:  # noqa: BLE001 - nothing may run that the gate did not judge
            _log.warning("%s was denied, because the gate could not judge it: %s", name, type(error).__name__)
            why = str(error) if isinstance(error, CallgateError | Misread) else type(error).__name__
            return PermissionResultDeny(message=f"Not run: the gate could not judge it ({why}). Nothing has happened.")

    async def after(self, given: HookInput, tool_use_id: str | None, _context: HookContext) -> HookJSONOutput:
        """PostToolUse and PostToolUseFailure: how a call ended that the gate allowed."""
        judgement = self._judged.pop(str(given.get("tool_use_id") or tool_use_id), None)
        if judgement is None:
            return {}
        ok = given["hook_event_name"] == "PostToolUse"
        output, fault = given.get("tool_response"), given.get("error")
        try:
            await self._desk.do(
                lambda gate: gate.report(judgement, ok=ok, output=output, error=None if fault is None else str(fault))
            )
        except Exception as error:  # noqa: BLE001 - the host ran it, and silence becomes unknown by itself
            _log.warning("the end of a judged call could not be recorded: %s", type(error).__name__)
        return {}

    async def _decide(self, name: str, arguments: dict[str, Any], *, tool_use_id: str) -> PermissionResult:
        if await self._is_own(name, tool_use_id):
            return PermissionResultAllow()
        # A name with a colon is nobody's: what is not declared is refused, and the refusal recorded.
        tool = self._host_names.get(name, f"host:{name}")
        said = renamed(tool, arguments)
        what = hashlib.sha256(dumps([tool, said])).hexdigest()
        # The same call again is the same question and has the same answer, though the host gives it a new id.
        key = call_key(self._waiting.get(what, tool_use_id), self._desk.context)
        call = Call(tool, said, tool_use_id, key)
        judgement = await self._desk.do(lambda gate: gate.judge(call, self._desk.context, wait=self._wait))
        if isinstance(judgement.outcome, Pending):
            self._waiting.setdefault(what, tool_use_id)
            return PermissionResultDeny(message=_waits(judgement.outcome))
        if not judgement.allowed:
            known = name in self._host_names
            why = _why(judgement.outcome)
            return PermissionResultDeny(message=why if known else _undeclared(name))
        self._waiting.pop(what, None)
        self._judged[tool_use_id] = judgement.id
        edited = judgement.edited
        return PermissionResultAllow(updated_input=edited and as_host_said(tool, arguments, edited=edited))

    async def _is_own(self, name: str, tool_use_id: str) -> bool:
        """Whether it is certain that this is a tool of our server, whose calls go through the gate anyway."""
        prefix = f"mcp__{self._server_name}__"
        if self._own.pop(tool_use_id, None) != name or not name.startswith(prefix):
            return False
        return name.removeprefix(prefix) in await self._server.names()


def _id(context: ToolPermissionContext) -> str:
    if not context.tool_use_id:
        raise MalformedResponse("the host gave the call no id")
    return context.tool_use_id


def _undeclared(name: str) -> str:
    return f"Not run: {name} is not declared at the gate. Do not retry; choose another way or ask the operator."


def _waits(outcome: Pending) -> str:
    why = "; ".join(reasons(outcome))
    return (
        f"Not run yet: a person has to decide about {outcome.tool} first{f' ({why})' if why else ''}. "
        "Nothing has happened so far. "
        f"The question is approval {outcome.approval_id}; once it is decided, make the same call again."
    )


def _why(outcome: Outcome | None) -> str:
    assert outcome is not None  # noqa: S101 - a no always says why, and an error here is one as well
    if isinstance(outcome, Succeeded):
        return f"Not run again: this very call has run already. It returned: {told(outcome)}"
    return told(outcome)
