"""A disk that is full, or cannot give one note, while a move is carried out: it is finished when it can be. TOOL-16."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from callgate.model.outcome import Outcome
from callgate.tools.vault import record, together
from tests.tools.vault.calling import call, done, home, opened, put, texts

RECORD = ".callgate-move.json"
LINKING = {f"n{at:02}.md": "[[tea]]\n" for at in range(40)}


def _failing(number: int) -> Any:
    def fails(*_args: Any, **_named: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fails


def _left(folder: Path) -> list[str]:
    return sorted(each.name for each in home(folder).glob(".callgate*"))


def _said(outcome: Outcome) -> str:
    assert outcome.error is not None
    return outcome.error.message


@pytest.mark.parametrize(
    "number",
    [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EAGAIN],
    ids=["full", "quota", "disk", "again"],
)
async def test_a_move_is_finished_when_there_is_room_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    put(tmp_path, {"tea.md": "tea\n", "a.md": "[[tea]]\n", "b.md": "[[tea]]\n"})
    async with opened(tmp_path) as gate:
        with monkeypatch.context() as patched:
            patched.setattr(together, "beside", _failing(number))
            moved = await call(gate, "vault_move", old_path="tea.md", new_path="chai.md")
            listed = await call(gate, "vault_list")
            assert _left(tmp_path) == [RECORD], "it is not set aside"
        for said in (_said(moved), _said(listed)):
            assert "the move of tea.md to chai.md could not be finished" in said
            assert os.strerror(number) in said
        assert (await call(gate, "vault_list")).ok
    assert texts(tmp_path) == {"chai.md": "tea\n", "a.md": "[[chai]]\n", "b.md": "[[chai]]\n"}
    assert not _left(tmp_path)


async def test_a_disk_that_is_full_when_the_note_has_its_new_path_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second thing that is written down does not fit any more."""
    put(tmp_path, {"tea.md": "tea\n", "a.md": "[[tea]]\n"})
    usual = record.Record.write

    def full(self: record.Record, content: bytes) -> None:
        if b'"placed": true' in content:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        usual(self, content)

    async with opened(tmp_path) as gate:
        with monkeypatch.context() as patched:
            patched.setattr(record.Record, "write", full)
            assert not (await call(gate, "vault_move", old_path="tea.md", new_path="chai.md")).ok
            assert not (await call(gate, "vault_list")).ok
            assert _left(tmp_path) == [RECORD]
        assert (await call(gate, "vault_list")).ok
    assert texts(tmp_path) == {"chai.md": "tea\n", "a.md": "[[chai]]\n"}
    assert not _left(tmp_path)


async def test_a_folder_that_cannot_be_flushed_is_no_move_that_never_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note has its new path already: nobody says that it stays where it is, and forgets the links."""
    put(tmp_path, {"sub/tea.md": "tea\n", "a.md": "[[tea]]\n"})
    number = (home(tmp_path) / "sub").stat().st_ino
    usual = os.fsync

    def flushing(fd: int) -> None:
        if os.fstat(fd).st_ino == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        usual(fd)

    async with opened(tmp_path) as gate:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", flushing)
            moved = await call(gate, "vault_move", old_path="sub/tea.md", new_path="chai.md")
            assert "could not be finished" in _said(moved)
        assert (await call(gate, "vault_list")).ok
    assert texts(tmp_path) == {"chai.md": "tea\n", "a.md": "[[chai]]\n"}
    assert not _left(tmp_path)


async def test_where_folders_cannot_be_flushed_notes_are_written_and_moved_as_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems have no such thing; that is no disk that failed."""
    usual = os.fsync

    def only_files(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        usual(fd)

    monkeypatch.setattr(os, "fsync", only_files)
    async with opened(tmp_path) as gate:
        for path, body in (("sub/tea.md", "tea\n"), ("a.md", "[[tea]]\n")):
            assert (await call(gate, "vault_write", path=path, body=body)).ok
        assert (await call(gate, "vault_move", old_path="sub/tea.md", new_path="new/chai.md")).ok
    assert "[[chai]]" in texts(tmp_path)["a.md"]
    assert "tea\n" in texts(tmp_path)["new/chai.md"]
    assert not _left(tmp_path)


async def test_a_record_that_cannot_be_read_for_a_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"tea.md": "tea\n", "a.md": "[[tea]]\n"})
    async with opened(tmp_path) as gate:
        with monkeypatch.context() as patched:
            patched.setattr(together, "beside", _failing(errno.ENOSPC))
            assert not (await call(gate, "vault_move", old_path="tea.md", new_path="chai.md")).ok
        with monkeypatch.context() as patched:
            patched.setattr(record, "read_all", _failing(errno.EMFILE))
            assert not (await call(gate, "vault_list")).ok
        assert _left(tmp_path) == [RECORD]
        assert (await call(gate, "vault_list")).ok
    assert texts(tmp_path) == {"chai.md": "tea\n", "a.md": "[[chai]]\n"}


async def test_one_note_that_the_disk_cannot_give_costs_that_note_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"tea.md": "tea\n", **LINKING})
    number = (home(tmp_path) / "n00.md").stat().st_ino
    usual = together.taken

    def reading(held: Any, path: str) -> Any:
        if held.status.st_ino == number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return usual(held, path)

    monkeypatch.setattr(together, "taken", reading)
    async with opened(tmp_path) as gate:
        moved = await call(gate, "vault_move", old_path="tea.md", new_path="chai.md")
        assert "n00.md cannot be read" in _said(moved)
        told = await call(gate, "vault_read", path="chai.md")
        assert ".callgate-move.unfinished.json" in _said(told)
        assert (await done(gate, "vault_read", path="chai.md"))["content"] == "tea\n", "it is said once"
    follow = dict.fromkeys(LINKING, "[[chai]]\n")
    assert texts(tmp_path) == {"chai.md": "tea\n", **follow, "n00.md": "[[tea]]\n"}


async def test_no_folder_is_let_go_of_while_somebody_works_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One note fails as nobody foresaw, and all others are still on their way."""
    put(tmp_path, {"tea.md": "tea\n", **{f"sub/{path}": text for path, text in LINKING.items()}})
    usual, closing = together.beside, os.close
    working, closed = dict[int, int](), list[int]()
    begun, failed = threading.Barrier(2, timeout=30), threading.Event()
    turns = iter(range(len(LINKING)))

    def beside(folder: Any, *args: Any, **named: Any) -> Any:
        turn = next(turns)
        if turn == 0:
            begun.wait()
            failed.set()
            raise RuntimeError("as nobody foresaw")
        if turn == 1:
            working[folder.fd] = turn
            begun.wait()
            assert failed.wait(30)
            # Long enough for who would not wait.
            threading.Event().wait(0.3)
            del working[folder.fd]
        return usual(folder, *args, **named)

    def close(fd: int) -> None:
        if fd in working:
            closed.append(fd)
        closing(fd)

    monkeypatch.setattr(together, "beside", beside)
    monkeypatch.setattr(os, "close", close)
    async with opened(tmp_path) as gate:
        assert not (await call(gate, "vault_move", old_path="tea.md", new_path="chai.md")).ok
    assert failed.is_set()
    assert not closed
