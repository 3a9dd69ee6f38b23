"""What a writer that was killed left unfinished is gone with the next write, and nothing else is. TOOL-12."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callgate.tools import replacing
from tests.tools.files.calling import once

KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from callgate.tools import replacing
from tests.tools.files.calling import once

def end(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

setattr(*{"begun": (replacing, "write_all", end), "finished": (os, "replace", end)}[sys.argv[2]])
asyncio.run(once(Path(sys.argv[1]), "write_file", path="a.txt", content="never"))
"""
ROOT = Path(__file__).parents[3]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def left_behind(folder: Path, when: str = "finished") -> str:
    """Have a process killed while it writes there; what it leaves."""
    before = set(names(folder))
    command = [sys.executable, "-c", KILLED, str(folder), when]
    done = subprocess.run(command, cwd=ROOT, timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    [left] = set(names(folder)) - before
    return left


@pytest.mark.usefixtures("unmeasured")
async def test_what_killed_writers_left_is_gone_with_the_next_write(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    left = [left_behind(tmp_path, when) for when in ("begun", "finished")]
    assert names(tmp_path) == [left[1], "a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"
    assert (await once(tmp_path, "write_file", path="b.txt", content="new")).ok
    assert names(tmp_path) == ["a.txt", "b.txt"]


@pytest.mark.usefixtures("unmeasured")
async def test_what_is_not_surely_left_by_a_writer_stays(tmp_path: Path) -> None:
    """What others put beside their files may be at work still, or be the only copy of what somebody saved."""
    left = left_behind(tmp_path)
    (tmp_path / left).unlink()
    others = [replacing.name_beside(), ".callgate-notes.tmp", f"{left}.txt", f"x{left}", left.upper(), "a.txt"]
    for name in others:
        (tmp_path / name).write_text("mine")
    folder, link = (left.replace(".tmp", "").replace(left[20:28], each) + ".tmp" for each in ("0" * 8, "f" * 8))
    (tmp_path / folder).mkdir()
    (tmp_path / link).symlink_to("a.txt")
    assert (await once(tmp_path, "write_file", path="b.txt", content="new")).ok
    assert names(tmp_path) == sorted([*others, folder, link, "b.txt"])


@pytest.mark.usefixtures("unmeasured")
async def test_where_nobody_knows_who_else_writes_nothing_is_taken_for_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system without locks: what lies there may be another writer's, who is at work."""
    left = left_behind(tmp_path)

    def none(*_: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", none)
        assert (await once(tmp_path, "write_file", path="b.txt", content="new")).ok
    assert names(tmp_path) == [left, "b.txt"]
    assert (await once(tmp_path, "write_file", path="b.txt", content="new")).ok
    assert names(tmp_path) == ["b.txt"]
