"""The root key and secrets that came in the environment are read by no tool, whatever is granted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KEY = "5a" * 32
SECRET = "hunter2-hunter2"
SETTINGS = "version: 1\nscopes: {fs: {paths: ['/']}}\nmodules: [mytools]\n"
TOOLS = '''
import glob

from callgate import tool

@tool(effects="read_only", scopes={"fs:read"})
def look(path: str) -> str:
    """Read."""
    with open(path, "rb") as file:
        return file.read().replace(b"\\0", b"\\n").decode()

@tool(effects="read_only", scopes={"fs:read"})
def gather(pattern: str) -> str:
    """Read all that fit."""
    return "".join(map(look, glob.glob(pattern)))

@tool(effects="read_only")
def count(file: str) -> str:
    """Say how long it is, and what is in it: it works on files and does not say so."""
    return look(file)
'''


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "callgate.yaml").write_text(SETTINGS)
    (tmp_path / "mytools.py").write_text(TOOLS)
    (tmp_path / "link").symlink_to("/proc/self")
    (tmp_path / "plain.txt").write_text("plain")
    return tmp_path


def call(place: Path, tool: str, argument: str, path: str) -> str:
    given = {"CALLGATE_KEY": KEY, "CALLGATE_SECRET_BANK_TOKEN": SECRET, "HOME": str(place)}
    done = subprocess.run(
        [sys.executable, "-m", "callgate", "call", tool, f'{{"{argument}": "{path}"}}', "--json"],
        cwd=place,
        env={**os.environ, **given, "PYTHONPATH": f"{Path('src').absolute()}:{place}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("path", ["/proc/self/environ", "/proc/thread-self/environ", "link/environ"])
def test_a_tool_that_may_go_anywhere_does_not_read_the_environment(place: Path, path: str) -> None:
    told = call(place, "look", "path", path)
    assert "policy_denied" in told
    assert KEY not in told
    assert SECRET not in told


def test_a_tool_that_does_not_say_that_it_works_on_files_does_not_either(place: Path) -> None:
    told = call(place, "count", "file", "/proc/self/environ")
    assert "policy_denied" in told
    assert KEY not in told


def test_other_files_are_read_as_before(place: Path) -> None:
    assert "plain" in call(place, "look", "path", str(place / "plain.txt"))


@pytest.mark.parametrize("pattern", ["/pro[c]/self/environ", "/*/self/environ", "/proc/sel?/environ", "lin?/environ"])
def test_a_pattern_does_not_lead_to_the_environment(place: Path, pattern: str) -> None:
    told = call(place, "gather", "pattern", pattern)
    assert "policy_denied" in told
    assert KEY not in told
    assert SECRET not in told
