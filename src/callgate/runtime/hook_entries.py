"""Whether hooks in a host's file hold: every tool comes before this Callgate, and nothing runs where it cannot."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

from callgate.runtime.host_entries import starts
from callgate.runtime.host_files import CURSOR, HostFile
from callgate.runtime.own_program import is_own_program

_BEFORE = {"PreToolUse", "preToolUse", "beforeMCPExecution"}
"""Where hosts ask; at the other events they only tell."""
_EVERY_TOOL = {None, "", "*", ".*"}
_KNOWN = {"type", "command", "bash", "timeout", "timeoutSec", "failClosed", "matcher", "hooks", "statusMessage"}
_BLOCKS = " || exit 2"
_HOST_WAITS = 60.0
_HOOK_TAKES = 50.0


class Held(NamedTuple):
    """How the hooks of a file stand."""

    governs: bool
    why: str = ""


def held(document: Mapping[str, Any], file: HostFile, *, folder: Path) -> Held:
    """Whether the hooks that ask hold, and why not."""
    hooks = cast("dict[str, Any]", document["hooks"])
    at_events = [_at_event(hooks[event], file, folder=folder) for event in hooks if event in _BEFORE]
    return min(at_events, key=lambda each: (each.governs, not each.why), default=Held(governs=False))


def _at_event(listed: Any, file: HostFile, *, folder: Path) -> Held:
    """The best of several: each of them may say no."""
    all_of = [_stands(entry, matcher, file, folder=folder) for matcher, entry in _own(listed, None)]
    return max(all_of, key=lambda each: (each.governs, not each.why), default=Held(governs=False))


def _own(listed: Any, matcher: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    for each in cast("list[Any]", listed) if isinstance(listed, list) else []:
        if isinstance(each, dict):
            entry = cast("dict[str, Any]", each)
            inner = entry.get("matcher", matcher)
            if starts(_command(entry), "hook"):
                yield inner, entry
            yield from _own(entry.get("hooks"), inner)


def _command(entry: Mapping[str, Any]) -> str:
    command = entry.get("command") or entry.get("bash")
    return command if isinstance(command, str) else ""


def _stands(entry: Mapping[str, Any], matcher: Any, file: HostFile, *, folder: Path) -> Held:
    command = _command(entry)
    plain = command.removesuffix(_BLOCKS)
    words = shlex.split(plain)
    odd = sorted(entry.keys() - _KNOWN)
    if matcher not in _EVERY_TOOL:
        return Held(governs=False, why=f"its hook is asked about {matcher} alone")
    if odd or entry.get("type", "command") != "command":
        return Held(governs=False, why=f"its hook has {odd[0] if odd else 'another type'}, which is not known here")
    if shlex.join(words) != plain or file.host not in words[2:5]:
        return Held(governs=False, why="its hook's command does more than ask Callgate, or asks for another host")
    if plain == command and not (file.host == CURSOR and entry.get("failClosed") is True):
        return Held(governs=False, why="its hook lets tools run where it cannot start")
    if _late(entry, words):
        return Held(governs=False, why="the host does not wait as long as its hook may take")
    if shutil.which(words[0]) is None:
        return Held(governs=True, why=f"{words[0]} is not there any more; every tool is denied")
    if not is_own_program(words, "hook", folder=folder):
        return Held(governs=False, why=f"{words[0]} is another program than this Callgate")
    return Held(governs=True)


def _late(entry: Mapping[str, Any], words: list[str]) -> bool:
    waits = entry.get("timeout", entry.get("timeoutSec", _HOST_WAITS))
    named = [
        word.partition("=")[2] or following
        for word, following in zip(words, [*words[1:], ""], strict=True)
        if word.partition("=")[0] == "--deadline"
    ]
    try:
        return float(waits) <= float(named[-1] if named else _HOOK_TAKES)
    except (TypeError, ValueError):
        return True
