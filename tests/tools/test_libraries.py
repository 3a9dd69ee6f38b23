"""Libraries of built-in tools come from what is installed, and never from a file that a tool wrote a moment ago."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import py7zr
import pytest

from callgate.tools.libraries import find_library, from_installed_only, out_of_reach
from tests.needed import missing
from tests.tools.code.small_program import grounds_of
from tests.tools.without import installed_without

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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "tool", "arguments", "extra"),
    [
        ("py7zr", "archive_open", {"path": "a.7z"}, "archives"),
        ("duckdb", "sql_query", {"query": "SELECT 1", "engine": "duckdb"}, "duckdb"),
        ("wordllama", "embed_text", {"text": "a horse"}, "language"),
        ("texicode", "render_math", {"latex": "x^2"}, "data"),
    ],
    ids=["py7zr", "duckdb", "wordllama", "texicode"],
)
def test_a_library_that_is_really_not_there_is_told_with_what_installs_it(
    tmp_path: Path, module: str, tool: str, arguments: dict[str, Any], extra: str
) -> None:
    """Nothing is faked here: this Python starts without the place where the library lies."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.7z").write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(26))
    env = os.environ | {"PYTHONPATH": installed_without(module, tmp_path / "packages")}
    words = [sys.executable, "-S", "-m", "callgate", "call", tool, json.dumps(arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=work, check=False, env=env)
    assert f"pip install 'callgate[{extra}]'" in done.stderr, done.stdout + done.stderr
    assert "unexpectedly" not in done.stderr


def test_inside_a_tool_a_library_is_there_or_it_is_not() -> None:
    names = ["py7zr", "callgate_has_no_such_library", "callgate_has_no_such.part"]
    handler = from_installed_only(lambda _arguments, _context: [find_library(name) for name in names], is_async=False)
    [there, *nowhere] = handler({}, SimpleNamespace(grounds=lambda: grounds_of(Path("/nowhere"))))
    assert there is not None
    assert nowhere == [None, None]


def _shared_library() -> str:
    """A library that this Python is linked to: its own, or the system's where that is in the program itself."""
    told = subprocess.run(["ldd", os.path.realpath(sys.executable)], capture_output=True, text=True, check=False).stdout
    found = sorted(
        (line.split()[0] for line in told.splitlines() if "=>" in line), key=lambda name: "python" not in name
    )
    if not found:
        missing("a Python that is linked to a shared library")
    return found[0]


ASKER = """
import asyncio, os, sys
from callgate import Callgate

async def main():
    async with Callgate.open("memory://", working_directory=sys.argv[1], builtin_tools=["sql_query"]) as gate:
        os.rename(sys.argv[1] + "/planted", sys.argv[1] + "/lib")
        print(await gate.call("sql_query", {"query": "SELECT 1 AS one", "tables": {}}))

asyncio.run(main())
"""


def test_a_shared_library_where_tools_may_write_is_not_loaded(tmp_path: Path) -> None:
    """The environment names a directory of the project, in which a program may put one: this one starts nothing."""
    (tmp_path / "planted").mkdir()
    (tmp_path / "planted" / _shared_library()).write_bytes(b"no library at all\n" * 100)
    env = {**os.environ, "LD_LIBRARY_PATH": f"{tmp_path}/lib"}
    words = [sys.executable, "-c", ASKER, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd="/", check=False, env=env)
    assert "sql_query succeeded" in done.stdout, done.stdout + done.stderr
    loaded = subprocess.run([sys.executable, "-c", ""], env=env, capture_output=True, text=True, check=False)
    assert f"{tmp_path}/lib/{_shared_library()}" in loaded.stderr  # that it would have been loaded


def test_places_that_no_tool_may_write_are_out_of_reach(tmp_path: Path) -> None:
    ground = replace(
        grounds_of(tmp_path / "ground"), others=(str(tmp_path / "other"),), code=(f"{tmp_path}/other/env",)
    )
    (tmp_path / "way").symlink_to("ground")
    named = ["here", *(f"{tmp_path}/{name}" for name in ("ground/lib", "way/lib", "other", "other/env/lib", "free"))]
    handler = from_installed_only(lambda _arguments, _context: out_of_reach(named), is_async=False)
    assert handler({}, SimpleNamespace(grounds=lambda: ground)) == [f"{tmp_path}/other/env/lib", f"{tmp_path}/free"]
