"""What could not be looked at is never told as if nothing were there. TOOL-12."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callgate.model.levels import Category
from callgate.tools.confined import Confined, Held
from callgate.tools.files import ripgrep
from callgate.tools.programs import find_program
from tests.tools.files.calling import once
from tests.tools.files.somebody import ANOTHER, Told, call_as_somebody, shared_folder

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
UNREAD = (
    "not everything could be searched: there are files or directories that cannot be read, or paths that are too long"
)


def asked_as_somebody(*closed: str, name: str, **arguments: Any) -> Told:
    """What somebody is told of a tree in which only another may read these."""
    with shared_folder() as folder:
        for each in ("seen.txt", "deep/er/plan.txt", "deep/beside.txt"):
            (folder / each).parent.mkdir(parents=True, exist_ok=True)
            (folder / each).write_text("needle\n")
        for each in closed:
            os.chown(folder / each, ANOTHER, ANOTHER)
            (folder / each).chmod(0o700)
        [told] = call_as_somebody(folder, (name, arguments))
        return told


@as_root
@pytest.mark.parametrize(
    ("closed", "found"),
    [("deep/er", ["deep/beside.txt", "seen.txt"]), ("seen.txt", ["deep/beside.txt", "deep/er/plan.txt"])],
)
@pytest.mark.usefixtures("unmeasured")
def test_a_search_says_that_something_could_not_be_read_and_names_nothing(closed: str, found: list[str]) -> None:
    told = asked_as_somebody(closed, name="search_files", pattern="needle")
    assert told.ok, told.said
    assert [match["path"] for match in told.said["matches"]] == found
    assert (told.said["note"], told.said["truncated"]) == (UNREAD, False)


@as_root
@pytest.mark.parametrize(("closed", "path"), [("seen.txt", "seen.txt"), ("deep", "deep"), ("deep/er", "deep/er")])
@pytest.mark.usefixtures("unmeasured")
def test_to_search_what_cannot_be_read_is_an_error(closed: str, path: str) -> None:
    told = asked_as_somebody(closed, name="search_files", pattern="needle", path=path)
    assert not told.ok
    assert "Permission denied" in told.said


@as_root
@pytest.mark.usefixtures("unmeasured")
def test_a_listing_says_at_a_directory_that_it_could_not_be_looked_into() -> None:
    told = asked_as_somebody("deep/er", name="list_directory", path=".", pattern="*.txt", recursive=True)
    assert told.ok, told.said
    listed = [(entry["path"], entry.get("note")) for entry in told.said]
    assert listed == [
        ("deep/er", "not looked into: Permission denied"),
        ("deep/beside.txt", None),
        ("seen.txt", None),
    ]
    told = asked_as_somebody("deep/er", name="list_directory", path="deep", pattern="*")
    assert not any("note" in entry for entry in told.said), "nobody asked for what lies there"


async def searched(folder: Path, **arguments: Any) -> dict[str, Any]:
    output: dict[str, Any] = (await once(folder, "search_files", pattern="needle", **arguments)).unwrap()
    return output


async def test_a_search_of_all_there_is_has_no_note(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("needle\n" * 3)
    (tmp_path / "binary").write_bytes(b"\0needle\n")
    (tmp_path / "nowhere").symlink_to("nothing")
    (tmp_path / ".gitignore").write_text("a[\n{x\n!\n")
    os.mkfifo(tmp_path / "pipe")
    for arguments in ({}, {"limit": 1}, {"path": "a.txt"}, {"glob": "*.txt"}):
        assert (await searched(tmp_path, **arguments))["note"] is None


def make_long_path(folder: Path) -> None:
    """A file whose path has more characters than the system opens at once."""
    at = os.open(folder, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("n" * 200, dir_fd=at)
        below = os.open("n" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    with os.fdopen(os.open("a.txt", os.O_WRONLY | os.O_CREAT, dir_fd=at), "w") as file:
        file.write("needle\n")
    os.close(at)


async def test_a_search_says_that_paths_are_too_long(tmp_path: Path) -> None:
    make_long_path(tmp_path)
    (tmp_path / "a.txt").write_text("needle\n")
    output = await searched(tmp_path)
    assert [match["path"] for match in output["matches"]] == ["a.txt"]
    assert output["note"] == UNREAD


async def test_a_named_file_that_ripgrep_could_not_read_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails: we can open it, and nobody can read it."""
    (tmp_path / "a.txt").write_text("needle\n")
    failing = tmp_path / "failing"
    failing.write_text(f'#!/bin/sh\n{find_program("rg")} "$@"\nexit 2\n')
    failing.chmod(0o700)

    def this(*_: object, **__: object) -> str:
        return str(failing)

    monkeypatch.setattr(ripgrep, "find_program", this)
    outcome = await once(tmp_path, "search_files", pattern="needle", path="a.txt")
    assert outcome.error is not None
    assert outcome.error.category is Category.RESOURCE
    assert "a.txt could not be read to its end" in outcome.error.message
    assert (await searched(tmp_path))["note"] == UNREAD


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
async def test_a_search_says_that_what_was_found_could_not_be_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """As where Callgate is out of handles."""
    (tmp_path / "a.txt").write_text("needle\n")
    file_at: Callable[..., Any] = Confined.file_at

    def fails(self: Confined, folder: Held, name: str, *, seen: bool = False) -> Any:
        if seen:
            raise OSError(number, os.strerror(number))
        return file_at(self, folder, name, seen=seen)

    monkeypatch.setattr(Confined, "file_at", fails)
    output = await searched(tmp_path)
    assert (output["count"], output["note"]) == (0, UNREAD)


async def test_a_listing_says_where_it_is_too_deep_to_go_on(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 70)
    deep.mkdir(parents=True)
    (deep / "found.txt").touch()
    tmp_path.joinpath(*["d"] * 62, "found.txt").touch()
    entries = (await once(tmp_path, "list_directory", path=".", pattern="*.txt", recursive=True)).unwrap()
    where = "/".join(["d"] * 65)
    assert [(entry["path"], entry.get("note")) for entry in entries] == [
        (where, "not looked into: more than 64 levels down"),
        ("/".join(["d"] * 62 + ["found.txt"]), None),
    ]
    [entry] = (await once(tmp_path, "list_directory", path=where, pattern="*.txt", recursive=True)).unwrap()
    assert entry["name"] == "found.txt"


async def test_a_listing_notes_a_directory_once_where_it_is_listed_itself(tmp_path: Path) -> None:
    tmp_path.joinpath(*["d"] * 70).mkdir(parents=True)
    entries = (await once(tmp_path, "list_directory", path=".", recursive=True)).unwrap()
    assert len(entries) == 65
    assert [entry["path"].count("/") for entry in entries if "note" in entry] == [64]
