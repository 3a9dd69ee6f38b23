"""Watch: tells what changed, and never that nothing did where it cannot know."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate.tools.confined import Held
from callgate.tools.vault import watch
from callgate.tools.vault.watch import Told, Watch


def add(watched: Watch, folder: Path, prefix: str = "") -> None:
    fd = os.open(folder, os.O_RDONLY)
    watched.add(Held(fd, str(folder), os.fstat(fd)), prefix)
    os.close(fd)


def watching(folder: Path) -> Watch:
    made = Watch()
    add(made, folder)
    return made


CHANGES: dict[str, tuple[Callable[[Path], object], Told]] = {
    "made": (lambda folder: (folder / "new").write_text("x"), Told({"new"})),
    "written-in-place": (lambda folder: (folder / "a").write_text("y"), Told({"a"})),
    "deleted": (lambda folder: (folder / "a").unlink(), Told({"a"})),
    "renamed": (lambda folder: (folder / "a").rename(folder / "b"), Told({"a", "b"})),
    "moved-away": (lambda folder: (folder / "a").rename(folder.parent / "b"), Told({"a"})),
    "touched": (lambda folder: os.utime(folder / "a", (0, 0)), Told({"a"})),
    "hidden": (lambda folder: (folder / ".new").write_text("x") and (folder / ".git").mkdir(), Told()),
    "out-of-hiding": (lambda folder: (folder / "a").rename(folder / ".a").rename(folder / "b"), Told({"a", "b"})),
    "a-folder": (lambda folder: (folder / "sub" / "more").mkdir(), Told(set(), {"sub/more"})),
    "in-a-folder": (lambda folder: (folder / "sub" / "x").write_text(""), Told({"sub/x"})),
    "a-folder-goes": (lambda folder: (folder / "sub").rmdir(), Told(set(), {"sub"})),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_told_once(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (folder / "a").write_text("x")
    watched = watching(folder)
    add(watched, folder / "sub", "sub/")
    assert watched.told() == Told()
    assert (folder / "a").read_text() == "x"
    assert watched.told() == Told(), "reading changes nothing"
    do, expected = CHANGES[change]
    do(folder)
    assert watched.told() == expected
    assert watched.told() == Told()


def test_when_the_topmost_folder_goes_nobody_knows_any_more(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    watched = watching(folder)
    folder.rename(tmp_path / "other")
    assert watched.told() is None
    assert watched.told() is None


def test_when_more_changes_than_can_be_told_nobody_knows(tmp_path: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    watched = watching(tmp_path)
    names = [tmp_path / "a", tmp_path / "b"]
    names[0].touch()
    for at in range(most // 2 + 1):
        names[at % 2].rename(names[1 - at % 2])
    assert watched.told() is None


def test_what_is_forgotten_is_told_no_more(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    watched = watching(tmp_path)
    add(watched, tmp_path / "sub", "sub/")
    watched.forget("sub/")
    (tmp_path / "sub" / "x").touch()
    assert watched.told() == Told()


def test_a_folder_that_is_there_twice_cannot_be_watched(tmp_path: Path) -> None:
    watched = watching(tmp_path)
    add(watched, tmp_path, "again/")
    assert watched.told() is None


def test_where_another_machine_may_change_something_its_word_counts_for_a_while_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_OWN", frozenset[int]())
    watched = watching(tmp_path)
    assert watched.told() == Told()
    monkeypatch.setattr(watch, "_COUNTS_FOR", 0.0)
    assert watched.told() is None
    monkeypatch.undo()
    monkeypatch.setattr(watch, "_COUNTS_FOR", 0.0)
    assert watching(tmp_path).told() == Told(), "here it is this machine's own"


def test_where_not_everything_can_be_watched_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_MOST", 0)
    assert watching(tmp_path).told() is None
    monkeypatch.undo()
    beyond = Watch()
    beyond.add(Held(10_000, "", tmp_path.stat()), "")
    assert beyond.told() is None
    monkeypatch.setattr(watch, "_begin", lambda: -1)
    assert watching(tmp_path).told() is None
