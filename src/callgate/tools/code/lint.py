"""lint_python and lint_code: what ruff says of a text, and of files of a project with the project's own settings."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from typing import Annotated, Any, NamedTuple

import orjson
from pydantic import Field

from callgate.adapters.function import tool
from callgate.errors import InvalidArguments, NoEffect
from callgate.model.context import Context
from callgate.model.counted import counted
from callgate.model.levels import Caller
from callgate.model.tool import Preview
from callgate.model.tool_context import ToolContext
from callgate.policy.ways import is_inside
from callgate.tools.code.enclosure import Enclosure, granted
from callgate.tools.code.mending import Mending
from callgate.tools.code.ruff import LOOKED, ask_ruff, find_ruff
from callgate.tools.code.sandbox import Program, Ran, enclosure, run
from callgate.tools.code.shell import Stopped, seconds_left
from callgate.tools.code.sites import Site, in_turn, real_place, refuse_unfit
from callgate.tools.code.texts import told
from callgate.tools.code.watch import Bounds
from callgate.tools.foreseen import foreseen

MOST_CODE = 1_000_000
_MOST_ISSUES = 50
_MOST_LISTED = 200
_MOST_TEXT = 500
_MOST_OUTPUT = 20_000
_SECONDS = 8
_PREVIEWED_SECONDS = 3.0
"""Beside what waiting for its turn may take, of the ten that a preview has."""
_MOST_BYTES = 4 * 1024**2
_HERE = "/run/ruff"
_SAFELY = ("--no-fix-only", "--no-unsafe-fixes")
"""Whatever a project's settings say: they are for people who see what is changed."""
_ONLY_LOOKING = ("--no-fix", *_SAFELY)
_ONLY_DIFFERENCES = ("--diff", "--output-format=json-lines")
"""In this format ruff sums nothing up behind the last difference; `--quiet` would hide that it found no file, too."""
_NOTHING_THERE = b"warning: No Python files found under the given path(s)"
"""Its last line then. The name of a file, which it may say before, can have these words in it, and be lines itself."""
_PLACE = {"line": {"type": "integer"}, "column": {"type": "integer"}}
_ISSUE = {
    "type": "object",
    "properties": {
        **_PLACE,
        "code": {"type": "string"},
        "message": {"type": "string"},
        "fix_available": {"type": "boolean"},
        "file": {"type": "string"},
    },
    "required": ["line", "code", "message", "fix_available"],
    "additionalProperties": False,
}
_OF_TEXT = {
    "type": "object",
    "properties": {
        "issues": {"type": "array", "items": _ISSUE},
        "fixed_code": {"type": ["string", "null"]},
        "summary": {"type": "string"},
    },
    "required": ["issues", "fixed_code", "summary"],
    "additionalProperties": False,
}
_OF_FILES = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "output": {"type": "string"},
        "file_path": {"type": "string"},
        "issue_count": {"type": "integer"},
        "issues": {"type": "array", "items": _ISSUE},
        "exit_code": {"type": "integer"},
        "truncated": {"type": "boolean"},
    },
    "required": ["success", "output", "file_path", "issue_count", "issues", "exit_code", "truncated"],
    "additionalProperties": False,
}
_Code = Annotated[str, Field(max_length=MOST_CODE, json_schema_extra={"format": "text"})]
_Rules = Annotated[
    list[Annotated[str, Field(pattern=r"^[A-Z]{1,5}[0-9]{0,4}$", json_schema_extra={"format": "rule"})]],
    Field(max_length=100),
]


@tool(
    effects="read_only",
    scopes=["compute:run"],
    deterministic=True,
    idempotent=True,
    concurrency_safe=True,
    timeout=10,
    output_schema=_OF_TEXT,
    examples=[{"code": "import os\nprint(1)\n"}, {"code": "import os\nprint(1)\n", "fix": True}],
)
async def lint_python(code: _Code, *, ctx: ToolContext, fix: bool = False) -> dict[str, Any]:
    """Look for mistakes in Python code: errors of syntax, unused and undefined names and the like.

    At most 200 of them are listed; the summary says how many there are.

    Args:
        code: The Python code.
        ctx: The call.
        fix: Also give the code with what can be mended safely mended.
    """
    ruff = find_ruff(ctx.grounds())
    try:
        async with asyncio.timeout(_SECONDS):
            said = await ask_ruff(ruff, code, "--output-format=json-lines", "--exit-zero")
            mended = await ask_ruff(ruff, code, "--fix-only", "--quiet") if fix else None
    except TimeoutError:
        raise Stopped(f"ruff did not answer within {_SECONDS} seconds; give it less code") from None
    if mended is not None and mended.cut:
        raise OSError("ruff makes too much of the code; give it less, or leave fix out")
    issues = _issues(_whole_lines(said.output, cut=said.cut))
    listed = [{name: value for name, value in issue.items() if name != "file"} for issue in issues[:_MOST_LISTED]]
    fixed = None if mended is None else mended.output.decode()
    return {"issues": listed, "fixed_code": fixed, "summary": _summary(issues, more=said.cut)}


def _summary(issues: list[dict[str, Any]], *, more: bool) -> str:
    if not issues:
        return "no issues"
    fixable = sum(issue["fix_available"] for issue in issues)
    count = f"more than {counted(len(issues), 'issue')}" if more else counted(len(issues), "issue")
    listed = f"; the first {_MOST_LISTED} are listed" if len(issues) > _MOST_LISTED else ""
    return f"{count}, {fixable} of them can be mended{listed}"


def _refuse_fixing_in_a_chain(arguments: dict[str, Any], context: Context) -> str | bool:
    if arguments.get("fix") and context.caller is not Caller.DIRECT:
        return "a chain may look at code and not change it: leave fix out, or call lint_code by itself"
    return True


def _how_many(arguments: dict[str, Any]) -> float:
    """How many files ruff mends is known when it has; one that looks mends none."""
    return math.nan if arguments.get("fix") else 0


async def would_lint(arguments: dict[str, Any], ctx: ToolContext) -> Preview:
    """The difference that mending would make, or what is looked at.

    Raises:
        InvalidArguments: The path is not there, or ruff finds no file to mend in it.
    """
    path = arguments["path"]
    with foreseen():
        _look(ctx, path)
    if not arguments.get("fix"):
        return Preview(text=f"would look at {path} with ruff")
    chosen = _chosen(arguments.get("select"), arguments.get("ignore"))
    try:
        async with _opened(ctx, path, writable=False) as opened:
            mending = await _mending(opened, chosen, seconds=_PREVIEWED_SECONDS)
    except NothingToLint as error:
        raise InvalidArguments(str(error)) from error
    except (NoEffect, OSError, ValueError) as error:
        unseen = "would mend what ruff can mend safely, in the files themselves, and what that is could not be seen"
        return Preview(text=f"{path}: {unseen}: {error}")
    return Preview(text=mending.told(path), state=mending.state)


@tool(
    effects="modifies_files",
    scopes=["fs:read", "fs:write"],
    risk="low",
    destructive=False,
    idempotent=True,
    deterministic=False,
    concurrency_safe=False,
    untrusted_output=True,
    allowed_callers={"direct", "chain"},
    timeout=120,
    output_schema=_OF_FILES,
    preview=would_lint,
    blast_radius=_how_many,
    check=_refuse_fixing_in_a_chain,
    marks_effect=True,
    examples=[{"path": "."}, {"path": ".", "select": ["F", "E9"], "ignore": ["F401"]}],
)
async def lint_code(
    path: str,
    *,
    ctx: ToolContext,
    fix: bool = False,
    select: _Rules | None = None,
    ignore: _Rules | None = None,
    timeout: Annotated[int, Field(ge=1, le=100)] = 60,
) -> dict[str, Any]:
    """Look for mistakes in a Python file or a directory of them, by the project's own settings of ruff.

    Args:
        path: The file or directory.
        ctx: The call.
        fix: Also mend in the files what can be mended safely.
        select: Rules to look for instead of the project's, as `F` or `E501`.
        ignore: Rules to leave out.
        timeout: Seconds it may take.
    """
    chosen = _chosen(select, ignore)
    async with _opened(ctx, path, writable=fix) as opened:
        if fix:
            mending = await _mending(opened, chosen, seconds=seconds_left(timeout, ctx))
            if not ctx.is_as_shown(mending.state):
                raise PermissionError(f"what ruff would change in {path} is not what was approved; ask again")
        words = ("--output-format=json-lines", *(("--fix", *_SAFELY) if fix else _ONLY_LOOKING), *chosen)
        # Who only looks leaves nothing behind, however it ends.
        async with ctx.effect() if fix else nullcontext():
            ran = await _run_ruff(opened, *words, seconds=seconds_left(timeout, ctx))
        # In here: what was set aside cannot be told with it, and is left to the next program to tell.
        _refuse_unlooked(ran, opened.site.place)
    return _told_of(ran, opened.site.place, notes=opened.inside.notes)


def _chosen(select: list[str] | None, ignore: list[str] | None) -> tuple[str, ...]:
    named = (("select", select), ("ignore", ignore))
    return tuple(f"--{name}={','.join(rules)}" for name, rules in named if rules)


class _Opened(NamedTuple):
    """What ruff is about to look at."""

    site: Site
    inside: Enclosure


@asynccontextmanager
async def _opened(ctx: ToolContext, path: str, *, writable: bool) -> AsyncGenerator[_Opened]:
    """What ruff gets to see, in its turn."""
    async with (
        in_turn(partial(_look, ctx, path), ctx) as site,
        enclosure(site.grounds, writable=(site.place,) if writable else (), readable=site.roots) as inside,
    ):
        inside.show(find_ruff(site.grounds), at=_HERE)
        yield _Opened(site, inside)


async def _mending(opened: _Opened, chosen: Iterable[str], *, seconds: float) -> Mending:
    ran = await _run_ruff(opened, *_ONLY_DIFFERENCES, *_SAFELY, *chosen, seconds=seconds)
    _refuse_unlooked(ran, opened.site.place)
    if ran.cut:
        raise OSError(f"ruff would change more in {opened.site.place} than can be shown; mend fewer files at a time")
    return Mending(ran.stdout, inside=_shown_place(opened.site))


def _shown_place(site: Site) -> str:
    """The directory ruff runs in, as the working directory calls it; whole where it lies elsewhere."""
    here = site.grounds.directory
    return os.path.relpath(site.directory, here) if is_inside(site.directory, here) else site.directory


async def _run_ruff(opened: _Opened, *words: str, seconds: float) -> Ran:
    command = (_HERE, "check", "--no-cache", *words, opened.site.place)
    program = Program(command=command, directory=opened.site.directory, may_fork=False)
    return await run(program, opened.inside, bounds=Bounds(seconds=seconds, stdout=_MOST_BYTES))


def _look(ctx: ToolContext, path: str) -> Site:
    grounds = ctx.grounds()
    roots = granted(grounds)
    place = real_place(grounds, path, roots=roots, name="path")
    if not os.path.exists(place):  # noqa: PTH110 - a text all along
        raise ValueError(f"path {place} does not exist")
    refuse_unfit(grounds, place)
    directory = place if os.path.isdir(place) else os.path.dirname(place)  # noqa: PTH112, PTH120
    return Site(grounds=grounds, roots=roots, directory=directory, place=place)


class NothingToLint(NoEffect, ValueError):
    """Ruff looked at no file, which is not the same as finding nothing in one."""


def _refuse_unlooked(ran: Ran, place: str) -> None:
    if ran.stopped:
        raise Stopped(f"ruff was stopped: {ran.stopped}; give it fewer files")
    if ran.stderr.splitlines()[-1:] == [_NOTHING_THERE]:
        raise NothingToLint(f"there is no Python file in {place} that the project's own settings do not leave out")
    if ran.returncode not in LOOKED:
        said = ran.stderr.decode(errors="replace")[-_MOST_TEXT:].strip()
        raise OSError(f"ruff could not look at {place}: it ended with {ran.returncode}: {said}")


def _told_of(ran: Ran, place: str, *, notes: list[str]) -> dict[str, Any]:
    issues = _issues(_whole_lines(ran.stdout, cut=ran.cut))
    more = [f"there are more than these {len(issues)}; look at fewer files at a time"] if ran.cut else []
    lines = [f"{i['file']}:{i['line']}:{i['column']}: {i['code']} {i['message']}" for i in issues]
    output, cut = told("\n".join([*more, *lines, *notes]).encode(), _MOST_OUTPUT)
    return {
        "success": not issues,
        "output": output or "no issues",
        "file_path": place,
        "issue_count": len(issues),
        "issues": issues[:_MOST_ISSUES],
        "exit_code": ran.returncode,
        "truncated": cut or ran.cut or len(issues) > _MOST_ISSUES,
    }


def _whole_lines(output: bytes, *, cut: bool) -> list[bytes]:
    """Each line is an issue; the last one is half a line where there was too much to say."""
    return output.split(b"\n")[:-1] if cut else output.splitlines()


def _issues(told: Iterable[bytes]) -> list[dict[str, Any]]:
    return [_issue(orjson.loads(each)) for each in told]


def _issue(found: dict[str, Any]) -> dict[str, Any]:
    return {
        "file": found["filename"],
        "line": found["location"]["row"],
        "column": found["location"]["column"],
        "code": found["code"] or "syntax-error",
        "message": found["message"][:_MOST_TEXT],
        "fix_available": bool(found["fix"]) and found["fix"]["applicability"] == "safe",
    }
