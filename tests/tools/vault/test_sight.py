"""What other programs change is found by the next search, and little is looked at for it. TOOL-15."""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.tools.vault import notes, sight, watch
from callgate.tools.vault.keeping_step import keep_step
from callgate.tools.vault.vaults import Vaults
from tests.tools.vault.calling import done, home, opened, put, texts
from tests.tools.vault.dying import context

NOTES = {"a.md": "water\n", "f/b.md": "water\n", "f/g/c.md": "water\n", "f/g/d.md": "milk\n", "h/e.md": "milk\n"}


async def found(gate: Callgate, query: str) -> set[str]:
    return {hit["path"] for hit in (await done(gate, "vault_search", query=query, limit=20))["results"]}


def _as_if_nothing_happened(top: Path) -> None:
    """As many bytes, and the time that it had."""
    before = (top / "a.md").stat()
    (top / "a.md").write_text("honey\n")
    os.utime(top / "a.md", ns=(before.st_atime_ns, before.st_mtime_ns))


def _saved_by_an_editor(top: Path) -> None:
    (top / "f" / ".a.swp").write_text("honey\n")
    (top / "f" / ".a.swp").rename(top / "a.md")


def _by_its_second_name(top: Path) -> None:
    os.link(top / "a.md", top.parent / "second")
    (top.parent / "second").write_text("honey\n")


def _folder_for_folder(top: Path) -> None:
    shutil.copytree(top / "f", top / "copy")
    (top / "copy" / "b.md").write_text("honey\n")
    shutil.rmtree(top / "f")
    (top / "copy").rename(top / "f")


def _many_folders(top: Path) -> None:
    for at in range(30):
        (top / f"n{at}" / "deep").mkdir(parents=True)
    (top / "n7" / "deep" / "x.md").write_text("honey\n")


def _another_in_its_place(top: Path) -> None:
    top.rename(top.with_name("aside"))
    (top / "f").mkdir(parents=True)
    (top / "f" / "x.md").write_text("honey\n")


CHANGES: dict[str, tuple[Callable[[Path], object], set[str], set[str]]] = {
    "written": (lambda top: (top / "f/b.md").write_text("honey\n"), {"f/b.md"}, {"a.md", "f/g/c.md"}),
    "as-if-nothing-happened": (_as_if_nothing_happened, {"a.md"}, {"f/b.md", "f/g/c.md"}),
    "saved-by-an-editor": (_saved_by_an_editor, {"a.md"}, {"f/b.md", "f/g/c.md"}),
    "by-its-second-name": (_by_its_second_name, {"a.md"}, {"f/b.md", "f/g/c.md"}),
    "removed": (lambda top: (top / "a.md").unlink(), set(), {"f/b.md", "f/g/c.md"}),
    "a-link-in-its-place": (
        lambda top: (top / "a.md").unlink() or (top / "a.md").symlink_to("h/e.md"),
        set(),
        {"f/b.md", "f/g/c.md"},
    ),
    "a-folder-in-its-place": (
        lambda top: (top / "a.md").unlink() or (top / "a.md").mkdir(),
        set(),
        {"f/b.md", "f/g/c.md"},
    ),
    "a-folder-renamed": (lambda top: (top / "f").rename(top / "k"), set(), {"a.md", "k/b.md", "k/g/c.md"}),
    "a-folder-moved": (lambda top: (top / "f/g").rename(top / "h/g"), set(), {"a.md", "f/b.md", "h/g/c.md"}),
    "a-folder-hidden": (lambda top: (top / "f/g").rename(top / "f/.g"), set(), {"a.md", "f/b.md"}),
    "a-folder-moved-away": (lambda top: (top / "f").rename(top.parent / "away"), set(), {"a.md"}),
    "a-folder-removed": (lambda top: shutil.rmtree(top / "f"), set(), {"a.md"}),
    "folder-for-folder": (_folder_for_folder, {"f/b.md"}, {"a.md", "f/g/c.md"}),
    "many-folders": (_many_folders, {"n7/deep/x.md"}, {"a.md", "f/b.md", "f/g/c.md"}),
    "another-in-its-place": (_another_in_its_place, {"f/x.md"}, set()),
}


@pytest.mark.parametrize("told", ["told", "not-told"])
@pytest.mark.parametrize("change", CHANGES)
async def test_what_another_program_changes_is_found_by_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, told: str
) -> None:
    if told == "not-told":
        monkeypatch.setattr(watch, "_begin", lambda: -1)
    put(tmp_path, NOTES)
    do, honey, water = CHANGES[change]
    async with opened(tmp_path) as gate:
        for _ in range(2):
            assert await found(gate, "water") == {"a.md", "f/b.md", "f/g/c.md"}
        do(home(tmp_path))
        assert await found(gate, "honey") == honey
        assert await found(gate, "water") == water


async def test_in_a_folder_that_came_later_changes_are_found_as_well(tmp_path: Path) -> None:
    put(tmp_path, NOTES)
    async with opened(tmp_path) as gate:
        await found(gate, "water")
        put(tmp_path, {"new/folder/x.md": "tea\n"})
        assert await found(gate, "tea") == {"new/folder/x.md"}
        put(tmp_path, {"new/folder/x.md": "honey\n", "new/y.md": "honey\n"})
        assert await found(gate, "honey") == {"new/folder/x.md", "new/y.md"}
        (home(tmp_path) / "new").rename(home(tmp_path) / "old")
        put(tmp_path, {"old/folder/x.md": "tea\n"})
        assert await found(gate, "tea") == {"old/folder/x.md"}
        assert await found(gate, "honey") == {"old/y.md"}


async def test_two_gates_with_one_index_see_each_what_the_other_took_in(tmp_path: Path) -> None:
    put(tmp_path, NOTES)
    async with opened(tmp_path, lasting=True) as one, opened(tmp_path, lasting=True) as other:
        for at, gate in enumerate((one, other, one, one, other, other, one)):
            put(tmp_path, {f"{at}.md": f"word{at}\n", "a.md": f"honey{at}\n"})
            assert await found(gate, f"word{at}") == {f"{at}.md"}
            assert await found(gate, f"honey{at}") == {"a.md"}
        assert await found(other, "honey6") == {"a.md"}


async def test_only_what_was_told_and_some_more_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, {f"{at % 10}/{at}.md": "water\n" for at in range(300)})
    monkeypatch.setattr(sight, "_UNNOTICED", 0.0)
    looks: list[str] = []
    usual = os.stat

    def looking(path: str, *args: object, **named: object) -> os.stat_result:
        looks.append(path)
        return usual(path, *args, **named)  # type: ignore[arg-type]

    async with opened(tmp_path) as gate:
        await found(gate, "water")
        put(tmp_path, {"3/13.md": "honey\n"})
        monkeypatch.setattr(sight.os, "stat", looking)
        assert await found(gate, "honey") == {"3/13.md"}
        assert len([path for path in looks if path.endswith(".md")]) == 101
        looks.clear()
        for _ in range(2):
            await found(gate, "water")
        seen = [path for path in looks if path.endswith(".md")]
        assert len(seen) == len(set(seen)) == 200, "others every time"


async def test_a_note_with_a_second_name_elsewhere_is_looked_at_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {f"{at}.md": "water\n" for at in range(300)})
    names = [home(tmp_path) / "0.md", tmp_path / "second"]
    os.link(*names)
    monkeypatch.setattr(sight, "_UNNOTICED", 0.0)
    async with opened(tmp_path) as gate:
        for at in range(6):
            await found(gate, "water")
            names[1].write_text(f"honey{at}\n")
            assert await found(gate, f"honey{at}") == {"0.md"}


async def test_a_note_that_could_not_be_read_is_read_at_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, NOTES)
    failing = [True]
    usual = notes.read_all

    def read(fd: int, most: int) -> bytes:
        if failing:
            raise OSError(errno.EMFILE, "too many open files")
        return usual(fd, most)

    async with opened(tmp_path) as gate:
        await found(gate, "water")
        put(tmp_path, {"a.md": "honey\n"})
        monkeypatch.setattr(notes, "read_all", read)
        assert await found(gate, "honey") == set()
        failing.clear()
        assert await found(gate, "honey") == {"a.md"}


def test_who_may_see_less_is_shown_less(tmp_path: Path) -> None:
    put(tmp_path, NOTES)
    everything = context(tmp_path).grounds()

    def refused(place: str, _: os.stat_result | None) -> str | None:
        return "no" if "/f" in place else None

    less = replace(everything, roots=(), path_refused=refused)
    vaults, seen = Vaults(tmp_path / "vault", None), list[set[str]]()
    for grounds in (everything, less, everything):
        ctx = replace(context(tmp_path), grounds=lambda grounds=grounds: grounds)
        with vaults.reading(ctx, None) as project:
            assert project is not None
            keep_step(project, ctx)
            seen.append({note.path for note in project.index.below("", 100)})
    assert seen == [set(NOTES), {"a.md", "h/e.md"}, set(NOTES)]


class _Chance:
    """Files and folders come, go, move and change."""

    def __init__(self, top: Path, seed: int) -> None:
        self.luck = random.Random(seed)
        self._top = top

    def step(self, text: str) -> None:
        folder, note = self._anywhere(), f"{self.luck.choice('abc')}.md"
        match self.luck.randrange(5):
            case 0 | 1:
                folder.mkdir(parents=True, exist_ok=True)
                (folder / note).write_text(text)
            case 2:
                (folder / note).unlink(missing_ok=True)
            case 3 if folder != self._top:
                shutil.rmtree(folder, ignore_errors=True)
            case _:
                self._move(folder, self._anywhere())

    def _anywhere(self) -> Path:
        return self._top.joinpath(*self.luck.choices("abc", k=self.luck.randint(0, 2)))

    def _move(self, folder: Path, other: Path) -> None:
        if folder.is_dir() and not other.exists() and other.parent.is_dir() and folder not in other.parents:
            folder.rename(other)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_happens_the_index_has_what_lies_there(tmp_path: Path, seed: int) -> None:
    put(tmp_path, NOTES)
    chance = _Chance(home(tmp_path), seed)
    async with opened(tmp_path) as gate:
        for at in range(120):
            for _ in range(chance.luck.choice([1, 1, 2, 5])):
                chance.step(f"text{at}\n")
            there = texts(tmp_path)
            assert {note["path"] for note in (await done(gate, "vault_list"))["notes"]} == there.keys()
            assert await found(gate, f"text{at}") == {path for path, text in there.items() if text == f"text{at}\n"}
