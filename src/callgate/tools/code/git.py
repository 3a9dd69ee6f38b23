"""git_status: what git says of a repository, asked in the sandbox where git can write nothing and start nothing.

A repository is somebody else's text: its configuration may name programs (hooks, filters, a monitor of files) that git
would start to answer. There, it cannot start any.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.code.sandbox import Program, enclosure, run
from callgate.tools.code.shell import seconds_left
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
    },
    "required": ["branch", "modified", "staged", "untracked", "deleted", "renamed", "conflicted", "truncated"],
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
}


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
    well, renamed ones in `renamed`.

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
        raise TimeoutError(f"git was stopped: {ran.stopped}; ask for a smaller repository")
    if ran.returncode:
        raise _trouble(ran.stderr.decode(errors="replace").strip(), site.directory)
    return _read(ran.stdout, cut=ran.cut)


def _trouble(said: str, directory: str) -> Exception:
    if "not a git repository" in said:
        return ValueError(f"repo_path {directory} is in no git repository that can be seen from here")
    return OSError(f"git could not answer: {said[-500:]}")


def _read(output: bytes, *, cut: bool) -> dict[str, Any]:
    found: dict[str, Any] = {
        "branch": None,
        **{name: [] for name in ("modified", "staged", "untracked", "deleted", "renamed", "conflicted")},
    }
    records = iter(output[: output.rfind(b"\0")].split(b"\0"))
    for seen, record in enumerate(records):
        if seen >= _MOST_NAMES:
            cut = True
            break
        _note(_text(record), records, found=found)
    return {**found, "truncated": cut}


def _text(name: bytes) -> str:
    """As it is, or so that two names which are no UTF-8 stay two."""
    return name.decode(errors="backslashreplace")


def _note(record: str, rest: Iterator[bytes], *, found: dict[str, Any]) -> None:
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
        _note_change(body[:2], body.split(" ", 7)[7], found=found)
    elif kind == "2":
        _note_rename(body.split(" ", 8)[8], next(rest, None), state=body[:2], found=found)


def _note_rename(path: str, before: bytes | None, *, state: str, found: dict[str, Any]) -> None:
    if before is not None:  # else what git said was cut before it
        found["renamed"].append({"from": _text(before), "to": path})
        _note_change(state, path, found=found)


def _note_change(state: str, path: str, *, found: dict[str, Any]) -> None:
    """Two letters: how the index differs from the last commit, and how the file differs from the index."""
    index, file = state
    if index != ".":
        found["staged"].append(path)
    if file != ".":
        found["modified"].append(path)
    if "D" in state:
        found["deleted"].append(path)
