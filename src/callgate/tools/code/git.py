"""git_status: what git says of a repository, asked in the sandbox where git can write nothing and start nothing.

A repository is somebody else's text: its configuration may name programs (hooks, filters, a monitor of files) that git
would start to answer. There, it cannot start any.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import PurePath
from typing import Any

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.policy.git_places import told_by
from callgate.policy.ways import is_inside
from callgate.tools.code.sandbox import Program, enclosure, run
from callgate.tools.code.shell import Stopped, seconds_left
from callgate.tools.code.sites import in_turn, look_around
from callgate.tools.code.watch import Bounds

_SECONDS = 8
_MOST_BYTES = 8 * 1024**2
_MOST_NAMES = 10_000
_NAMES = {"type": "array", "items": {"type": "string"}}
_RESULT = {
    "type": "object",
    "properties": {
        "branch": {"type": ["string", "null"]},
        "modified": _NAMES,
        "staged": _NAMES,
        "untracked": _NAMES,
        "deleted": _NAMES,
        "renamed": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"from": {"type": "string"}, "to": {"type": "string"}},
                "required": ["from", "to"],
                "additionalProperties": False,
            },
        },
        "conflicted": _NAMES,
        "truncated": {"type": "boolean"},
        "note": {"type": ["string", "null"], "description": "What could not be looked at as git does, if anything."},
    },
    "required": ["branch", "modified", "staged", "untracked", "deleted", "renamed", "conflicted", "truncated", "note"],
    "additionalProperties": False,
}
_ASKED = (
    *("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--find-renames"),
    "--ignore-submodules=dirty",  # what is changed inside of one, git would have to start another git for
)
_SETTINGS = {
    "safe.directory": "*",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.hooksPath": "/dev/null",
    "core.quotePath": "false",
    "status.renames": "true",  # copies would be told as renames, and their sources are still there
}
_GRANTING = (
    "work in a directory around both, or grant one; listing that .git itself in the paths of the scope family would"
    " open it to writing as well"
)
_NOT_STARTED = b"cannot fork"
_UNFILTERED = (
    "a filter that the repository names is not run here, so a file behind it may be in modified that git itself, which"
    " runs it, takes for unchanged"
)


@tool(
    effects="read_only",
    scopes=["fs:read"],
    idempotent=True,
    deterministic=False,
    concurrency_safe=True,
    untrusted_output=True,
    timeout=10,
    output_schema=_RESULT,
    examples=[{"repo_path": "."}],
)
async def git_status(repo_path: str = ".", *, ctx: ToolContext) -> dict[str, Any]:
    """Say which branch a git repository is on, and which of its files are changed, staged, untracked or in conflict.

    A file that was staged and changed again is both in `staged` and in `modified`. Deleted files are in `deleted` as
    well, renamed ones in `renamed`. Of Callgate's own files that git keeps (its configuration, say) only what is staged
    is known; `note` names them.

    Args:
        repo_path: A directory of the repository.
        ctx: The call.
    """
    settings = [part for name, value in _SETTINGS.items() for part in ("-c", f"{name}={value}")]
    command = ("/usr/bin/env", "git", "--no-optional-locks", *settings, *_ASKED)
    async with (
        in_turn(partial(look_around, ctx, repo_path, name="repo_path"), ctx) as site,
        enclosure(site.grounds, writable=(), readable=site.roots) as inside,
    ):
        bounds = Bounds(seconds=seconds_left(_SECONDS, ctx), stdout=_MOST_BYTES)
        ran = await run(Program(command=command, directory=site.directory, may_fork=False), inside, bounds=bounds)
    if ran.stopped:
        raise Stopped(f"git was stopped: {ran.stopped}; ask for a smaller repository")
    if ran.returncode:
        raise _trouble(ran.stderr.decode(errors="replace").strip(), site.directory)
    hidden = _Hidden(inside.hidden, top=_top(site.directory))
    found = _read(ran.stdout, cut=ran.cut, hidden=hidden)
    notes = [hidden.note, _UNFILTERED if _NOT_STARTED in ran.stderr else None]
    return {**found, "note": "; ".join(filter(None, notes)) or None}


def _trouble(said: str, directory: str) -> Exception:
    if "not a git repository" in said:
        why = f"repo_path {directory} is in no git repository that can be seen from here"
        leads = told_by(os.path.join(_top(directory), ".git"))  # noqa: PTH118 - a text all along
        return ValueError(why if leads is None else f"{why}: its .git leads to {leads}; {_GRANTING}")
    return OSError(f"git could not answer: {said[-500:]}")


def _top(directory: str) -> str:
    """The directory that git's paths begin in."""
    above = (directory, *map(str, PurePath(directory).parents))
    return next((place for place in above if os.path.lexists(os.path.join(place, ".git"))), directory)  # noqa: PTH118


class _Hidden:
    """What git saw nothing of, and so takes for changed."""

    def __init__(self, places: Iterable[str], *, top: str) -> None:
        below = (os.path.relpath(place, top) for place in places if is_inside(place, top))
        self._paths = tuple(_text(os.fsencode(path)) for path in below)
        self.met: dict[str, None] = {}
        """What of it git said something of, in order."""

    def has(self, path: str) -> bool:
        """Whether a file is, or lies in, something that is hidden."""
        around = next((hidden for hidden in self._paths if is_inside(path, hidden)), None)
        if around is not None:
            self.met[around] = None
        return around is not None

    @property
    def note(self) -> str | None:
        """What is not known."""
        if not self.met:
            return None
        return f"kept from tools, and so hidden from git, which cannot tell of changes in them: {', '.join(self.met)}"


def _read(output: bytes, *, cut: bool, hidden: _Hidden) -> dict[str, Any]:
    found: dict[str, Any] = {
        "branch": None,
        **{name: [] for name in ("modified", "staged", "untracked", "deleted", "renamed", "conflicted")},
    }
    records = iter(output[: output.rfind(b"\0")].split(b"\0"))
    for seen, record in enumerate(records):
        if seen >= _MOST_NAMES:
            cut = True
            break
        _note(_text(record), records, found=found, hidden=hidden)
    return {**found, "truncated": cut}


def _text(name: bytes) -> str:
    """As it is, or so that two names which are no UTF-8 stay two."""
    return name.decode(errors="backslashreplace")


def _note(record: str, rest: Iterator[bytes], *, found: dict[str, Any], hidden: _Hidden) -> None:
    kind, _, body = record.partition(" ")
    if kind == "#":
        name, _, value = body.partition(" ")
        if name == "branch.head":
            found["branch"] = value
    elif kind == "?":
        found["untracked"].append(body)
    elif kind == "u":
        found["conflicted"].append(body.split(" ", 9)[9])
    elif kind == "1":
        _note_change(body[:2], body.split(" ", 7)[7], found=found, hidden=hidden)
    elif kind == "2" and (before := next(rest, None)) is not None:  # else what git said was cut before it
        path = body.split(" ", 8)[8]
        found["renamed"].append({"from": _text(before), "to": path})
        _note_change(body[:2], path, found=found, hidden=hidden)


def _note_change(state: str, path: str, *, found: dict[str, Any], hidden: _Hidden) -> None:
    """Two letters: how the index differs from the last commit, and how the file differs from the index."""
    index, file = state
    if file != "." and hidden.has(path):
        file = "."
    if index != ".":
        found["staged"].append(path)
    if file != ".":
        found["modified"].append(path)
    if "D" in {index, file}:
        found["deleted"].append(path)
