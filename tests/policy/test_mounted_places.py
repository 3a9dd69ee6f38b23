"""What is kept from tools is kept at every path that mounts give it."""

from __future__ import annotations

from pathlib import Path

import pytest

from callgate.model.context import Context
from callgate.model.tool import Tool
from callgate.policy import mounted as reading
from callgate.policy.ground import Ground
from callgate.policy.kept import Kept
from callgate.policy.mount_table import MountTable, read
from callgate.policy.mounted import Mounted
from callgate.policy.off_limits import OffLimits
from callgate.policy.own_code import own_code
from callgate.policy.own_files import OwnFiles, SecondNames
from tests.policy.making import authorize, in_folder, make, schema
from tests.policy.making import reading as look

LOOK, CHANGE = look("look"), make("change", "modifies_files")
DISK = b"27 1 254:0 / / rw - ext4 /dev/vda rw\n"
FILE = Path(__file__).stat()


def table(*mounts: tuple[str, str]) -> MountTable:
    """A disk of which parts are mounted once more."""
    lines = [f"{at} 27 254:0 {shows} {point} rw - ext4 /dev/vda rw\n" for at, (shows, point) in enumerate(mounts, 40)]
    return MountTable(read(DISK + "".join(lines).encode()), top="27")


def limits(tool: Tool, mounts: MountTable, *, own: tuple[str, ...] = (), git: tuple[str, ...] = ()) -> OffLimits:
    kept = Kept.of(OwnFiles(own), mounts)
    ground = Ground("fs", ("/a",), git)
    return OffLimits(
        tool, "/a", (ground,), kept.own, SecondNames(kept.own), kept.code, kept.ways_to_code, git, kept.mounts
    )


def test_own_files_are_refused_at_each_path_and_so_is_what_holds_them():
    paths = limits(
        LOOK,
        table(("/home/ann", "/a/home"), ("/x/callgate.db-wal", "/a/b/wal")),
        own=("/home/ann/own", "/x/callgate.db"),
    )
    for place in ("/a/home/own", "/a/home/own/key", "/a/home/OWN", "/a/b/wal"):
        assert "own files" in (paths.refused(place, FILE) or ""), place
    assert paths.refused("/a/home/notes", FILE) is None
    assert paths.own.lie_below("/a/home")
    assert sorted(set(paths.own.paths) - {"/home/ann/own", "/x/callgate.db"}) == ["/a/b/wal", "/a/home/own"]


def test_own_files_that_are_mounted_nowhere_else_are_what_they_were():
    own = OwnFiles(["/home/ann/own"])
    assert Kept.of(own, MountTable()).own is own


def test_what_callgate_runs_from_is_refused_at_each_path():
    code = own_code()[0]
    paths = limits(CHANGE, table((code, "/a/b/code")))
    assert "run from" in (paths.refused("/a/b/code/x.py", None) or "")
    assert paths.refused("/a/b/other/x.py", None) is None


@pytest.mark.parametrize("shows", ["/a/.git/hooks", "/elsewhere/.git/hooks"])
def test_what_is_gits_is_not_written_at_any_path_unless_it_is_granted_at_one(shows: str):
    mounts = table((shows, "/a/b/scripts"))
    place = "/a/b/scripts/pre-commit"
    assert "in a .git directory" in (limits(CHANGE, mounts).refused(place, None) or "")
    assert limits(CHANGE, mounts, git=(shows,)).refused(place, None) is None
    assert limits(CHANGE, mounts, git=("/a/b/scripts",)).refused(place, None) is None
    assert limits(LOOK, mounts).refused(place, FILE) is None


def test_a_directory_in_which_something_is_mounted_is_not_calm():
    """A single file may be another than it says, and only what it is called in its file system tells."""
    mounts = table(("/a/p/.callgate/callgate.db", "/a/b/x/notes"), ("/a/p/callgate.yaml", "/a/b/x/plain"))
    paths = limits(LOOK, mounts)
    assert paths.refused("/a/b/x/other", FILE) is None
    assert "own files by its name" in (paths.refused("/a/b/x/notes", FILE) or "")
    assert paths.refused("/a/b/x/plain", FILE) is None
    assert "own files by its name" in (limits(CHANGE, mounts).refused("/a/b/x/plain", FILE) or "")


def test_what_is_not_mounted_under_its_name_is_known_by_the_others():
    """A file system that is mounted on a folder `.callgate`, and once more: in itself it is called nothing."""
    lines = b"40 27 0:60 / /a/p/.callgate rw - tmpfs tmpfs rw\n41 27 0:60 / /a/b/x rw - tmpfs tmpfs rw\n"
    paths = limits(LOOK, MountTable(read(DISK + lines), top="27"))
    assert "own files by its name" in (paths.refused("/a/b/x/secret", FILE) or "")


def test_devices_of_memory_are_refused_where_they_are_mounted_again():
    lines = b"40 27 0:6 / /dev rw - devtmpfs devtmpfs rw\n41 27 0:6 / /a/b/dev rw - devtmpfs devtmpfs rw\n"
    paths = limits(LOOK, MountTable(read(DISK + lines), top="27"))
    assert "what processes know" in (paths.refused("/a/b/dev/mem", FILE) or "")


def test_to_name_a_mount_of_gits_opens_it_and_to_work_in_one_does_not(tmp_path: Path):
    (tmp_path / "scripts").mkdir()
    mounts = table(("/elsewhere/.git/hooks", f"{tmp_path}/scripts"))
    named = Ground.of("fs", [".", "scripts"], working_directory=str(tmp_path), mounts=mounts)
    assert named.git == (f"{tmp_path}/scripts",)
    assert Ground.of("fs", ["."], working_directory=f"{tmp_path}/scripts", mounts=mounts).git == ()


def test_where_it_cannot_be_seen_what_is_mounted_no_path_is_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    policy = in_folder(tmp_path)
    tool = look("read_file", scopes={"fs:read"}, input_schema=schema("path"))
    assert authorize(policy, tool, {"path": "x"}).refusal is None
    monkeypatch.setattr(reading, "_here", Mounted(str(tmp_path)))
    refusal = authorize(policy, tool, {"path": "x"}).refusal
    assert refusal is not None
    assert "what is mounted cannot be seen (Is a directory)" in refusal.text
    with pytest.raises(PermissionError, match="cannot be seen"):
        policy.grounds(tool, Context())
