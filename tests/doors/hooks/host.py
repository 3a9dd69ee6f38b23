"""A host that runs its hook as a coding agent would: JSON on stdin, an answer on stdout, an exit code."""

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from callgate.cli.entry import run
from tests.doors.running import Done

USE = "toolu_1"


class HostRun:
    """Claude Code in a folder: `host.before("Bash", {"command": "ls"})`."""

    def __init__(self, capfd: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch, folder: Path) -> None:
        self._capfd = capfd
        self._patch = patch
        self.folder = folder
        self.options: tuple[str, ...] = ()

    def tell(self, name: str, text: str) -> Done:
        """Run the hook of a host with this on its stdin."""
        self._patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        self._capfd.readouterr()
        here = Path.cwd()
        try:
            code = run(["hook", name, "--deadline", "5", *self.options])
        finally:
            os.chdir(here)
        out, err = self._capfd.readouterr()
        return Done(code, out, err)

    def run(self, *words: str) -> Done:
        """A command of a person's, in the same folder."""
        self._capfd.readouterr()
        code = run(words)
        out, err = self._capfd.readouterr()
        return Done(code, out, err)

    def event(self, event: str, **more: Any) -> Done:
        told = {"hook_event_name": event, "session_id": "s1", "cwd": str(self.folder), **more}
        return self.tell("claude-code", json.dumps(told))

    def before(self, tool: str, arguments: dict[str, Any], use: str = USE, **more: Any) -> dict[str, Any]:
        """What the hook decides about a tool."""
        done = self.event("PreToolUse", tool_name=tool, tool_input=arguments, tool_use_id=use, **more)
        assert done.code == 0, done
        decision = done.body["hookSpecificOutput"]
        assert decision.pop("hookEventName") == "PreToolUse"
        return decision

    def after(self, tool: str, arguments: dict[str, Any], use: str = USE, **more: Any) -> Done:
        event = "PostToolUseFailure" if "error" in more else "PostToolUse"
        return self.event(event, tool_name=tool, tool_input=arguments, tool_use_id=use, **more)


class CursorRun(HostRun):
    """Cursor in a folder."""

    def say(self, event: str, **more: Any) -> Done:
        told = {"hook_event_name": event, "conversation_id": "c1", "generation_id": "g1", **more}
        return self.tell("cursor", json.dumps({"workspace_roots": [str(self.folder)], **told}))

    def use(self, tool: str, arguments: dict[str, Any], use: str = USE) -> dict[str, Any]:
        """What the hook decides about a tool of Cursor's own."""
        done = self.say("preToolUse", tool_name=tool, tool_input=arguments, tool_use_id=use, cwd=str(self.folder))
        assert done.code == 0, done
        return done.body

    def call(self, tool: str, arguments: dict[str, Any], command: str) -> dict[str, Any]:
        """What the hook decides about a tool of an MCP server."""
        given = json.dumps(arguments)
        return self.say("beforeMCPExecution", tool_name=tool, tool_input=given, command=command).body


class CodexRun(HostRun):
    """Codex in a folder."""

    def say(self, event: str, **more: Any) -> Done:
        told = {"hook_event_name": event, "session_id": "s1", "turn_id": "1", "cwd": str(self.folder), **more}
        return self.tell("codex", json.dumps(told))

    def use(self, tool: str, arguments: dict[str, Any], use: str = "call_1") -> Done:
        return self.say("PreToolUse", tool_name=tool, tool_input=arguments, tool_use_id=use)


class CopilotRun(HostRun):
    """Copilot in a folder; what it says names no event and no id."""

    def say(self, event: str, **more: Any) -> Done:
        self.options = ("--event", event)
        return self.tell("copilot", json.dumps({"sessionId": "s1", "cwd": str(self.folder), **more}))

    def use(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        done = self.say("preToolUse", toolName=tool, toolArgs=json.dumps(arguments))
        assert done.code == 0, done
        return done.body
