"""What is written into a host's file so that it goes through Callgate, and how to find it there again."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from copy import deepcopy
from itertools import chain, pairwise
from pathlib import Path, PurePath
from typing import Any, cast

from callgate.errors import ConfigurationError
from callgate.runtime.host_files import CLAUDE_CODE, CODEX, COPILOT, CURSOR, VSCODE, HostFile, servers_of
from callgate.runtime.own_program import OWN

_SECONDS = 60
"""How long a host waits for its hook; the hook's own deadline is below."""
_CLAUDE_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit")
_CODEX_EVENTS = ("PreToolUse", "PostToolUse", "UserPromptSubmit")
_CURSOR_EVENTS = (
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "beforeMCPExecution",
    "afterMCPExecution",
    "beforeSubmitPrompt",
)
_COPILOT_EVENTS = ("preToolUse", "postToolUse", "postToolUseFailure", "userPromptSubmitted")
_PROMPTS = frozenset({"UserPromptSubmit", "beforeSubmitPrompt", "userPromptSubmitted"})

_MORE: dict[str, dict[str, Any]] = {
    VSCODE: {"type": "stdio"},
    CLAUDE_CODE: {"type": "stdio"},
    COPILOT: {"type": "local", "tools": ["*"]},
}
"""What a host wants to read of a server beside its command."""


class Entries:
    """The entries of one place: how Callgate is started here, with which configuration and store.

    Args:
        words: Options that name the place, absolute.
        folder: The project.
    """

    def __init__(self, words: Iterable[str], folder: Path) -> None:
        self._words = tuple(words)
        self._folder = folder
        self._program = _program()

    def connected(self, document: Mapping[str, Any], file: HostFile, *, taken: Mapping[str, Any]) -> dict[str, Any]:
        """The document with Callgate in it; `taken` are servers that Callgate reaches from now on in its place.

        Raises:
            ConfigurationError: Where the servers should be is something else.
        """
        new = without(document, file)
        if file.kind == "hooks":
            return self._with_hooks(new, file)
        servers: dict[str, Any] = new.setdefault(file.key, {})
        if not isinstance(servers, dict):  # pyright: ignore[reportUnnecessaryIsInstance] - another program's file
            raise ConfigurationError(f"has no servers under {file.key}, but something else", file=str(file.path))
        for name in taken:
            servers.pop(name, None)
        entry: dict[str, Any] = {"command": self._program[0], "args": [*self._program[1:], "mcp", *self._words]}
        entry["args"] += ["--principal", file.host]
        servers[OWN] = {**_MORE.get(file.host, {}), **entry}
        return new

    def _with_hooks(self, new: dict[str, Any], file: HostFile) -> dict[str, Any]:
        if file.host in {CURSOR, COPILOT}:
            new.setdefault("version", 1)
        hooks: dict[str, Any] = new.setdefault("hooks", {})
        for event in _events(file.host):
            listed: list[Any] = hooks.setdefault(event, [])
            listed.append(self._hook(file, event))
        return new

    def _hook(self, file: HostFile, event: str) -> dict[str, Any]:
        host, words = file.host, list(self._words)
        if not file.of_user:
            words += ["--root", str(self._folder)]
        if host == COPILOT:
            words += ["--event", event]
        command = shlex.join([*self._program, "hook", host, *words])
        if event not in _PROMPTS:
            # Any other end than 2 would let the tool run where the hook cannot start.
            command += " || exit 2"
        if host == CURSOR:
            return {"command": command, "timeout": _SECONDS, "failClosed": event not in _PROMPTS}
        if host == COPILOT:
            return {"type": "command", "bash": command, "timeoutSec": _SECONDS}
        run = {"type": "command", "command": command, "timeout": _SECONDS}
        return {"hooks": [run]} if event in _PROMPTS else {"matcher": "*", "hooks": [run]}


def without(document: Mapping[str, Any], file: HostFile) -> dict[str, Any]:
    """The document with nothing of Callgate's in it."""
    new = deepcopy(dict(document))
    if file.kind == "mcp":
        servers = new.get(file.key)
        if isinstance(servers, dict) and OWN in servers and is_own_server(cast("dict[str, Any]", servers)[OWN]):
            del servers[OWN]
        return new
    hooks = new.get("hooks")
    named = cast("dict[str, Any]", hooks) if isinstance(hooks, dict) else {}
    for event in [event for event, listed in named.items() if isinstance(listed, list)]:
        named[event] = [kept for each in _listed(named[event]) if (kept := _stripped(each)) is not None]
        if not named[event]:
            del named[event]
    return new


def hooks_in(document: Mapping[str, Any], file: HostFile) -> bool:
    """Whether Callgate's hooks are in it, all of them."""
    hooks = document.get("hooks")
    if not isinstance(hooks, dict):
        return False
    named = cast("dict[str, Any]", hooks)
    return all(any(_is_own_hook(each) for each in _listed(named.get(event))) for event in _events(file.host))


def starts(command: str, what: str) -> bool:
    """Whether a command starts a program called as Callgate is, with its command `what`."""
    return _starts(_words(command), what)


def is_own_server(entry: Any) -> bool:
    """Whether an entry of a host's servers starts Callgate."""
    if not isinstance(entry, dict):
        return False
    return _starts(words_of(cast("dict[str, Any]", entry)), "mcp")


def words_of(entry: Mapping[str, Any]) -> list[str]:
    """The program of a host's server, and its arguments."""
    return [str(entry.get("command", "")), *map(str, _listed(entry.get("args")))]


def same_server(entry: Mapping[str, Any], command: Iterable[str], *, url: str | None) -> bool:
    """Whether a host's entry is the server that a configuration reaches by this command or address."""
    if url is not None:
        return url in {entry.get("url"), entry.get("serverUrl"), entry.get("httpUrl")}
    return words_of(entry) == list(command)


def literal_values(document: Mapping[str, Any], file: HostFile) -> list[str]:
    """Values of variables, headers and options of its servers, which may be nobody's to see."""
    found: list[str] = []
    projects = document.get("projects")
    folders = [Path(each) for each in cast("dict[str, Any]", projects)] if isinstance(projects, dict) else []
    named = [servers_of(document, file), *(servers_of(document, file, folder=each) for each in folders)]
    for entry in chain.from_iterable(each.values() for each in named):
        for key in ("env", "headers"):
            given = entry.get(key)
            if isinstance(given, dict):
                found += [value for value in cast("dict[str, Any]", given).values() if isinstance(value, str)]
        # What follows an option may be a token as well.
        words = words_of(entry)
        found += [word.partition("=")[2] for word in words if word.startswith("-")]
        found += [word for before, word in pairwise(words) if before.startswith("--") and not word.startswith("-")]
    return [value for value in found if value and not value.startswith("${")]


def _events(host: str) -> tuple[str, ...]:
    return {CLAUDE_CODE: _CLAUDE_EVENTS, CODEX: _CODEX_EVENTS, CURSOR: _CURSOR_EVENTS, COPILOT: _COPILOT_EVENTS}[host]


def _listed(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _is_own_hook(each: Any) -> bool:
    return _stripped(each) != each


def _stripped(each: Any) -> Any:
    """An entry of a list of hooks without what is Callgate's; None if nothing is left."""
    if not isinstance(each, dict):
        return each
    entry = cast("dict[str, Any]", each)
    command = entry.get("command") or entry.get("bash")
    if isinstance(command, str) and starts(command, "hook"):
        return None
    inner = entry.get("hooks")
    if not isinstance(inner, list):
        return entry
    kept = [part for one in cast("list[Any]", inner) if (part := _stripped(one)) is not None]
    if kept == inner:
        return entry
    return {**entry, "hooks": kept} if kept else None


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []


def _starts(words: list[str], what: str) -> bool:
    names = [PurePath(word).name.removesuffix(".exe") for word in words[:4]]
    return names[:2] == [OWN, what] or names[1:4] == ["-m", OWN, what]


def _program() -> list[str]:
    found = shutil.which(OWN)
    return [str(Path(found).absolute())] if found else [sys.executable, "-m", OWN]
