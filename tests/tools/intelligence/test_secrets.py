"""Secrets that stand in the code of a project: struck whole, and by halves where a text is cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, ToolContext, tool
from callgate.settings.load import parse_settings
from callgate.testing import ScriptedApprover
from tests.journeys.gates import gate_of
from tests.tools.intelligence.asking import write

SECRET = "hunter2-alpha-bravo-charlie"
LONG = "first-half-of-the-key\nsecond-half-of-the-key"
SETTINGS = "autonomy: A4\nroles: {default: {scopes: ['*', 'secrets:*'], allow: ['group:all']}}"


def opened(folder: Path, monkeypatch: pytest.MonkeyPatch, value: str) -> Callgate:
    """A gate with a tool that takes the secret out."""

    @tool(effects="read_only", scopes=["secrets:read"])
    async def unlock(ctx: ToolContext) -> int:
        """Take it out."""
        return len(ctx.get_secret("archive", "word"))

    monkeypatch.setenv("CALLGATE_SECRET_ARCHIVE_WORD", value)
    return gate_of(
        unlock,
        config=parse_settings(SETTINGS, file="callgate.yaml"),
        ask=ScriptedApprover("approve"),
        working_directory=folder,
        builtin_tools=["intelligence"],
        store="memory://",
    )


def padded(start: str, width: int) -> str:
    """A line in which the secret is cut, three letters before its end, where lines are cut at this width."""
    return start + "." * (width - len(start) - len(SECRET) + 3) + SECRET


@pytest.mark.parametrize(
    ("content", "name", "arguments"),
    [
        (padded("needle_word = 1  # ", 200), "search_code", {"query": "needle_word"}),
        (padded("needle_word()  # ", 300), "find_references", {"symbol": "needle_word"}),
        (padded('def needle_word(x="', 200) + '"): pass', "find_definition", {"symbol": "needle_word"}),
        (padded('def needle_word(x="', 200) + '"): pass', "get_repo_map", {}),
        (
            "def needle_word():\n    '''" + padded("", 200) + "'''\n",
            "get_repo_map",
            {"include_docstrings": True},
        ),
        (
            "def needle_word(x,\n" + " " * (4000 - 43) + f'y="{SECRET}"): pass',
            "find_definition",
            {"symbol": "needle_word"},
        ),
        (f"k{'.' * 80}\nneedle_word = 1  # {SECRET}", "search_code", {"query": "needle_word"}),
    ],
    ids=["snippet", "line", "signature", "map", "docstring", "long signature", "whole"],
)
async def test_no_half_of_a_secret_is_told_where_a_text_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str, name: str, arguments: dict[str, Any]
) -> None:
    write(tmp_path, {"a.py": content + "\n"})
    async with opened(tmp_path, monkeypatch, SECRET) as gate:
        assert (await gate.call("unlock", {})).ok
        told = json.dumps((await gate.call(name, arguments)).unwrap())
    assert "needle_word" in told
    assert SECRET[:10] not in told


async def test_no_line_of_a_secret_that_is_longer_than_a_line_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"notes.txt": f"{LONG} marker\n", "other.txt": "marker\n"})
    async with opened(tmp_path, monkeypatch, LONG) as gate:
        assert (await gate.call("unlock", {})).ok
        results = (await gate.call("search_code", {"query": "marker second half"})).unwrap()["results"]
    assert {each["path"]: each["snippet"].strip() for each in results} == {"notes.txt": "", "other.txt": "marker"}


async def test_a_line_that_is_cut_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a.py": "needle_word = '" + "x" * 300 + "'\n"})
    async with opened(tmp_path, monkeypatch, SECRET) as gate:
        [found] = (await gate.call("search_code", {"query": "needle_word"})).unwrap()["results"]
    assert found["snippet"] == "needle_word = '" + "x" * 185 + "…"
