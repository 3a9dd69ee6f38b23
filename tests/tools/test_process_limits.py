"""Tools whose work runs in a process of its own do it also where Callgate itself is held to less than they allow."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import py7zr
import pytest

from callgate.tools.process_limits import lower
from tests.needed import missing

LOWERED = """
import ctypes, os, resource, sys
ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # an administrator would be let raise them again
limit, most = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(limit, (most, most))
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""
HOST = """
import asyncio, json, resource, sys
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
ground, limit, tool, arguments = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
categories = ["archives", "code", "data", "intelligence", "maths"]
held = resource.getrlimit(limit)[1]
try:
    resource.setrlimit(limit, (held, held * 2))
    print("they can be raised")
except ValueError:
    pass

async def main():
    async with Callgate.open("memory://", working_directory=ground, builtin_tools=categories) as gate:
        print(await gate.call(tool, arguments, Context(autonomy=Autonomy.A4)))

asyncio.run(main())
"""
MEMORY, SPACE, SECONDS = resource.RLIMIT_DATA, resource.RLIMIT_AS, resource.RLIMIT_CPU
EQUATION = ("symbolic_solve", {"equation": "x**2 - 4"}, "2")
TEXT = ("lint_python", {"code": "import os\n", "fix": True}, "F401")
FILES = ("lint_code", {"path": "a.py"}, "F401")
SYMBOLS = ("search_code", {"query": "plain"}, "plain")
QUERY = ("sql_query", {"query": "select 41 + 1 as found"}, "42")
ARCHIVE = ("archive_open", {"path": "a.7z"}, "a.txt")


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("import os\ndef plain(): pass\n")
    with py7zr.SevenZipFile(tmp_path / "a.7z", "w") as archive:
        archive.writestr("hello", "a.txt")
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("bubblewrap")
@pytest.mark.parametrize(
    ("limit", "most", "called"),
    [
        (SPACE, 1_800_000 * 1024, EQUATION),
        (SECONDS, 9, EQUATION),
        (MEMORY, 400 * 1024**2, TEXT),
        (SECONDS, 30, TEXT),
        (SECONDS, 30, FILES),
        (SPACE, 1_800_000 * 1024, SYMBOLS),
        (SPACE, 1_800_000 * 1024, QUERY),
        (SECONDS, 30, QUERY),
        (SECONDS, 30, ARCHIVE),
    ],
)
def test_what_works_on_a_machine_without_limits_works_under_lower_ones(
    limit: int, most: int, called: tuple[str, dict[str, Any], str], ground: Path
) -> None:
    tool, arguments, found = called
    words = ["-c", HOST, str(ground), str(limit), tool, json.dumps(arguments)]
    ran = subprocess.run(
        [sys.executable, "-c", LOWERED, str(limit), str(most), *words],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    if "they can be raised" in ran.stdout:
        missing("a process that may not raise its own limits")
    assert f"{tool} succeeded" in ran.stdout, ran.stdout + ran.stderr
    assert found in ran.stdout


@pytest.mark.parametrize(
    ("held", "wanted", "then"),
    [
        ((300, 400), 100, (100, 100)),
        ((300, 400), 350, (300, 300)),
        ((300, 400), 500, (300, 300)),
        ((300, resource.RLIM_INFINITY), 500, (300, 300)),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), 500, (500, 500)),
    ],
)
@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_a_limit_becomes_the_lowest_of_what_it_is_and_what_is_wanted(
    whose: str, held: tuple[int, int], wanted: int, then: tuple[int, int]
) -> None:
    process = subprocess.Popen([sys.executable, "-c", ITSELF], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        resource.prlimit(process.pid, resource.RLIMIT_CPU, held)
        if whose == "another's":
            lower({resource.RLIMIT_CPU: wanted}, pid=process.pid)
        said, _ = process.communicate(str(wanted) if whose == "its own" else "")
    assert json.loads(said) == list(then)


ITSELF = """
import json, resource, sys
from callgate.tools.process_limits import lower
if wanted := sys.stdin.read():
    lower({resource.RLIMIT_CPU: int(wanted)})
print(json.dumps(resource.getrlimit(resource.RLIMIT_CPU)))
"""
