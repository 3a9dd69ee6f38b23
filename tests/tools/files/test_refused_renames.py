"""A file whose name the system does not let another take: nothing happened, and the answer says why. TOOL-12."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Failed
from callgate.model.levels import Autonomy, Category, Happened
from callgate.model.outcome import Outcome
from tests.own_mounts import bind, call_among
from tests.tools.archives.building import HONEST, zipped
from tests.tools.files.somebody import ANOTHER, call_as_somebody, shared_folder

ASKER = Context(autonomy=Autonomy.A4, session="s", idempotency_key="k")
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "write_file": ("replace", {"path": "notes.txt", "content": "after\n"}),
    "vault_write": ("replace", {"path": "tea.md", "body": "after"}),
    "archive_extract": ("rename", {}),
}


def opened(folder: Path) -> Callgate:
    return Callgate.open("memory://", working_directory=folder, builtin_tools=["files", "vault", "archives"])


def all_names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.rglob("*"))


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "notes.txt").write_text("before\n")
    (tmp_path / "bundle.zip").write_bytes(zipped(HONEST))
    return tmp_path


async def prepared(gate: Callgate) -> None:
    """A note that is there, and an archive that is open."""
    for name, arguments in (
        ("vault_write", {"path": "tea.md", "body": "before"}),
        ("archive_open", {"path": "bundle.zip"}),
    ):
        (await gate.call(name, arguments, Context(autonomy=Autonomy.A4, session="s"))).unwrap()


async def failing(gate: Callgate, name: str, error: OSError, *, late: bool = False) -> Outcome:
    """The call, where giving things their names fails: before it happened or, with `late`, after that."""
    function, arguments = CALLS[name]
    usual = getattr(os, function)

    def fails(*given: Any, **named: Any) -> None:
        if late:
            usual(*given, **named)
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, function, fails)
        return await gate.call(name, arguments, ASKER)


@pytest.mark.parametrize(
    ("number", "category"),
    [
        (errno.EBUSY, Category.PERMISSION),
        (errno.EPERM, Category.PERMISSION),
        (errno.ENOSPC, Category.RESOURCE),
        (errno.EIO, Category.RESOURCE),
    ],
)
@pytest.mark.parametrize("name", CALLS)
async def test_nothing_happened_and_the_key_is_free(work: Path, name: str, number: int, category: Category) -> None:
    async with opened(work) as gate:
        await prepared(gate)
        before = all_names(work)
        outcome = await failing(gate, name, OSError(number, os.strerror(number), ".callgate-0.tmp"))
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        assert outcome.error is not None
        assert outcome.error.category is category
        assert ".tmp" not in outcome.error.message
        assert all_names(work) == before
        assert (await gate.call(name, CALLS[name][1], ASKER)).ok


@pytest.mark.parametrize("name", CALLS)
async def test_what_took_its_name_before_the_system_failed_may_have_happened(work: Path, name: str) -> None:
    """As where the answer of a file server is lost."""
    async with opened(work) as gate:
        await prepared(gate)
        outcome = await failing(gate, name, OSError(errno.EIO, os.strerror(errno.EIO)), late=True)
    assert isinstance(outcome, Failed)
    assert outcome.happened is not Happened.NONE


def test_a_file_that_is_mounted_by_itself_is_told_as_such(tmp_path: Path) -> None:
    """As a single file that is the volume of a container."""
    work = tmp_path / "work"
    work.mkdir()
    for place in (tmp_path / "volume.txt", work / "notes.txt"):
        place.write_text("before\n")
    [told] = call_among(
        [bind(tmp_path / "volume.txt", work / "notes.txt")],
        ("write_file", {"path": "notes.txt", "content": "after\n"}),
        working_directory=work,
        builtin_tools=["files"],
    )
    assert not told.ok
    assert "notes.txt cannot be replaced, and stays as it is: it is mounted by itself" in told.said
    assert "may have taken effect" not in told.said
    assert (tmp_path / "volume.txt").read_text() == "before\n"
    assert all_names(work) == ["notes.txt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")
@pytest.mark.usefixtures("unmeasured")
def test_a_file_that_a_directory_keeps_for_its_owner_is_told_as_such() -> None:
    with shared_folder() as folder:
        folder.chmod(0o1777)
        file = folder / "plan.txt"
        file.write_text("before\n")
        os.chown(file, ANOTHER, ANOTHER)
        file.chmod(0o666)
        [told] = call_as_somebody(folder, ("write_file", {"path": "plan.txt", "content": "after\n"}))
        assert (told.ok, told.happened) == (False, "none")
        assert "sticky bit" in told.said
        assert file.read_text() == "before\n"
        assert all_names(folder) == ["plan.txt"]
