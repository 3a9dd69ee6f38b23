"""list_directory and list_dir: one tool under two names, at most a thousand entries, links not followed. TOOL-12."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import math
import os
from collections.abc import Generator
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


@pytest.mark.parametrize("pattern", ["*.{py,txt}", "{sub,deep}/*.py", "{sub/c,a}.py", "**/{a,}.py"])
async def test_a_pattern_with_alternatives_is_refused_and_lists_nothing_by_mistake(tree: Path, pattern: str) -> None:
    refused = await once(tree, "list_directory", path=".", pattern=pattern)
    assert refused.error is not None
    assert refused.error.category is Category.USER_INPUT
    assert "list for each of them by itself" in refused.error.message


@pytest.mark.parametrize("pattern", ["{{a}}/*", "{{?}}/[{]b,c}", "{{a}}/[{]*"])
async def test_braces_in_a_name_are_signs_like_others(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "{{a}}").mkdir()
    (tmp_path / "{{a}}" / "{b,c}").touch()
    assert await paths(tmp_path, pattern=pattern) == ["{{a}}/{b,c}"]


async def test_there_are_at_most_a_thousand(tmp_path: Path) -> None:
    """TOOL-12: listing has at most 1000 entries, and says how many it leaves out."""
    for number in range(1000):
        (tmp_path / f"{number:04}").touch()
    for further, said in ((0, None), (5, "not listed: 5 more")):
        for number in range(1000, 1000 + further):
            (tmp_path / f"{number:04}").touch()
        entries = (await once(tmp_path, "list_directory", path=".")).unwrap()
        assert [entry["name"] for entry in entries] == [f"{number:04}" for number in range(1000)]
        assert not any("note" in entry for entry in entries[:-1])
        assert (said or "") in entries[-1].get("note", "")
        assert ("note" in entries[-1]) == (said is not None)


async def test_what_is_left_out_is_said_beside_what_else_is_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "MOST", 1)
    monkeypatch.setattr(listing, "_DEEPEST", 0)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    [entry] = (await once(tmp_path, "list_directory", path=".", recursive=True)).unwrap()
    assert entry["note"].startswith("not looked into: more than 0 levels down; not listed: 1 more")


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


@contextlib.contextmanager
def mounted_and_gone(folder: Path) -> Generator[None]:
    """A mount of a program that has ended: the system knows its name, and that it is a directory."""
    system = ctypes.CDLL(None, use_errno=True)
    try:
        fuse = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        pytest.skip("only who has /dev/fuse can mount what a program shows")
    try:
        options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
        if system.mount(b"test", bytes(folder), b"fuse", 0, options) != 0:
            pytest.skip("only root, and not everywhere, may mount something")
    finally:
        os.close(fuse)
    try:
        yield
    finally:
        system.umount2(bytes(folder), 2)


async def test_what_cannot_be_looked_at_is_listed_with_a_note_and_the_rest_as_ever(tmp_path: Path) -> None:
    (tmp_path / "gone.d").mkdir()
    (tmp_path / "a.txt").touch()
    with mounted_and_gone(tmp_path / "gone.d"):
        entries = (await once(tmp_path, "list_directory", path=".")).unwrap()
        assert entries[0] == {
            "name": "gone.d",
            "path": "gone.d",
            "type": "dir",
            "size": 0,
            "modified": "unknown",
            "note": f"could not be looked at: {os.strerror(errno.ENOTCONN)}",
        }
        assert [entry["name"] for entry in entries] == ["gone.d", "a.txt"]
        assert await paths(tmp_path, pattern="*.txt") == ["a.txt"]
        assert await paths(tmp_path, pattern="*.txt", recursive=True) == ["gone.d", "a.txt"]
