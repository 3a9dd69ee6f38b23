"""The table of mounts as it is now: read again when something was mounted, in this process and in its children."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from callgate.policy import mounted as reading
from callgate.policy.mounted import Mounted, mounted
from tests.own_mounts import in_own_mounts

FORKED = """
import os, subprocess, sys
from callgate.policy.mounted import mounted

folder = sys.argv[1]
before = mounted()
assert before is mounted()
to_child, from_child = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.read(to_child[0], 1)
    os.write(from_child[1], str(mounted().names(folder + "/b")).encode())
    os._exit(0)
subprocess.run(["mount", "--bind", folder + "/a", folder + "/b"], check=True)
assert mounted().names(folder + "/b") == (folder + "/a",), mounted().names(folder + "/b")
os.write(to_child[1], b"x")
print(os.read(from_child[0], 1000).decode())
os.waitpid(child, 0)
"""
MOVED = """
import os, subprocess, sys
from callgate.policy.mounted import mounted

folder = sys.argv[1]
subprocess.run(["mount", "--bind", folder + "/a", folder + "/b"], check=True)
assert mounted().names(folder + "/b/x") == (folder + "/a/x",)
os.rename(folder + "/a", folder + "/c")
print(mounted().names(folder + "/b/x"))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    return tmp_path


def test_a_process_and_its_child_both_hear_of_what_is_mounted(folder: Path):
    assert in_own_mounts(FORKED, str(folder)) == f"('{folder}/a',)\n"


def test_what_a_mount_shows_may_be_renamed_though_nothing_is_mounted(folder: Path):
    assert in_own_mounts(MOVED, str(folder)) == f"('{folder}/c/x',)\n"


def test_as_long_as_nothing_is_mounted_it_is_the_same_table():
    assert mounted() is mounted()
    assert Path("/proc/self").stat().st_dev in mounted().of_processes


def test_where_there_is_none_it_is_empty_and_what_is_in_proc_is_known_all_the_same(tmp_path: Path):
    none = Mounted(str(tmp_path / "absent"))
    assert none.now() is none.now()
    assert none.now().names("/") == ()
    assert none.now().of_processes == {Path("/proc/self").stat().st_dev}
    none.forget()


def test_what_cannot_be_read_is_an_error(tmp_path: Path):
    with pytest.raises(IsADirectoryError):
        Mounted(str(tmp_path)).now()


def test_one_that_may_not_be_read_is_none_that_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Root reads everything, so the system's no is ours here."""
    one = Mounted(str(tmp_path / "mountinfo"))
    with monkeypatch.context() as patch:
        patch.setattr(reading.os, "open", denied)
        for _ in range(2):
            with pytest.raises(PermissionError, match="denied"):
                one.now()


def denied(*_: object) -> NoReturn:
    raise PermissionError(errno.EACCES, "Permission denied")


def test_a_table_with_other_names_is_read_each_time_and_new_only_where_it_says_something_new(tmp_path: Path):
    says = tmp_path / "mountinfo"
    says.write_text("40 0 0:60 / /a rw - tmpfs tmpfs rw\n41 0 0:60 / /b rw - tmpfs tmpfs rw\n")
    one = Mounted(str(says))
    before = one.now()
    assert not before.lasts
    assert one.now() is before
    says.write_text("40 0 0:60 / /a rw - tmpfs tmpfs rw\n")
    assert one.now() is not before
    assert one.now().lasts
    one.forget()


@pytest.mark.parametrize("broken", ["_top", "_all_of"])
def test_what_could_not_be_seen_once_is_looked_at_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broken: str):
    """The kernel tells of a change once, and who asks may be out of handles at that moment."""
    says = tmp_path / "mountinfo"
    says.write_text("40 0 0:60 / /a rw - tmpfs tmpfs rw\n")
    one = Mounted(str(says))
    assert one.now().lasts
    says.write_text("40 0 0:60 / /a rw - tmpfs tmpfs rw\n41 0 0:60 / /b rw - tmpfs tmpfs rw\n")
    with monkeypatch.context() as patch:
        patch.setattr(Mounted, "_has_changed", changed)
        patch.setattr(reading, broken, out_of_handles)
        with pytest.raises(OSError, match="Too many"):
            one.now()
    assert not one.now().lasts
    one.forget()


def changed(_: Mounted) -> bool:
    return True


def out_of_handles(*_: object) -> NoReturn:
    raise OSError(errno.EMFILE, "Too many open files")


def test_what_was_forgotten_is_read_again():
    one = Mounted()
    before = one.now()
    one.forget()
    assert one.now() is not before
    one.forget()


def test_a_system_that_does_not_number_its_mounts_has_no_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(reading, "_NUMBER", reading.re.compile(rb"^nothing: (\d+)"))
    one = Mounted()
    assert one.now().names(str(tmp_path)) == ()
    one.forget()


def test_without_proc_nothing_shows_processes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(reading, "_PROCESSES", str(tmp_path / "absent"))
    assert Mounted(str(tmp_path / "absent")).now().of_processes == frozenset()


def test_a_child_has_a_handle_of_its_own():
    """Without mounting: what is open in a child is not what its parent reads on."""
    code = (
        "import os\nfrom callgate.policy.mounted import mounted, _here\n"
        "mounted(); parent = _here._handle\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(_here._handle is not None or bool(mounted().names('/')))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), parent is not None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "0 True\n"
