"""run_tests: a project's own tests with pytest, in the sandbox that run_shell has."""

from __future__ import annotations

import os
import sys
import sysconfig
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext
from callgate.tools.code import counting
from callgate.tools.code.mounts import is_inside
from callgate.tools.code.sandbox import Program, enclosure, run
from callgate.tools.code.shell import MOST_SECONDS, seconds_left
from callgate.tools.code.texts import told
from callgate.tools.code.turns import Site, in_turn, look_around, refuse_unfit
from callgate.tools.code.watch import Bounds

_MOST_OUTPUT = 50_000
_SYSTEM = "/usr"
_RESULT = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "output": {"type": "string"},
        "test_path": {"type": "string"},
        "exit_code": {"type": "integer"},
        "passed": {"type": "integer"},
        "failed": {"type": "integer"},
        "errors": {"type": "integer"},
        "truncated": {"type": "boolean"},
    },
    "required": ["success", "output", "test_path", "exit_code", "passed", "failed", "errors", "truncated"],
    "additionalProperties": False,
}


def would_test(arguments: dict[str, Any], _context: Any) -> str:
    """What a preview says."""
    where = arguments.get("working_dir") or "the working directory"
    limit = f"at most {arguments.get('timeout', 300)} s, without network"
    chosen = f", those that match {arguments['pattern']!r}" if arguments.get("pattern") else ""
    return f"would run the tests in {arguments.get('path') or 'tests'} of {where} with pytest{chosen}, {limit}"


@tool(
    effects=["local_exec", "modifies_files"],
    scopes=["shell:execute"],
    risk="medium",
    destructive=False,
    idempotent=False,
    deterministic=False,
    concurrency_safe=False,
    untrusted_output=True,
    egress=False,
    timeout=MOST_SECONDS + 60,
    output_schema=_RESULT,
    preview=would_test,
    marks_effect=True,
    examples=[{"path": "tests"}, {"path": "tests", "pattern": "login and not slow", "verbose": True}],
)
async def run_tests(
    path: str = "tests",
    *,
    ctx: ToolContext,
    pattern: Annotated[str, Field(max_length=500, json_schema_extra={"format": "text"})] | None = None,
    verbose: bool = False,
    timeout: Annotated[int, Field(ge=1, le=MOST_SECONDS)] = 300,
    working_dir: str | None = None,
) -> dict[str, Any]:
    """Run a project's tests with pytest, in a sandbox: no network, only the granted directories to write to.

    The project's own `.venv` is used where there is one, else the Python that Callgate runs on.

    Args:
        path: The file or directory of tests, from the working directory.
        ctx: The call.
        pattern: Which tests by name, as pytest's `-k` takes it.
        verbose: Name every test.
        timeout: Seconds until it is stopped.
        working_dir: The project's directory; the working directory if not given.
    """
    # A number: to a project's own -q another one would be added, and then nothing is said of what failed.
    spoken = f"--verbosity={1 if verbose else -1}"
    options = ["--color=no", "-p", "no:cacheprovider", spoken, *(("-k", pattern) if pattern else ())]
    async with in_turn(partial(_look, ctx, working_dir, path=path), ctx) as site:
        python, needed = _interpreter(site)
        async with enclosure(site.grounds, writable=site.roots, readable=needed) as inside, ctx.effect():
            command = (python, "-c", _counting_program(), *options, "--", site.place)
            program = Program(command=command, directory=site.directory, report=counting.HANDLE)
            ran = await run(program, inside, bounds=Bounds(seconds=seconds_left(timeout, ctx)))
    counts, trouble = _counts(ran.report)
    said = [f"stopped: {ran.stopped}"] if ran.stopped else [trouble] if trouble and ran.returncode == 0 else []
    output, more = told(ran.stdout + ran.stderr, _MOST_OUTPUT)
    return {
        "success": ran.returncode == 0 and not trouble,
        "output": "\n".join([output, *said, *inside.notes]).strip(),
        "test_path": site.place,
        "exit_code": ran.returncode,
        **counts,
        "truncated": more or ran.cut,
    }


def _look(ctx: ToolContext, working_dir: str | None, *, path: str) -> Site:
    site = look_around(ctx, working_dir)
    place = os.path.realpath(os.path.join(site.directory, path))  # noqa: PTH118 - a text all along
    if not any(is_inside(place, root) for root in site.roots) or not os.path.exists(place):  # noqa: PTH110
        raise ValueError(f"path {place} does not exist in what is granted")
    refuse_unfit(site.grounds, place)
    return replace(site, place=place)


def _counts(report: bytes) -> tuple[dict[str, int], str]:
    """How many tests went how, and why that speaks against a success that pytest's own exit code tells."""
    counts = {
        name: report.count(counting.LETTERS[category])
        for name, category in (("passed", "passed"), ("failed", "failed"), ("errors", "error"))
    }
    if not report.endswith(counting.END):
        return counts, "pytest did not come to its end, so nobody knows how the rest of the tests would have gone"
    if counts["failed"] or counts["errors"]:
        return counts, "pytest ended with 0 all the same"
    return counts, "" if len(report) > len(counting.END) else "no test was run"


@cache
def _counting_program() -> str:
    return Path(counting.__file__).read_text("utf-8")


def _interpreter(site: Site) -> tuple[str, list[str]]:
    """Which Python to start, and what has to be seen for it: what it runs from, and not the folder that lies in."""
    ours = (*site.grounds.code, os.path.realpath(sysconfig.get_path("include")))
    hidden = [place for place in ours if not any(is_inside(place, root) for root in (_SYSTEM, *site.roots))]
    needed = [place for place in dict.fromkeys(hidden) if os.path.exists(place)]  # noqa: PTH110 - a text all along
    projects = os.path.join(site.directory, ".venv", "bin", "python")  # noqa: PTH118
    real = os.path.realpath(projects)
    if os.path.exists(real) and any(is_inside(real, seen) for seen in (_SYSTEM, *site.roots, *needed)):  # noqa: PTH110
        return projects, needed
    folder, name = os.path.split(sys.executable)
    return os.path.join(os.path.realpath(folder), name), needed  # noqa: PTH118
