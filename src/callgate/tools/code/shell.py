"""run_shell: one command line in the sandbox, with the granted directories to write to and nothing else."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.code.sandbox import Program, Ran, enclosure, run
from callgate.tools.code.sites import in_turn, look_around
from callgate.tools.code.texts import told
from callgate.tools.code.watch import Bounds
from callgate.tools.foreseen import foreseen

MOST_STDOUT = 50_000
MOST_STDERR = 10_000
MOST_SECONDS = 600
MOST_COMMAND = 131_071
_RESERVE_SECONDS = 2.0
"""Kept of the call's own time, to stop the program and to tell how it went."""
_FILE_TOO_LARGE = 128 + signal.SIGXFSZ
_MOST_MIB = Bounds().file_bytes // 1024**2
_BREAKS = re.compile(r"[\0\n\r\v\f\x85\u2028\u2029]")
_RESULT = {
    "type": "object",
    "properties": {
        "stdout": {"type": "string"},
        "stderr": {"type": "string"},
        "returncode": {"type": "integer"},
        "elapsed_ms": {"type": "number"},
        "truncated": {"type": "boolean"},
        "note": {"type": ["string", "null"]},
    },
    "required": ["stdout", "stderr", "returncode", "elapsed_ms", "truncated", "note"],
    "additionalProperties": False,
}


def would_run(arguments: dict[str, Any], ctx: ToolContext) -> str:
    """What a preview says."""
    with foreseen():
        refuse_breaks(arguments["command"])
        look_around(ctx, arguments.get("cwd"), name="cwd")
    where = arguments.get("cwd") or "the working directory"
    limit = f"at most {arguments['timeout']} s, without network"
    return f"would run in {where}, {limit}: {arguments['command']}"


@tool(
    effects=["local_exec", "modifies_files", "system_state"],
    scopes=["shell:execute"],
    risk="medium",
    destructive=True,
    idempotent=False,
    deterministic=False,
    concurrency_safe=False,
    untrusted_output=True,
    egress=False,
    timeout=MOST_SECONDS + 60,
    output_schema=_RESULT,
    preview=would_run,
    marks_effect=True,
    examples=[{"command": "echo hello | tr a-z A-Z"}, {"command": "ls -l", "cwd": ".", "timeout": 10}],
)
async def run_shell(
    command: str,
    *,
    ctx: ToolContext,
    timeout: Annotated[int, Field(ge=1, le=MOST_SECONDS)] = 30,
    cwd: str | None = None,
) -> dict[str, Any]:
    """Run one command line in a sandbox: no network, an empty environment, only the granted directories to write to.

    A command that does not end in time is stopped with everything it started, and its returncode is -1.

    Args:
        command: One line for `sh`.
        ctx: The call.
        timeout: Seconds until it is stopped.
        cwd: The directory it runs in; the working directory if not given.
    """
    refuse_breaks(command)
    async with (
        in_turn(partial(look_around, ctx, cwd, name="cwd"), ctx) as site,
        enclosure(site.grounds, writable=site.roots, seconds=timeout) as inside,
        ctx.effect(),
    ):
        ran = await run(
            Program(command=("/bin/sh", "-c", command), directory=site.directory),
            inside,
            bounds=Bounds(seconds=seconds_left(timeout, ctx)),
        )
    stdout, more = told(ran.stdout, MOST_STDOUT)
    stderr, more_stderr = told(ran.stderr, MOST_STDERR)
    notes = (*_notes(ran), *_hidden(ran, inside.hidden, directory=site.directory), *inside.notes)
    return {
        "stdout": stdout,
        "stderr": stderr,
        "returncode": ran.returncode,
        "elapsed_ms": round(ran.seconds * 1000, 1),
        "truncated": more or more_stderr or ran.cut,
        "note": "; ".join(notes) or None,
    }


def _notes(ran: Ran) -> Iterator[str]:
    if ran.stopped:
        yield f"stopped: {ran.stopped}"
    if ran.returncode == _FILE_TOO_LARGE:
        yield f"returncode {_FILE_TOO_LARGE} is that of a program whose file would be larger than {_MOST_MIB} MiB"


def _hidden(ran: Ran, places: Iterable[str], *, directory: str) -> Iterator[str]:
    """What the program spoke of and saw nothing of: git, say, takes it for changed, and cannot read it."""
    said = ran.stdout + b"\n" + ran.stderr
    names = (os.path.relpath(place, directory) for place in places)
    if met := [name for name in names if os.fsencode(name) in said]:
        yield f"kept from tools, and so found empty or closed by programs: {', '.join(met)}"


def refuse_breaks(command: str) -> None:
    """Refuse what is not one line.

    Raises:
        ValueError: It has a NUL or a line break, nothing in it, or is longer than the kernel hands to a program.
    """
    if len(command.encode(errors="replace")) > MOST_COMMAND:
        raise ValueError(f"command is longer than {MOST_COMMAND} bytes; write a script first, and run that")
    if not command.strip():
        raise ValueError("command is empty; give one line for sh")
    if _BREAKS.search(command):
        raise ValueError("command must be one line without NUL; put ; or && between commands, or write a script first")


class Stopped(TimeoutError):
    """A program had all that it may have, and did not come to its end: with what is left it would not, either."""

    retryable = False


def seconds_left(wanted: float, ctx: ToolContext) -> float:
    """The time a program may have, so that its end can still be told within the call's own."""
    left = ctx.remaining(time.monotonic())
    return wanted if left is None else max(0.1, min(wanted, left - _RESERVE_SECONDS))
