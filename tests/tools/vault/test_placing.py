"""An editor at the wrong moment of a move: what it saved is in a file afterwards, and nothing is replaced. TOOL-16."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.model.levels import Happened
from callgate.model.outcome import Failed, Outcome
from callgate.tools.confined import Held, Spot
from callgate.tools.vault import placing
from tests.tools.vault.calling import home, once, put, texts

WORK = "an hour of work\n"
NOTES = {"tea.md": "old text\n", "n.md": "[[tea]]\n"}


def _save(folder: Path, name: str) -> None:
    """A new file takes the name, as editors do."""
    (home(folder) / "saving").write_text(WORK)
    (home(folder) / "saving").replace(home(folder) / name)


def _failing(number: int) -> Callable[..., Any]:
    def fails(*_args: Any, **_named: Any) -> None:
        raise OSError(number, os.strerror(number))

    return fails


def _instead(patched: pytest.MonkeyPatch, name: str, work: Callable[..., Any]) -> None:
    """Put a function of ours in the place of one of the system's."""
    patched.setattr(os, "supports_dir_fd", {*os.supports_dir_fd, work})
    patched.setattr(os, "supports_follow_symlinks", {*os.supports_follow_symlinks, work})
    patched.setattr(os, name, work)


@pytest.fixture
def in_two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that cannot rename without replacing."""
    monkeypatch.setattr(placing, "rename_in_one_step", _failing(errno.EINVAL))


@pytest.fixture
def without_second_names(in_two_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such a system, and a file system where a file has one name."""
    _instead(monkeypatch, "link", _failing(errno.EPERM))


async def _moved(folder: Path) -> Outcome:
    put(folder, NOTES)
    outcome = await once(folder, "vault_move", old_path="tea.md", new_path="chai.md")
    assert not list(home(folder).glob(".*"))
    return outcome


def _nothing_happened(outcome: Outcome) -> bool:
    return isinstance(outcome, Failed) and outcome.happened is Happened.NONE


async def test_what_is_saved_in_the_last_moment_moves_with_its_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = placing.rename_in_one_step

    def renaming(source: Spot, target: Spot) -> None:
        _save(tmp_path, "tea.md")
        usual(source, target)

    monkeypatch.setattr(placing, "rename_in_one_step", renaming)
    assert (await _moved(tmp_path)).ok
    assert texts(tmp_path) == {"chai.md": WORK, "n.md": "[[chai]]\n"}


async def test_what_is_saved_when_the_note_has_moved_stays_at_its_old_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = placing.rename_in_one_step

    def renaming(source: Spot, target: Spot) -> None:
        usual(source, target)
        _save(tmp_path, "tea.md")

    monkeypatch.setattr(placing, "rename_in_one_step", renaming)
    assert (await _moved(tmp_path)).ok
    assert texts(tmp_path) == {"tea.md": WORK, "chai.md": "old text\n", "n.md": "[[chai]]\n"}


async def test_what_comes_to_lie_there_before_it_is_renamed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = placing.rename_in_one_step

    def renaming(source: Spot, target: Spot) -> None:
        _save(tmp_path, "chai.md")
        usual(source, target)

    monkeypatch.setattr(placing, "rename_in_one_step", renaming)
    assert _nothing_happened(await _moved(tmp_path))
    assert texts(tmp_path) == {**NOTES, "chai.md": WORK}


@pytest.mark.usefixtures("in_two_steps")
async def test_in_two_steps_a_note_moves_as_well(tmp_path: Path) -> None:
    assert (await _moved(tmp_path)).ok
    assert texts(tmp_path) == {"chai.md": "old text\n", "n.md": "[[chai]]\n"}


@pytest.mark.usefixtures("in_two_steps")
async def test_what_is_saved_between_two_steps_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = os.link

    def linking(*args: Any, **named: Any) -> None:
        usual(*args, **named)
        _save(tmp_path, "tea.md")

    _instead(monkeypatch, "link", linking)
    assert _nothing_happened(await _moved(tmp_path))
    assert texts(tmp_path) == {"tea.md": WORK, "n.md": "[[tea]]\n"}


@pytest.mark.usefixtures("in_two_steps")
@pytest.mark.parametrize("times", [1, 2])
async def test_what_is_saved_after_the_last_look_is_not_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """It comes right before the old name is taken away, and perhaps once more right after that."""
    usual, seen = os.rename, list[str]()

    def renaming(path: Any, *args: Any, **named: Any) -> None:
        ours = path == "tea.md"
        if ours:
            seen.append(path)
            _save(tmp_path, "tea.md")
        usual(path, *args, **named)
        if ours and times == 2:
            _save(tmp_path, "tea.md")

    _instead(monkeypatch, "rename", renaming)
    assert _nothing_happened(await _moved(tmp_path))
    assert seen == ["tea.md"]
    assert texts(tmp_path) == {"tea.md": WORK, "n.md": "[[tea]]\n"}


@pytest.mark.usefixtures("in_two_steps")
async def test_what_comes_to_lie_there_before_the_second_name_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = os.link

    def linking(*args: Any, **named: Any) -> None:
        _save(tmp_path, "chai.md")
        usual(*args, **named)

    _instead(monkeypatch, "link", linking)
    assert _nothing_happened(await _moved(tmp_path))
    assert texts(tmp_path) == {**NOTES, "chai.md": WORK}


@pytest.mark.usefixtures("without_second_names")
async def test_where_there_are_no_second_names_a_note_moves_as_well(tmp_path: Path) -> None:
    assert (await _moved(tmp_path)).ok
    assert texts(tmp_path) == {"chai.md": "old text\n", "n.md": "[[chai]]\n"}


@pytest.mark.usefixtures("in_two_steps")
async def test_where_there_are_no_second_names_what_came_before_the_look_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def linking(*_args: Any, **_named: Any) -> None:
        _save(tmp_path, "chai.md")
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    _instead(monkeypatch, "link", linking)
    assert _nothing_happened(await _moved(tmp_path))
    assert texts(tmp_path) == {**NOTES, "chai.md": WORK}


def test_one_name_that_is_spelled_in_two_ways_is_not_taken_away(tmp_path: Path) -> None:
    """As on a disk that does not tell capitals apart."""
    note = tmp_path / "tea.md"
    note.write_text(WORK)
    fd = os.open(tmp_path, os.O_RDONLY)
    try:
        spot = Spot(Held(fd, str(tmp_path), os.fstat(fd)), "tea.md", note.stat())
        assert not placing.give_name(spot, spot)
    finally:
        os.close(fd)
    assert note.read_text() == WORK
