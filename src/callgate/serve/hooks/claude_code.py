"""Claude Code: its hook events PreToolUse, PostToolUse, PostToolUseFailure and UserPromptSubmit.

A hook that ends with 0 decides by its JSON, with 2 it blocks with what it wrote to stderr, and any other end lets the
tool run: that is why `callgate connect` writes the command so that it ends with 2 where it cannot start.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from callgate.runtime.host_arguments import Misread, as_host_said, renamed
from callgate.runtime.host_names import CLAUDE_CODE
from callgate.serve.hooks.moment import EVENT, Kind, Moment, Reply, mapping, text
from callgate.serve.hooks.own_server import is_of_own_server

_WITH_ITS_USER = frozenset({"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"})
"""The host talks to its user with these: a yes of ours would answer in the user's place."""
_FAILED = "PostToolUseFailure"
_BLOCKS = 2


class ClaudeCode:
    """How Claude Code speaks."""

    name = "claude-code"
    seconds = 60.0
    quiet = Reply()
    kinds: Mapping[str, Kind] = MappingProxyType(
        {
            "UserPromptSubmit": Kind.PROMPT,
            "PreToolUse": Kind.BEFORE,
            "PostToolUse": Kind.AFTER,
            _FAILED: Kind.AFTER,
        }
    )

    def read(self, told: Mapping[str, Any], environment: Mapping[str, str]) -> Moment:
        """What happens there.

        Raises:
            Misread: It cannot be understood.
        """
        event = text(told, EVENT)
        kind = self.kinds.get(event, Kind.ELSE)
        place: dict[str, Any] = {
            "told": told,
            "session": text(told, "session_id"),
            "folder": text(told, "cwd", needed=False) or None,
            "root": environment.get("CLAUDE_PROJECT_DIR") or text(told, "cwd", needed=False) or None,
        }
        if kind is Kind.PROMPT:
            return Moment(kind=kind, prompt=text(told, "prompt", needed=False), **place)
        if kind is Kind.ELSE:
            return Moment(kind=kind, **place)
        host_tool = text(told, "tool_name")
        if host_tool in _WITH_ITS_USER or is_own(self.name, host_tool, root=place["root"]):
            return Moment(kind=Kind.ELSE, **place)
        name, arguments = named(host_tool, mapping(told, "tool_input"))
        place |= {"use": text(told, "tool_use_id"), "tool": name, "arguments": arguments}
        if kind is Kind.BEFORE:
            return Moment(kind=kind, **place)
        ok = event != _FAILED
        error = None if ok else _told_error(told)
        return Moment(kind=Kind.AFTER, ok=ok, output=told.get("tool_response"), error=error, **place)

    def takes_edits(self, moment: Moment) -> bool:
        """It does, of every tool."""
        del moment
        return True

    def allow(self, moment: Moment, edited: Mapping[str, Any] | None) -> Reply:
        """The tool may run."""
        decision: dict[str, Any] = {"permissionDecision": "allow", "permissionDecisionReason": "allowed by Callgate"}
        if edited is not None:
            decision["updatedInput"] = as_told(moment.tool, moment.told.get("tool_input", {}), edited=edited)
        return Reply(out=_decided(decision))

    def deny(self, told: Mapping[str, Any], reason: str) -> Reply:
        """The tool may not run. What cannot be read blocks, whatever it was."""
        if told.get(EVENT) == "PreToolUse":
            return Reply(out=_decided({"permissionDecision": "deny", "permissionDecisionReason": reason}))
        return Reply(err=reason, code=_BLOCKS)

    def note(self, message: str) -> Reply:
        """A message that the user sees."""
        return Reply(out={"systemMessage": message})


def is_own(host: str, host_tool: str, *, root: str | None) -> bool:
    """Whether it is a tool of Callgate's own server, whose calls are judged there."""
    name = host_tool.removeprefix("mcp__")
    return name != host_tool and is_of_own_server(host, name, joints=("__",), root=root)


def named(host_tool: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The gate's name of a tool, and the arguments it is judged with."""
    if host_tool.startswith("mcp__"):
        server, _, tool = host_tool.removeprefix("mcp__").partition("__")
        if not server or not tool:
            raise Misread(f"{host_tool} is no name of a tool of an MCP server")
        return "host.mcp", {"server": server, "tool": tool, "arguments": arguments}
    # A name with a colon is nobody's: what is not declared is refused, and the refusal recorded.
    name = CLAUDE_CODE.get(host_tool, f"host:{host_tool}")
    return name, renamed(name, arguments)


def as_told(tool: str, given: Mapping[str, Any], *, edited: Mapping[str, Any]) -> dict[str, Any]:
    """What a person changed, in the host's words."""
    return dict(edited.get("arguments", {})) if tool == "host.mcp" else as_host_said(tool, given, edited=edited)


def _decided(decision: dict[str, Any]) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}


def _told_error(told: Mapping[str, Any]) -> str:
    interrupted = "its user interrupted it" if told.get("is_interrupt") is True else "it failed at its host"
    error = told.get("error")
    return error if isinstance(error, str) and error else interrupted
