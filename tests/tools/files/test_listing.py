"""list_directory and list_dir: one tool under two names, at most a thousand entries, links not followed. TOOL-12."""

from __future__ import annotations

import math
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callgate.model.levels import Category
from callgate.tools.files import listing
from tests.tools.files.calling import once


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.txt", "a.py", "sub/c.py", "sub/deep/d.py", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to("sub")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


async def paths(folder: Path, name: str = "list_directory", **arguments: Any) -> list[str]:
    return [entry["path"] for entry in (await once(folder, name, **{"path": ".", **arguments})).unwrap()]


@pytest.mark.parametrize("name", ["list_directory", "list_dir"])
async def test_directories_come_first_and_then_names(tree: Path, name: str) -> None:
    assert await paths(tree, name) == ["sub", ".hidden", "a.py", "b.txt", "link", "pipe"]
    entries = (await once(tree, name, path=".")).unwrap()
    assert {entry["name"]: entry["type"] for entry in entries} == {
        "sub": "dir",
        ".hidden": "file",
        "a.py": "file",
        "b.txt": "file",
        "link": "link",
        "pipe": "other",
    }
    assert entries[2] == {"name": "a.py", "path": "a.py", "type": "file", "size": 1} | {
        "modified": entries[2]["modified"]
    }


async def test_a_pattern_is_about_names_or_with_a_slash_about_paths(tree: Path) -> None:
    assert await paths(tree, pattern="*.py") == ["a.py"]
    assert await paths(tree, pattern="*.py", recursive=True) == ["a.py", "sub/c.py", "sub/deep/d.py"]
    assert await paths(tree, pattern="sub/*.py", recursive=True) == ["sub/c.py", "sub/deep/d.py"]
    assert await paths(tree, path="sub", pattern="c*") == ["sub/c.py"]


@pytest.mark.parametrize(
    ("pattern", "listed"),
    [
        ("sub/*.py", ["sub/c.py"]),
        ("./sub/*.py", ["sub/c.py"]),
        ("**/*.py", ["a.py", "sub/c.py", "sub/deep/d.py"]),
        ("sub/**/*.py", ["sub/c.py", "sub/deep/d.py"]),
        ("sub/**", ["sub/deep", "sub/c.py", "sub/deep/d.py"]),
        ("**/deep/*", ["sub/deep/d.py"]),
        ("**/**/d.py", ["sub/deep/d.py"]),
        ("*/*", ["sub/deep", "sub/c.py"]),
        ("sub/", ["sub"]),
        ("a.py/*", []),
        ("link/*", []),
    ],
)
async def test_a_pattern_with_a_slash_leads_below_as_far_as_it_says(
    tree: Path, pattern: str, listed: list[str]
) -> None:
    assert await paths(tree, pattern=pattern) == listed


async def test_of_what_a_pattern_does_not_lead_to_nothing_is_looked_at(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "_MOST_SEEN", 10)
    (tree / "other").mkdir()
    for number in range(10):
        (tree / "other" / f"{number}.py").touch()
    assert await paths(tree, pattern="sub/*.py") == ["sub/c.py"]


@pytest.mark.parametrize("pattern", ["../*", "/etc/*", "sub/../../*"])
async def test_a_pattern_does_not_climb(tree: Path, pattern: str) -> None:
    """A pattern like ../../etc/host* lists nothing outside."""
    outcome = await once(tree, "list_directory", path=".", pattern=pattern, recursive=True)
    assert not outcome.ok


async def test_there_are_at_most_a_thousand(tmp_path: Path) -> None:
    """TOOL-12: listing has at most 1000 entries."""
    for number in range(1005):
        (tmp_path / f"{number:04}").touch()
    assert len(await paths(tmp_path)) == 1000


async def test_a_tree_that_is_too_large_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "_MOST_SEEN", 5)
    outcome = await once(tree, "list_directory", path=".", recursive=True)
    assert outcome.error is not None
    assert outcome.error.category is Category.USER_INPUT


async def test_a_name_that_is_no_text_is_shown_escaped(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.txt")).touch()
    assert await paths(tmp_path) == ["\\xff.txt"]


async def test_what_is_no_directory_or_not_there_says_so(tree: Path) -> None:
    for path in ("a.py", "nothing"):
        outcome = await once(tree, "list_dir", path=path)
        assert outcome.error is not None
        assert outcome.error.category is Category.RESOURCE


async def test_a_listing_that_takes_too_long_is_given_up(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "time", SimpleNamespace(monotonic=lambda: math.inf))
    outcome = await once(tree, "list_directory", path=".", recursive=True)
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT
