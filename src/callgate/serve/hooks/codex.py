"""Codex: its hook events PreToolUse, PostToolUse and UserPromptSubmit.

A denial is an exit with 2 and the reason on stderr, which every version understands: JSON that a version does not know
lets the tool run. For the same reason a yes is silence, after which Codex goes by its own rules, and nothing is edited.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from callgate.runtime.host_arguments import Misread, renamed
from callgate.runtime.host_names import CODEX
from callgate.serve.hooks.claude_code import is_own, named
from callgate.serve.hooks.moment import EVENT, Kind, Moment, Reply, mapping, text
from callgate.serve.hooks.patches import touched

_BLOCKS = 2
_PROGRAM_AND_PATCH = 2


class Codex:
    """How Codex speaks."""

    name = "codex"
    seconds = 60.0
    quiet = Reply()
    kinds: Mapping[str, Kind] = MappingProxyType(
        {
            "UserPromptSubmit": Kind.PROMPT,
            "PreToolUse": Kind.BEFORE,
            "PostToolUse": Kind.AFTER,
        }
    )

    def read(self, told: Mapping[str, Any], environment: Mapping[str, str]) -> Moment:
        """What happens there.

        Raises:
            Misread: It cannot be understood.
        """
        del environment
        kind = self.kinds.get(text(told, EVENT), Kind.ELSE)
        folder = text(told, "cwd", needed=False) or None
        place: dict[str, Any] = {"told": told, "session": text(told, "session_id"), "folder": folder, "root": folder}
        if kind is Kind.PROMPT:
            return Moment(kind=kind, prompt=text(told, "prompt", needed=False), **place)
        if kind is Kind.ELSE:
            return Moment(kind=kind, **place)
        host_tool = text(told, "tool_name")
        if is_own(self.name, host_tool, root=folder):
            return Moment(kind=Kind.ELSE, **place)
        name, arguments = _named(host_tool, mapping(told, "tool_input"), folder=folder)
        place |= {"use": text(told, "tool_use_id"), "tool": name, "arguments": arguments}
        if kind is Kind.BEFORE:
            return Moment(kind=kind, **place)
        # It does not say whether a command failed: what came back is recorded as it is.
        return Moment(kind=Kind.AFTER, output=told.get("tool_response"), **place)

    def takes_edits(self, moment: Moment) -> bool:
        """Versions differ, and one that does not would run what was asked."""
        del moment
        return False

    def allow(self, moment: Moment, edited: Mapping[str, Any] | None) -> Reply:
        """The tool may run, if Codex itself lets it."""
        del moment, edited
        return self.quiet

    def deny(self, told: Mapping[str, Any], reason: str) -> Reply:
        """The tool may not run."""
        del told
        return Reply(err=reason, code=_BLOCKS)

    def note(self, message: str) -> Reply:
        """A message that the user sees."""
        return Reply(out={"systemMessage": message})


def _named(host_tool: str, given: dict[str, Any], *, folder: str | None) -> tuple[str, dict[str, Any]]:
    if host_tool.startswith("mcp__"):
        return named(host_tool, given)
    name = CODEX.get(host_tool, f"host:{host_tool}")
    told = renamed(name, given)
    if name == "host.patch":
        return name, _patch(told, folder=folder)
    if name == "host.bash":
        return name, {**told, "command": _command(told)}
    return name, told


def _command(given: Mapping[str, Any]) -> str:
    command = given.get("command")
    if isinstance(command, list):
        return shlex.join(str(word) for word in cast("list[Any]", command))
    if not isinstance(command, str):
        raise Misread("the host did not say which command")
    return command


def _patch(given: Mapping[str, Any], *, folder: str | None) -> dict[str, Any]:
    """A patch with the files it touches, so that they can be judged."""
    patch = _patch_text(given.get("patch"))
    found = touched(patch)
    files = [os.path.join(folder or "", each.path) for each in found]  # noqa: PTH118 - `..` must stay as it was said
    return {"patch": patch, "files": list(dict.fromkeys(files)), "deletes": any(each.deleted for each in found)}


def _patch_text(given: Any) -> str:
    words: list[Any] = cast("list[Any]", given) if isinstance(given, list) else ["apply_patch", given]
    if len(words) != _PROGRAM_AND_PATCH or not isinstance(words[1], str):
        raise Misread("the host did not say one patch")
    return words[1]
