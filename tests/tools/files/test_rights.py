"""Who may do what with a file stays as it was when it is written; what cannot stay is taken away. TOOL-12."""

from __future__ import annotations

import errno
import os
import stat
import struct
from pathlib import Path
from typing import Any

import pytest

from callgate import Failed
from callgate.model.levels import Happened
from callgate.tools import file_rights
from tests.needed import missing
from tests.tools.files.calling import once
from tests.tools.files.somebody import ANOTHER, GROUP, SOMEBODY, call_as_somebody, shared_folder

LIST, LIST_OF_NEW = "system.posix_acl_access", "system.posix_acl_default"
OWNER, USER, OUR_GROUP, OTHER_GROUP, MASK, OTHERS = 1, 2, 4, 8, 16, 32
FRIEND = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")


def listed(*, group: int, others: int, friend: int, mask: int = 6) -> bytes:
    """An access list that names a friend and a group of friends."""
    nobody = 0xFFFFFFFF
    entries = (
        (OWNER, 6, nobody),
        (USER, friend, FRIEND),
        (OUR_GROUP, group, nobody),
        (OTHER_GROUP, friend, FRIEND),
        (MASK, mask, nobody),
        (OTHERS, others, nobody),
    )
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


def give_list(place: Path, packed: bytes, name: str = LIST) -> None:
    try:
        os.setxattr(place, name, packed)
    except OSError as error:
        missing(f"files have no access lists here: {error.strerror}")


def give_mode(file: Path, mode: int) -> None:
    file.chmod(mode)


def group_and_mode_of(file: Path) -> tuple[int, int]:
    return file.stat().st_gid, mode_of(file)


def contents(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.iterdir()}


def mode_of(file: Path) -> int:
    return stat.S_IMODE(file.stat().st_mode)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "a.txt"
    file.write_text("before\n")
    return file


async def write(file: Path) -> None:
    assert (await once(file.parent, "write_file", path=file.name, content="after\n")).ok


@pytest.mark.parametrize("mode", ["w", "a"])
async def test_an_access_list_stays(file: Path, mode: str) -> None:
    before = listed(group=0, others=0, friend=6)
    give_list(file, before)
    assert (await once(file.parent, "write_file", path="a.txt", content="after\n", mode=mode)).ok
    assert os.getxattr(file, LIST) == before
    assert mode_of(file) == 0o660


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (listed(group=0, others=0, friend=6), 0o600),
        (listed(group=6, others=0, friend=6, mask=4), 0o640),
        (listed(group=6, others=4, friend=6), 0o664),
        (listed(group=6, others=4, friend=0), 0o600),
    ],
    ids=["group-without-rights", "behind-a-mask", "rights-for-all", "friend-kept-out"],
)
async def test_where_an_access_list_cannot_stay_nobody_may_do_more(
    file: Path, monkeypatch: pytest.MonkeyPatch, before: bytes, after: int
) -> None:
    def cannot(*_: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    give_list(file, before)
    with monkeypatch.context() as patch:
        patch.setattr(os, "setxattr", cannot)
        await write(file)
    assert os.listxattr(file) == []
    assert mode_of(file) == after


async def test_a_list_that_a_directory_gives_to_new_files_is_not_given_to_an_old_one(file: Path) -> None:
    give_mode(file, 0o664)
    give_list(file.parent, listed(group=6, others=0, friend=6), LIST_OF_NEW)
    await write(file)
    assert os.listxattr(file) == []
    assert mode_of(file) == 0o664
    assert (await once(file.parent, "write_file", path="new.txt", content="new\n")).ok
    assert os.listxattr(file.parent / "new.txt") == [LIST]


async def test_what_only_its_owner_may_read_nobody_else_may_open_while_it_is_written(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever opened it before it had its rights would read what comes into it then."""
    give_mode(file, 0o600)
    seen: list[int] = []
    usual = os.fchown

    def looked_at(fd: int, owner: int, group: int) -> None:
        seen.append(stat.S_IMODE(os.fstat(fd).st_mode))
        usual(fd, owner, group)

    monkeypatch.setattr(os, "fchown", looked_at)
    await write(file)
    assert seen == [0o600]


@pytest.mark.parametrize("function", ["getxattr", "removexattr"])
async def test_a_list_that_nobody_can_tell_leaves_the_file_as_it_is(
    file: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def broken(*_: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, function, broken)
        outcome = await once(file.parent, "write_file", path="a.txt", content="after\n")
    assert isinstance(outcome, Failed)
    assert outcome.happened is Happened.NONE
    assert contents(file.parent) == {"a.txt": "before\n"}


async def test_where_the_system_has_no_lists_the_mode_stays(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rights, "_HAS_LISTS", False)
    give_mode(file, 0o640)
    await write(file)
    assert mode_of(file) == 0o640


@as_root
@pytest.mark.usefixtures("unmeasured")
def test_who_may_write_a_file_by_its_group_leaves_it_to_that_group() -> None:
    """It gets another owner, whom the writer cannot choose."""
    with shared_folder() as folder:
        file = folder / "plan.txt"
        file.write_text("before\n")
        os.chown(file, ANOTHER, GROUP)
        file.chmod(0o660)
        [told] = call_as_somebody(folder, ("write_file", {"path": "plan.txt", "content": "after\n"}))
        assert told.ok
        assert file.read_text() == "after\n"
        assert (file.stat().st_uid, file.stat().st_gid, mode_of(file)) == (SOMEBODY, GROUP, 0o660)


@as_root
@pytest.mark.parametrize(
    ("before", "after"), [(0o660, 0o600), (0o664, 0o644), (0o604, 0o600), (0o666, 0o666), (0o646, 0o644)]
)
async def test_a_group_that_cannot_be_kept_loses_its_rights_to_nobody(
    file: Path, monkeypatch: pytest.MonkeyPatch, before: int, after: int
) -> None:
    """Who was in it counts as one of the others then, and who is in the new one was one of them."""

    def refused(*_: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    os.chown(file, ANOTHER, GROUP)
    give_mode(file, before)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fchown", refused)
        await write(file)
    assert group_and_mode_of(file) == (os.getegid(), after)


@as_root
async def test_a_list_loses_the_rights_of_a_group_that_cannot_be_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    os.chown(file, ANOTHER, GROUP)
    give_list(file, listed(group=6, others=4, friend=6))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fchown", refused)
        await write(file)
    assert os.getxattr(file, LIST) == listed(group=4, others=4, friend=6)
