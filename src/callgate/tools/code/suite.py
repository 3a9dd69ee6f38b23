"""run_tests: a project's own tests with pytest, in the sandbox that run_shell has."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from callgate.adapters.function import tool
from callgate.errors import ToolUnavailableError
from callgate.model.tool_context import ToolContext
from callgate.policy.ways import follow, is_inside
from callgate.tools.code import counting
from callgate.tools.code.finished import finished, on_thread
from callgate.tools.code.lacking import PytestMissing, how_to_install, lacks_pytest
from callgate.tools.code.mounts import SEEN
from callgate.tools.code.sandbox import Program, Ran, enclosure, run
from callgate.tools.code.shell import MOST_SECONDS, seconds_left
from callgate.tools.code.sites import Site, in_turn, look_around, real_place, refuse_unfit
from callgate.tools.code.texts import told
from callgate.tools.code.watch import Bounds
from callgate.tools.foreseen import foreseen

_MOST_OUTPUT = 50_000
_SYSTEM = "/usr"
_FINE = (0, 5)
"""How pytest ends when nothing failed, and when it found no test."""
_UNUSED = (
    "these tests ran with Callgate's own Python and its packages: the project's .venv needs {}, which programs do not"
    " see here; the operator can list the directory that it is installed in among the paths of the shell family"
)
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


def would_test(arguments: dict[str, Any], ctx: ToolContext) -> str:
    """What a preview says."""
    with foreseen():
        site = _look(ctx, arguments.get("working_dir"), path=_parted(arguments["path"])[0])
    lacking = lacks_pytest(_interpreter(site)[0], site)
    if lacking is not None:
        raise ToolUnavailableError(lacking)
    where = arguments.get("working_dir") or "the working directory"
    limit = f"at most {arguments['timeout']} s, without network"
    chosen = f", those that match {arguments['pattern']!r}" if arguments.get("pattern") else ""
    return f"would run the tests in {arguments['path']} of {where} with pytest{chosen}, {limit}"


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

    The project's own `.venv` is used where there is one, else the Python that Callgate runs on; it has to have pytest.

    Args:
        path: The file or directory of tests, from the working directory; or one test, as `tests/test_a.py::test_b`.
        ctx: The call.
        pattern: Which tests by name, as pytest's `-k` takes it.
        verbose: Name every test.
        timeout: Seconds until it is stopped.
        working_dir: The project's directory; the working directory if not given.
    """
    # A number: to a project's own -q another one would be added, and then nothing is said of what failed.
    spoken = f"--verbosity={1 if verbose else -1}"
    options = ["--color=no", "-o", "cache_dir=/tmp/.pytest_cache", spoken, *(("-k", pattern) if pattern else ())]
    file, node = _parted(path)
    async with in_turn(partial(_look, ctx, working_dir, path=file), ctx) as site:
        python, needed, unused = await finished(on_thread(partial(_interpreter_with_pytest, site)))
        looked_after = enclosure(site.grounds, writable=site.roots, readable=needed, seconds=timeout)
        async with looked_after as inside, ctx.effect():
            command = (python, "-c", _counting_program(), *options, "--", f"{site.place}{node}")
            program = Program(command=command, directory=site.directory, report=counting.HANDLE)
            ran = await run(program, inside, bounds=Bounds(seconds=seconds_left(timeout, ctx)))
            if ran.report == counting.LACKING:  # in here: what was set aside is left to the next program to tell
                raise PytestMissing(how_to_install(python, site))
    counts, trouble = _counts(ran)
    said = [f"stopped: {ran.stopped}"] if ran.stopped else [trouble] if trouble and ran.returncode in _FINE else []
    output, more = told(ran.stdout + ran.stderr, _MOST_OUTPUT)
    return {
        "success": ran.returncode == 0 and not trouble,
        "output": "\n".join([output, *said, *unused, *inside.notes]).strip(),
        "test_path": site.place,
        "exit_code": ran.returncode,
        **counts,
        "truncated": more or ran.cut,
    }


def _parted(path: str) -> tuple[str, str]:
    """The file, and what pytest may be told of in it: `tests/test_a.py::test_b`."""
    file, colons, node = path.partition("::")
    return file, colons + node


def _look(ctx: ToolContext, working_dir: str | None, *, path: str) -> Site:
    site = look_around(ctx, working_dir, name="working_dir")
    place = real_place(site.grounds, path, roots=site.roots, name="path", base=site.directory)
    if not os.path.exists(place):  # noqa: PTH110 - a text all along
        raise ValueError(f"path {place} does not exist")
    refuse_unfit(site.grounds, place)
    return replace(site, place=place)


def _counts(ran: Ran) -> tuple[dict[str, int], str]:
    """How many tests went how, and why that speaks against a success that pytest's own exit code tells."""
    counts = {
        name: ran.report.count(counting.LETTERS[category])
        for name, category in (("passed", "passed"), ("failed", "failed"), ("errors", "error"))
    }
    if ran.report_cut:
        return counts, "more tests were run than are counted, so nobody knows how the rest of them went"
    if not ran.report.endswith(counting.END):
        return counts, "pytest did not come to its end, so nobody knows how the rest of the tests would have gone"
    if counts["failed"] or counts["errors"]:
        return counts, "pytest ended with 0 all the same"
    return counts, "" if len(ran.report) > len(counting.END) else "no test was run"


@cache
def _counting_program() -> str:
    return Path(counting.__file__).read_text("utf-8")


def _interpreter_with_pytest(site: Site) -> tuple[str, list[str], list[str]]:
    """As `_interpreter`. Slow where a disk is: for a thread.

    Raises:
        PytestMissing: That Python has none.
    """
    found = _interpreter(site)
    lacking = lacks_pytest(found[0], site)
    if lacking is not None:
        raise PytestMissing(lacking)
    return found


def _interpreter(site: Site) -> tuple[str, list[str], list[str]]:
    """Which Python to start, what has to be seen for it (not the folder that lies in), and why it is not the project's.

    The project's is none where its `.venv`, or the Python behind it, lies in a place that is not granted.
    """
    runs_from = (*site.grounds.code, os.path.realpath(sysconfig.get_path("include")))
    hidden = [place for place in runs_from if not any(is_inside(place, root) for root in (_SYSTEM, *site.roots))]
    needed = [place for place in dict.fromkeys(hidden) if os.path.exists(place)]  # noqa: PTH110 - a text all along
    projects = os.path.join(site.directory, ".venv", "bin", "python")  # noqa: PTH118
    unseen = list(_unseen(projects, (*SEEN, *site.roots, *needed)))
    if not unseen:
        return projects, needed, []
    folder, name = os.path.split(sys.executable)
    ours = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
    meant = os.path.lexists(projects) or os.path.islink(os.path.join(site.directory, ".venv"))  # noqa: PTH114, PTH118
    return ours, needed, [_UNUSED.format(" and ".join(unseen))] if meant else []


def _unseen(program: str, seen: Sequence[str]) -> Iterator[str]:
    """What is missing in the sandbox of what it is found by: each link counts, wherever the last one leads."""
    try:
        way = follow(program)
    except PermissionError:
        yield program
        return
    for place in (*way.links, way.real):
        if not (os.path.lexists(place) and any(is_inside(place, each) for each in seen)):
            yield place
