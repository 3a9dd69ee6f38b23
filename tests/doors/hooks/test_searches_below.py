"""Searches of hosts: what lies below the folder is judged as what is read by its name."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from callgate import Call, Callgate, Context
from callgate.runtime import host_searches
from callgate.runtime.host_tools import host_tools
from tests.needed import missing
from tests.own_mounts import bind, call_among, processes

MARK = "approver-of-last-resort"
RIPGREP = Path(sys.prefix) / "bin" / "rg"


@pytest.fixture
async def gate(tmp_path: Path) -> AsyncIterator[Callgate]:
    if not RIPGREP.exists():
        missing("ripgrep is not here; run make setup")
    (tmp_path / "callgate.yaml").write_text(f"version: 1 # {MARK}\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "open.txt").write_text(MARK)
    async with Callgate.open("memory://", config=tmp_path / "callgate.yaml", working_directory=tmp_path) as opened:
        opened.add(*host_tools())
        yield opened


async def found(gate: Callgate, folder: Path, **chosen: str) -> set[str] | str:
    """The files in which a search finds the mark, or what the gate says against it."""
    judgement = await gate.judge(Call("host.grep", {"pattern": MARK, **chosen}), Context(session="s"))
    if not judgement.allowed:
        assert judgement.outcome is not None
        assert judgement.outcome.error is not None
        return f"{judgement.outcome.error.message}. {judgement.outcome.error.suggestion}"
    words = [str(RIPGREP), "--hidden", "--no-ignore", "-a", "-l", MARK]
    words += [f"--{name}={chosen[name]}" for name in ("glob", "type") if name in chosen]
    words.append(chosen.get("path", "."))
    process = await asyncio.create_subprocess_exec(*words, cwd=folder, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        said, _ = await process.communicate()
    return {Path(line).name for line in said.decode().splitlines()}


async def advised(gate: Callgate, folder: Path, **chosen: str) -> set[str] | str:
    """What a search finds with the glob that it was told."""
    told = await found(gate, folder, **chosen)
    assert isinstance(told, str), "it was allowed"
    glob = re.search(r'glob: "([^"]+)"', told)
    assert glob, told
    return await found(gate, folder, **{**chosen, "glob": glob[1]})


@pytest.mark.parametrize("name", [".callgate", ".Callgate"])
async def test_the_store_of_another_callgate_is_left_out(gate: Callgate, tmp_path: Path, name: str):
    store = tmp_path / "src" / "service" / name
    store.mkdir(parents=True)
    (store / "callgate.db").write_text(MARK)
    assert await advised(gate, tmp_path, path="src") == {"open.txt"}
    assert isinstance(await found(gate, tmp_path, path="src", glob="*.db"), str)
    assert await found(gate, tmp_path, path="src", glob="*.txt") == {"open.txt"}


async def test_own_files_under_a_second_name_are_left_out(gate: Callgate, tmp_path: Path):
    os.link(tmp_path / "callgate.yaml", tmp_path / "src" / "second.txt")
    assert await advised(gate, tmp_path, path="src") == {"open.txt"}


def test_a_second_mount_of_processes_and_of_a_store_are_left_out(tmp_path: Path):
    work, home = tmp_path / "work", tmp_path / "home"
    for folder in (work / "a" / "p", work / "a" / "m", work / "b", home / ".callgate"):
        folder.mkdir(parents=True)
    (home / ".callgate" / "callgate.db").write_text(MARK)
    everything, beside, without = call_among(
        [processes(work / "a" / "p"), bind(home / ".callgate", work / "a" / "m")],
        *(("host.grep", {"pattern": MARK, **chosen}) for chosen in ({}, {"path": "b"}, {"glob": "!{m,p}"})),
        working_directory=str(work),
    )
    assert not everything.ok
    assert all(part in everything.said for part in ("a/p", "a/m/callgate.db", "!{m,p}")), everything.said
    assert beside.ok
    assert without.ok


async def test_what_is_kept_beside_a_database_belongs_to_it(gate: Callgate, tmp_path: Path):
    gate.protect(tmp_path / "src" / "gate.db")
    for ending in ("", "-wal", ".lock"):
        (tmp_path / "src" / f"gate.db{ending}").write_text(MARK)
        assert isinstance(await found(gate, tmp_path, path="src", glob=f"*.db{ending}"), str)
    assert await advised(gate, tmp_path, path="src") == {"open.txt"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("java", "a.properties"),
        ("ruby", "Gemfile"),
        ("ruby", "config.ru"),
        ("c", "a.h.in"),
        ("cpp", "a.hxx.in"),
        ("php", "a.phtml"),
        ("nobody-knows", "a.b"),
    ],
)
async def test_a_type_has_what_it_has_for_the_host(gate: Callgate, tmp_path: Path, kind: str, name: str):
    kept = tmp_path / "src" / "plugins"
    kept.mkdir()
    (kept / name).write_text(MARK)
    gate.protect(kept)
    assert isinstance(await found(gate, tmp_path, path="src", type=kind), str)
    if kind != "nobody-knows":
        (kept / name).rename(kept / "a.other")
        assert await found(gate, tmp_path, path="src", type=kind) == set()


@pytest.mark.parametrize("chosen", [{}, {"glob": "*.txt"}, {"glob": "!later"}], ids=str)
async def test_what_is_behind_more_than_can_be_looked_at_counts(
    gate: Callgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: dict[str, str]
):
    monkeypatch.setattr(host_searches, "_MOST_LOOKED_AT", 5)
    for number in range(6):
        (tmp_path / "src" / f"{number}.py").touch()
    told = await found(gate, tmp_path, path="src", **chosen)
    assert isinstance(told, str)
    assert "more files than can be looked at" in told
    assert await advised(gate, tmp_path, path="src", **chosen) == {"open.txt"}
    gate.protect(tmp_path / "src")
    assert isinstance(await found(gate, tmp_path, glob="!{.callgate,callgate.yaml}"), str), "it lies in what is known"


async def test_in_doubt_a_second_name_may_be_behind_it_too(
    gate: Callgate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(host_searches, "_MOST_LOOKED_AT", 5)
    for number in range(6):
        (tmp_path / "src" / f"{number}.py").touch()
    os.link(tmp_path / "callgate.yaml", tmp_path / "second.txt")
    told = await found(gate, tmp_path, path="src", glob="!.callgate")
    assert isinstance(told, str)
    assert "glob:" not in told, "none is sure to help"


async def test_names_that_no_glob_can_say_are_advised_in_words(gate: Callgate, tmp_path: Path):
    gate.protect(tmp_path / "src" / "a{b.txt")
    (tmp_path / "src" / "a{b.txt").write_text(MARK)
    told = await found(gate, tmp_path, path="src")
    assert isinstance(told, str)
    assert "glob:" not in told


async def test_a_folder_outside_is_not_searched_for_want_of_a_path(tmp_path: Path):
    (tmp_path / "callgate.yaml").write_text("version: 1\nscopes: {fs: {paths: [src]}}\n")
    (tmp_path / "src").mkdir()
    async with Callgate.open("memory://", config=tmp_path / "callgate.yaml", working_directory=tmp_path) as gate:
        gate.add(*host_tools())
        assert isinstance(await found(gate, tmp_path, type="py"), str)
        assert await found(gate, tmp_path, type="py", path="src") == set()


async def test_a_folder_behind_a_link_counts_in_both_its_senses(gate: Callgate, tmp_path: Path):
    """`link/..` is above what the link leads to, and to a host that tidies it first, above the link."""
    (tmp_path / "src" / "deep").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "src" / "deep")
    assert await found(gate, tmp_path, path="src/deep/..") == {"open.txt"}
    assert isinstance(await found(gate, tmp_path, path="link/.."), str)


async def test_a_folder_that_leads_elsewhere_by_now_is_not_searched(gate: Callgate, tmp_path: Path):
    (tmp_path / "work").symlink_to(tmp_path / "src")
    there = Context(session="s", working_directory=str(tmp_path / "work"))
    search = Call("host.grep", {"pattern": MARK})
    assert (await gate.judge(search, there)).allowed
    (tmp_path / "work").unlink()
    (tmp_path / "work").symlink_to(tmp_path)
    no = await gate.judge(search, there)
    assert not no.allowed
    assert "led to" in str(no.outcome)
