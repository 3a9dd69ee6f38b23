"""GitHub Copilot CLI: its hook events preToolUse, postToolUse, postToolUseFailure and userPromptSubmitted.

What it tells has neither the name of the event, which is why the command line has it (`--event`), nor an id of the tool
use: equal calls are told apart by their order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from callgate.runtime.host_arguments import Misread, renamed
from callgate.runtime.host_names import COPILOT
from callgate.serve.hooks.moment import EVENT, Kind, Moment, Reply, text
from callgate.serve.hooks.own_server import is_of_own_server

_BLOCKS = 2


class Copilot:
    """How Copilot speaks."""

    name = "copilot"
    seconds = 60.0
    quiet = Reply(out={})
    kinds: Mapping[str, Kind] = MappingProxyType(
        {
            "userPromptSubmitted": Kind.PROMPT,
            "preToolUse": Kind.BEFORE,
            "postToolUse": Kind.AFTER,
            "postToolUseFailure": Kind.AFTER,
        }
    )

    def read(self, told: Mapping[str, Any], environment: Mapping[str, str]) -> Moment:
        """What happens there.

        Raises:
            Misread: It cannot be understood.
        """
        del environment
        event = text(told, EVENT)
        kind = self.kinds.get(event, Kind.ELSE)
        folder = text(told, "cwd", needed=False) or None
        session = text(told, "sessionId", needed=False) or "default"
        place: dict[str, Any] = {"told": told, "session": session, "folder": folder, "root": folder}
        if kind is Kind.PROMPT:
            return Moment(kind=kind, prompt=text(told, "prompt", needed=False), **place)
        if kind is Kind.ELSE:
            return Moment(kind=kind, **place)
        host_tool = text(told, "toolName")
        if is_of_own_server(self.name, host_tool, joints=("-", "/"), root=folder):
            return Moment(kind=Kind.ELSE, **place)
        name, arguments = _named(host_tool, _arguments(told))
        place |= {"tool": name, "arguments": arguments}
        if kind is Kind.BEFORE:
            return Moment(kind=kind, **place)
        result: Any = told.get("toolResult")
        said: dict[str, Any] = cast("dict[str, Any]", result) if isinstance(result, dict) else {}
        ok = event == "postToolUse" and said.get("resultType", "success") == "success"
        error = None if ok else str(said.get("textResultForLlm") or told.get("error") or "it failed at its host")
        return Moment(kind=Kind.AFTER, ok=ok, output=said.get("textResultForLlm"), error=error, **place)

    def takes_edits(self, moment: Moment) -> bool:
        """Versions differ, and one that does not would run what was asked."""
        del moment
        return False

    def allow(self, moment: Moment, edited: Mapping[str, Any] | None) -> Reply:
        """The tool may run."""
        del moment, edited
        return Reply(out={"permissionDecision": "allow"})

    def deny(self, told: Mapping[str, Any], reason: str) -> Reply:
        """The tool may not run. What cannot be read blocks, whatever it was."""
        answer = {"permissionDecision": "deny", "permissionDecisionReason": reason}
        known = told.get(EVENT) == "preToolUse"
        return Reply(out=answer) if known else Reply(out=answer, err=reason, code=_BLOCKS)

    def note(self, message: str) -> Reply:
        """A message in its log."""
        return Reply(out={}, err=message)


def _arguments(told: Mapping[str, Any]) -> dict[str, Any]:
    given = told.get("toolArgs")
    try:
        found: Any = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        raise Misread("toolArgs is not JSON") from None
    if not isinstance(found, dict):
        raise Misread("toolArgs is no mapping")
    return cast("dict[str, Any]", found)


def _named(host_tool: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    name = COPILOT.get(host_tool, f"host:{host_tool}")
    nothing = {"command": ""} if host_tool == "write_bash" else {}
    return name, nothing | renamed(name, given)
