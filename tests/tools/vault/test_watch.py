"""Watch: quiet only while nothing changes, and never where nobody tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from callgate.tools.vault import watch
from callgate.tools.vault.watch import Watch


def watching(folder: Path) -> Watch:
    made = Watch()
    fd = os.open(folder, os.O_RDONLY)
    made.add(fd)
    os.close(fd)
    return made


CHANGES: dict[str, Callable[[Path], object]] = {
    "made": lambda folder: (folder / "new").write_text("x"),
    "written-in-place": lambda folder: (folder / "a").open("r+").close() or (folder / "a").write_text("y"),
    "deleted": lambda folder: (folder / "a").unlink(),
    "renamed": lambda folder: (folder / "a").rename(folder / "b"),
    "moved-away": lambda folder: (folder / "a").rename(folder.parent / "b"),
    "touched": lambda folder: os.utime(folder / "a", (0, 0)),
    "a-folder": lambda folder: (folder / "sub").mkdir(),
    "itself": lambda folder: folder.rename(folder.with_name("other")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_ends_the_quiet_for_ever(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("x")
    watched = watching(folder)
    assert watched.is_quiet()
    assert (folder / "a").read_text() == "x"
    assert watched.is_quiet(), "reading changes nothing"
    CHANGES[change](folder)
    assert not watched.is_quiet()
    assert not watched.is_quiet()


def test_its_word_counts_for_a_while_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = watching(tmp_path)
    monkeypatch.setattr(watch, "_COUNTS_FOR", 0.0)
    assert not watched.is_quiet()


def test_where_not_everything_can_be_watched_nothing_is_quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_MOST", 0)
    assert not watching(tmp_path).is_quiet()
    monkeypatch.undo()
    beyond = Watch()
    beyond.add(10_000)
    assert not beyond.is_quiet()
    monkeypatch.setattr(watch, "_begin", lambda: -1)
    assert not watching(tmp_path).is_quiet()
