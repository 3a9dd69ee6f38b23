"""Libraries of built-in tools come from what is installed, and never from a file that a tool wrote a moment ago."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import py7zr
import pytest

AGENT = """
import asyncio, json, sys
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
witness, module, tool, arguments = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])

async def main():
    async with Callgate.open("memory://", builtin_tools=["archives", "files", "data", "maths"]) as gate:
        who = Context(autonomy=Autonomy.A4)
        code = f"open({witness!r}, 'w').write('it ran')"
        print((await gate.call("write_file", {"path": f"{module}.py", "content": code}, who)).unwrap()["path"])
        print(await gate.call(tool, arguments, who))

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("module", "tool", "arguments"),
    [
        ("jmespath", "json_query", '{"data": [1], "query": "[0]"}'),
        ("numpy", "calculate", '{"expression": "1 + 1"}'),
        ("sympy", "symbolic_solve", '{"equation": "x - 1"}'),
        ("sqlite3", "sql_query", '{"query": "select 1 as a"}'),
        ("resource", "sql_query", '{"query": "select 1 as a"}'),
        ("py7zr", "archive_open", '{"path": "a.7z"}'),
        ("lzma", "archive_open", '{"path": "a.7z"}'),
    ],
    ids=["jmespath", "numpy", "sympy", "sqlite3", "resource", "py7zr", "lzma"],
)
def test_a_file_that_was_written_is_not_taken_for_a_library(
    tmp_path: Path, module: str, tool: str, arguments: str
) -> None:
    """A program started in its project imports from there first, and its tools write there."""
    work, witness = tmp_path / "work", tmp_path / "witness"
    work.mkdir()
    (work / "agent.py").write_text(AGENT)
    with py7zr.SevenZipFile(work / "a.7z", "w") as archive:
        archive.writestr("hello", "a.txt")
    words: list[Any] = [sys.executable, "agent.py", witness, module, tool, arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=work, check=False)
    assert f"{tool} succeeded" in done.stdout, done.stdout + done.stderr
    assert (work / f"{module}.py").exists()
    assert not witness.exists()
