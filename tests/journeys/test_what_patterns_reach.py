"""What a tool of one's own finds by a pattern is judged before it looks: the tools here note what they came to."""

from __future__ import annotations

import asyncio
import ctypes
import fnmatch
import glob
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callgate import Context, tool
from callgate.model.levels import Verdict
from callgate.policy import paths, patterns
from callgate.settings.load import parse_settings
from tests.journeys.gates import gate_of


def collecting(folder: Path, came_to: list[str]) -> Any:
    @tool(effects="read_only", scopes=["fs:read"])
    def collect(pattern: str) -> list[str]:
        """Read all that fit."""
        matched = glob.glob(pattern, root_dir=folder, include_hidden=True, recursive=True)  # noqa: PTH207 - as tools do
        came_to.extend(found for found in matched if (folder / found).is_file())
        return came_to

    return collect


@pytest.mark.parametrize("pattern", ["callgate.ya?l", "[c]allgate.yaml", ".callgat?/callgate.db", "*", "**", "*/*.db*"])
async def test_no_pattern_leads_to_the_configuration_or_the_store(pattern: str, tmp_path: Path) -> None:
    (tmp_path / "callgate.yaml").write_text("version: 1\n")
    (tmp_path / "plain.txt").write_text("plain")
    came_to: list[str] = []
    config = parse_settings("version: 1\n", file=str(tmp_path / "callgate.yaml"))
    store = f"sqlite:///{tmp_path / '.callgate' / 'callgate.db'}"
    async with gate_of(collecting(tmp_path, came_to), config=config, working_directory=tmp_path, store=store) as gate:
        outcome = await gate.call("collect", {"pattern": pattern})
        assert came_to == []
        assert "Callgate's own files" in str(outcome.error)
        assert (await gate.call("collect", {"pattern": "*.tx?"})).unwrap() == ["plain.txt"]


def by_whole_paths(folder: Path, pattern: str) -> list[str]:
    """As tools do that walk, and compare relative paths."""
    return fnmatch.filter((str(found.relative_to(folder)) for found in folder.rglob("*")), pattern)


class _Found(ctypes.Structure):
    _fields_ = (("count", ctypes.c_size_t), ("paths", ctypes.POINTER(ctypes.c_char_p)), ("more", ctypes.c_size_t * 16))


def by_the_system(folder: Path, pattern: str) -> list[str]:
    """As shells and many libraries do."""
    found = _Found()
    ctypes.CDLL(None).glob(str(folder / pattern).encode(), 0, None, ctypes.byref(found))
    return [str(Path(found.paths[at].decode()).relative_to(folder)) for at in range(found.count)]


def by_braces(folder: Path, pattern: str) -> list[str]:
    """As tools do that open braces."""
    words = [""]
    for before, inside in re.findall(r"([^{]*)(?:\{([^}]*)\})?", pattern):
        words = [word + before + each for word in words for each in inside.split(",")]
    return words


@pytest.mark.parametrize(
    ("expand", "pattern"),
    [
        (by_whole_paths, ".call*db"),
        (by_whole_paths, "conf?callgate.yaml"),
        (by_whole_paths, "co*.yaml"),
        (by_the_system, "conf/[x[:alpha:]]allgate.yaml"),
        (by_the_system, "conf/[x\\]c]allgate.yaml"),
        (by_the_system, "con?/\\callgate.yaml"),
        (by_the_system, "\\conf/\\callgate.yaml"),
        (by_braces, "conf/{c,x}{a,x}{l,x}{l,x}{g,x}{a,x}{t,x}{e,x}{.,x}{y,x}aml"),
    ],
)
@pytest.mark.parametrize("argument", ["pattern", "item"])
async def test_no_pattern_leads_to_own_files_however_a_tool_reads_it(
    expand: Callable[[Path, str], list[str]], pattern: str, argument: str, tmp_path: Path
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "callgate.yaml").write_text("version: 1\n")
    (tmp_path / "plain.txt").write_text("plain")
    came_to: list[str] = []

    @tool(effects="read_only", scopes=["fs:read"])
    def collect(pattern: str = "plain.txt", item: str = "plain.txt") -> list[str]:
        """Read all that fit."""
        found = [*expand(tmp_path, pattern), *expand(tmp_path, item)]
        came_to.extend(each for each in found if (tmp_path / each).is_file())
        return came_to

    config = parse_settings("version: 1\n", file=str(tmp_path / "conf" / "callgate.yaml"))
    store = f"sqlite:///{tmp_path / '.callgate' / 'callgate.db'}"
    async with gate_of(collect, config=config, working_directory=tmp_path, store=store) as gate:
        assert set(expand(tmp_path, pattern)) & {"conf/callgate.yaml", ".callgate/callgate.db"}
        assert not (await gate.call("collect", {argument: pattern})).ok
        assert came_to == []
        assert (await gate.call("collect", {argument: "plain.*"})).ok


@pytest.mark.parametrize("pattern", ["lin?/secret", "*/secret", "**/secret"])
async def test_no_pattern_leads_out_over_a_link(pattern: str, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "folder").mkdir(parents=True)
    (inside / "folder" / "secret").write_text("ours")
    outside.mkdir()
    (outside / "secret").write_text("theirs")
    (inside / "link").symlink_to(outside)
    came_to: list[str] = []
    async with gate_of(collecting(inside, came_to), working_directory=inside) as gate:
        outcome = await gate.call("collect", {"pattern": pattern})
        assert came_to == []
        assert "leads to" in str(outcome.error)
        (inside / "link").unlink()
        await gate.call("collect", {"pattern": pattern.replace("lin?", "fol*")})
    assert came_to == ["folder/secret"]


async def test_braces_around_one_word_are_read_both_ways(tmp_path: Path) -> None:
    """Some take the word, and a shell leaves the braces: a link of that very name leads out."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("theirs")
    came_to: list[str] = []
    async with gate_of(collecting(inside, came_to), working_directory=inside) as gate:
        assert (await gate.call("collect", {"pattern": "dir{a}{b,c}/secre?"})).ok
        for name in ("dirab", "dir{a}c"):
            (inside / name).symlink_to(outside)
            outcome = await gate.call("collect", {"pattern": "dir{a}{b,c}/secre?"})
            assert "leads to" in str(outcome.error), name
            (inside / name).unlink()
    assert came_to == []


async def test_a_directory_with_own_files_is_not_moved_away_by_a_tool_that_changes_files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "notes").mkdir()

    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def move(source: str, target: str) -> str:
        """Move a file or a directory."""
        shutil.move(tmp_path / source, tmp_path / target)
        return "moved"

    @tool(effects="modifies_files", risk="low", scopes=["fs:write"])
    def tidy(path: str) -> str:
        """Put files in order, below a directory."""
        return path

    config = parse_settings("version: 1\nautonomy: A4\n", file="callgate.yaml")
    store = f"sqlite:///{tmp_path / 'data' / 'gate.db'}"
    async with gate_of(move, tidy, config=config, working_directory=tmp_path, store=store) as gate:
        for source in ("data", "dat?"):
            outcome = await gate.call("move", {"source": source, "target": "mine"})
            assert "could move it away" in str(outcome.error)
            assert (tmp_path / "data" / "gate.db").exists()
        assert (await gate.call("move", {"source": "notes", "target": "kept"})).ok
        assert (await gate.call("tidy", {"path": "."})).ok, "all that is granted goes nowhere inside of itself"


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Directories are listed only once this is set."""
    answers = threading.Event()
    listed = patterns.listed

    def listed_late(folder: str) -> Any:
        assert answers.wait(20)
        return listed(folder)

    monkeypatch.setattr(patterns, "listed", listed_late)
    yield answers
    answers.set()


@tool(effects="read_only")
def hello() -> str:
    """Greet."""
    return "hello"


async def test_while_a_pattern_is_held_against_the_disk_other_calls_go_on(
    tmp_path: Path, slow_disk: threading.Event
) -> None:
    (tmp_path / "plain.txt").write_text("plain")
    async with gate_of(collecting(tmp_path, []), hello, working_directory=tmp_path) as gate:
        collected = asyncio.create_task(gate.call("collect", {"pattern": "*.txt"}))
        explained = asyncio.create_task(gate.explain("collect", {"pattern": "*.txt"}))
        assert (await gate.call("hello")).unwrap() == "hello"
        assert not collected.done()
        assert not explained.done()
        slow_disk.set()
        assert (await collected).unwrap() == ["plain.txt"]
        assert (await explained).verdict is Verdict.ALLOW


async def test_a_pattern_that_cannot_be_looked_at_in_time_is_refused(
    tmp_path: Path, slow_disk: threading.Event
) -> None:
    came_to: list[str] = []
    async with gate_of(collecting(tmp_path, came_to), hello, working_directory=tmp_path) as gate:
        outcome = await gate.call("collect", {"pattern": "*.txt"}, Context(timeout=0.1))
        assert outcome.error is not None
        assert outcome.error.code == "policy_denied"
        assert "could not be looked at" in outcome.error.message
        slow_disk.set()
    assert came_to == []


async def test_many_paths_are_followed_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[int] = set()
    realpath = os.path.realpath

    def realpath_and_tell(path: str, *, strict: bool = False) -> str:
        if str(path).endswith("one"):
            threads.add(threading.get_ident())
        return realpath(path, strict=strict)

    monkeypatch.setattr(paths.os.path, "realpath", realpath_and_tell)

    @tool(effects="read_only", scopes=["fs:read"])
    def count(paths: list[str]) -> int:
        """Count them."""
        return len(paths)

    async with gate_of(count, working_directory=tmp_path) as gate:
        assert (await gate.call("count", {"paths": ["one"]})).unwrap() == 1
        assert threads == {threading.get_ident()}
        threads.clear()
        assert (await gate.call("count", {"paths": [f"{at}one" for at in range(200)]})).unwrap() == 200
        assert threads.isdisjoint({threading.get_ident()})
