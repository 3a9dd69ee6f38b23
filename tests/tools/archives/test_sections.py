"""Sections of archived texts: headings as they are written, and lines that are made to take long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from callgate.tools.archives.sections import count_sections, lines_with_sections
from tests.tools.archives.building import tarred

# The processor's time is bounded by the system, so that a search that never ends is killed and not waited for.
_PROGRAM = """
import asyncio, resource, sys
from callgate import Callgate, Context
async def main():
    async with Callgate.open("memory://", working_directory=sys.argv[1], builtin_tools=["archives"]) as gate:
        who = Context(autonomy="A4")
        await gate.call("archive_open", {"path": "a.tar"}, who)
        used = int(resource.getrusage(resource.RUSAGE_SELF).ru_utime)
        resource.setrlimit(resource.RLIMIT_CPU, (used + 60, used + 60))
        given = {"query": "zzz"} if sys.argv[2] == "archive_search" else {}
        print((await gate.call(sys.argv[2], given, who)).status)
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("line", "section"),
    [
        ("# One", "One"),
        ("###### Six ## ", "Six"),
        ("#  # x", "# x"),
        ("# #", ""),
        ("####### Seven", None),
        ("#none", None),
        (" # none", None),
        ("#", None),
        ("", None),
    ],
    ids=["one", "closed", "hash-inside", "empty", "seven", "no-blank", "blank-before", "hash-only", "nothing"],
)
def test_a_heading_is_hashes_and_a_blank_at_the_beginning(line: str, section: str | None) -> None:
    told = list(lines_with_sections(f"first\r\n{line}\rlast"))
    assert told == [(1, "", "first"), (2, section or "", line), (3, section or "", "last")]
    assert count_sections(f"# a\n{line}\n") == (1 if section is None else 2)


@pytest.mark.parametrize("name", ["archive_search", "archive_extract"])
def test_a_line_of_many_hashes_is_read_as_fast_as_any_other(tmp_path: Path, name: str) -> None:
    line = b"# " + b"# " * 4_000_000 + b"x\n"
    (tmp_path / "a.tar").write_bytes(tarred({"README.md": line}))
    command = [sys.executable, "-c", _PROGRAM, str(tmp_path), name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["succeeded"], (done.returncode, done.stderr[-1000:])
