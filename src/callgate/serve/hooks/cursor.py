"""Cursor: preToolUse and postToolUse for its own tools, beforeMCPExecution and afterMCPExecution for those of servers.

Only the latter say which server a tool is of. The other narrow events (beforeShellExecution and its like) are no place
to judge at: every tool comes by preToolUse as well. Whoever wired one of them is told so, and nothing runs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from callgate.runtime.host_arguments import Misread, as_host_said, renamed
from callgate.runtime.host_names import CURSOR
from callgate.runtime.own_program import is_own_program
from callgate.serve.hooks.moment import EVENT, Kind, Moment, Reply, mapping, text

_BLOCKS = 2
_FAILED = "postToolUseFailure"
_OF_SERVERS = frozenset({"beforeMCPExecution", "afterMCPExecution"})
_ELSEWHERE = frozenset({"beforeShellExecution", "beforeReadFile", "subagentStart"})
_OF_FILES = frozenset({"host.read", "host.write", "host.edit", "host.delete"})


class Cursor:
    """How Cursor speaks."""

    name = "cursor"
    seconds = 60.0
    # Nothing at all would be read as a fault.
    quiet = Reply(out={})
    kinds: Mapping[str, Kind] = MappingProxyType(
        {
            "beforeSubmitPrompt": Kind.PROMPT,
            "preToolUse": Kind.BEFORE,
            "beforeMCPExecution": Kind.BEFORE,
            "postToolUse": Kind.AFTER,
            "afterMCPExecution": Kind.AFTER,
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
        if event in _ELSEWHERE:
            raise Misread(f"it is judged at preToolUse, and not at {event}; take {event} out of hooks.json")
        place: dict[str, Any] = {"told": told, "session": text(told, "conversation_id")}
        place["root"] = _root(told) or environment.get("CURSOR_PROJECT_DIR") or None
        place["folder"] = text(told, "cwd", needed=False) or place["root"]
        if kind is Kind.PROMPT:
            return Moment(kind=kind, prompt=text(told, "prompt", needed=False), **place)
        if kind is Kind.ELSE:
            return Moment(kind=kind, **place)
        host_tool = text(told, "tool_name")
        of_server = event in _OF_SERVERS
        if (not of_server and host_tool.startswith("MCP:")) or (of_server and _is_own(told, place["root"])):
            return Moment(kind=Kind.ELSE, **place)
        use = "" if of_server else text(told, "tool_use_id")
        name, arguments = _of_server(told) if of_server else _named(host_tool, mapping(told, "tool_input"))
        place |= {"use": use, "tool": name, "arguments": arguments}
        if kind is Kind.BEFORE:
            return Moment(kind=kind, **place)
        ok = event != _FAILED
        error = None if ok else text(told, "error_message", needed=False) or "it failed at its host"
        output = told.get("result_json") if of_server else told.get("tool_output")
        return Moment(kind=Kind.AFTER, ok=ok, output=output, error=error, **place)

    def takes_edits(self, moment: Moment) -> bool:
        """It does, of its own tools."""
        return moment.tool != "host.mcp"

    def allow(self, moment: Moment, edited: Mapping[str, Any] | None) -> Reply:
        """The tool may run."""
        answer: dict[str, Any] = {"permission": "allow"}
        if edited is not None:
            answer["updated_input"] = as_host_said(moment.tool, moment.told.get("tool_input", {}), edited=edited)
        return Reply(out=answer)

    def deny(self, told: Mapping[str, Any], reason: str) -> Reply:
        """The tool may not run. What cannot be read blocks, whatever it was."""
        answer = {"permission": "deny", "user_message": reason, "agent_message": reason}
        known = self.kinds.get(told.get(EVENT, "")) is Kind.BEFORE
        return Reply(out=answer) if known else Reply(out=answer, err=reason, code=_BLOCKS)

    def note(self, message: str) -> Reply:
        """A message in the log of hooks; the user's prompt goes on."""
        return Reply(out={"continue": True}, err=message)


def _root(told: Mapping[str, Any]) -> str | None:
    roots: Any = told.get("workspace_roots")
    return roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else None


def _is_own(told: Mapping[str, Any], root: str | None) -> bool:
    """Whether it is a tool of Callgate's own server, whose calls are judged there: by the command that starts it."""
    command = told.get("command")
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    return is_own_program(words, "mcp", folder=Path(root) if root else None)


def _of_server(told: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A tool of a server, by the command or the address that the host reaches it by."""
    given = told.get("tool_input")
    try:
        arguments = json.loads(given) if isinstance(given, str) and given else given
    except ValueError:
        raise Misread("tool_input is not JSON") from None
    if arguments is not None and not isinstance(arguments, dict):
        raise Misread("tool_input is no mapping")
    server = told.get("command") or told.get("url") or "unknown"
    return "host.mcp", {"server": str(server), "tool": text(told, "tool_name"), "arguments": arguments or {}}


def _named(host_tool: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The gate's name of a tool, and the arguments it is judged with: Cursor's under the names of the declaration."""
    name = CURSOR.get(host_tool, f"host:{host_tool}")
    nothing = {"content": ""} if name == "host.write" else {}
    told = nothing | renamed(name, given)
    if name in _OF_FILES and not isinstance(told.get("file_path"), str):
        raise Misread(f"the host did not say which file {host_tool} is about")
    return name, told
