"""What a killed Callgate left to do is done once nothing can undo it any more, and never lost meanwhile. TOOL-09."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from callgate.errors import NoEffect
from callgate.tools.code import aside, counting, lifetimes, lint, suite, unfinished
from callgate.tools.code.alone import alone
from callgate.tools.code.inventory import Inventory
from callgate.tools.code.lifetimes import started
from callgate.tools.code.sandbox import Program, enclosure
from callgate.tools.code.sandbox import run as run_in_sandbox
from tests.tools.code.small_program import SMALL, grounds_of
from tests.tools.code.test_killed_callgates import MAKE_GIT, amid, files, ground, kept, kill_amid, make_ground, run
from tests.tools.holding import many_held

__all__ = ["ground", "kept"]
pytestmark = [pytest.mark.usefixtures("bubblewrap"), pytest.mark.crash]


def noted(kept: Path, process: int) -> Path:
    """As if that were the first process of the sandbox."""
    (left,) = files(kept)
    content, *_ = left.read_bytes().splitlines()
    left.write_bytes(content + b"\n%d %d" % (process, started(process) or 0))
    return left


async def test_the_end_of_a_program_is_waited_for_in_a_process_with_many_handles(ground: Path, kept: Path) -> None:
    await kill_amid(ground, MAKE_GIT)
    with subprocess.Popen(["true"]) as ended:  # noqa: ASYNC220 - one that ends at once, and is there until it is told
        noted(kept, ended.pid)
        with many_held():
            ran = await run(ground)
    assert "was renamed to .git.set-aside-" in ran["note"]
    assert files(kept) == []


async def test_nothing_is_done_and_forgotten_while_the_program_may_still_write(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first process is there, as one that hangs at a disk that does not answer."""
    monkeypatch.setattr(lifetimes, "_DYING_SECONDS", 0.1)
    await kill_amid(ground, MAKE_GIT)
    with subprocess.Popen(["sleep", "60"]) as hanging:  # noqa: ASYNC220 - it returns with the fork
        left = noted(kept, hanging.pid)
        ran = await run(ground)
        assert f"has not ended with its Callgate (process {hanging.pid}); it is written down in {left}" in ran["note"]
        assert ((ground / "new" / ".git").exists(), files(kept)) == (True, [left])
        hanging.kill()
    assert "was renamed to .git.set-aside-" in (await run(ground))["note"]
    assert (await run(ground))["note"] is None


def as_nfs(flock: Callable[[int, int], None]) -> Callable[[int, int], None]:
    """Who may only read gets no lock for itself alone there."""

    def locked(handle: int, how: int) -> None:
        if fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        flock(handle, how)

    return locked


def without_locks(_flock: Callable[[int, int], None]) -> Callable[[int, int], None]:
    def locked(_handle: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    return locked


async def test_what_a_living_callgate_has_is_left_to_it_on_nfs_as_well(
    ground: Path, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with amid(ground, MAKE_GIT, turns="-other"):
        living = files(kept)
        monkeypatch.setattr(fcntl, "flock", as_nfs(fcntl.flock))
        assert (await run(make_ground(tmp_path / "other")))["note"] is None
        assert files(kept) == living
    assert "was renamed to .git.set-aside-" in (await run(ground))["note"]


async def test_what_cannot_be_locked_is_left_as_it_is_and_told(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await kill_amid(ground, MAKE_GIT)
    (left,) = files(kept)
    with monkeypatch.context() as patched:
        patched.setattr(fcntl, "flock", without_locks(fcntl.flock))
        (note,) = unfinished.finish_left(())
    assert "cannot be told whether its Callgate has ended (No locks available)" in note
    assert str(left) in note
    assert "was renamed to .git.set-aside-" in (await run(ground))["note"]


async def test_what_is_lacking_for_a_while_loses_nothing(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_handle(*_given: Any, **_named: Any) -> Any:
        raise OSError(errno.EMFILE, "Too many open files")

    await kill_amid(ground, MAKE_GIT)
    for name in ("open_folder", "open_unshared", "finish_late"):
        with monkeypatch.context() as patched:
            patched.setattr(unfinished, name, no_handle)
            (note,) = unfinished.finish_left(())
        assert "Too many open files" in note
        assert "left to the next program" in note
    assert "was renamed to .git.set-aside-" in (await run(ground))["note"]


async def test_what_fails_with_would_block_is_told_as_what_it_is(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock is not the only thing that says so."""

    def blocked(*_given: Any, **_named: Any) -> Any:
        raise BlockingIOError(errno.EAGAIN, "not now")

    await kill_amid(ground, MAKE_GIT)
    monkeypatch.setattr(unfinished, "finish_late", blocked)
    (note,) = unfinished.finish_left(())
    assert "cannot be done ([Errno 11] not now), so look for a new .git" in note
    assert files(kept)[0].suffix == ".unreadable"


async def test_what_is_to_be_known_and_where_it_is_found_are_on_the_disk_before_the_program_begins(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, synced = os.fsync, list[tuple[int, bool]]()

    def seen(handle: int) -> None:
        sync(handle)
        synced.append((os.fstat(handle).st_ino, (ground / "ran").exists()))

    monkeypatch.setattr(os, "fsync", seen)
    await run(ground, "touch ran")
    assert (os.stat(kept).st_ino, False) in synced  # noqa: PTH116 - in a coroutine


async def test_what_another_takes_for_left_before_it_is_locked_is_written_anew(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One in another container has a turn of its own, and looks for what was left just then."""
    lock, removed = fcntl.flock, list[str]()

    def late(handle: int, how: int) -> None:
        if how == fcntl.LOCK_EX and not removed:
            removed.extend(file.name for file in kept.iterdir())
            assert unfinished.finish_left(()) == []
        lock(handle, how)

    monkeypatch.setattr(fcntl, "flock", late)
    ran = await run(ground, "touch ran")
    assert [name.endswith(".new") for name in removed] == [True]
    assert (ground / "ran").exists(), ran
    assert files(kept) == []


async def test_where_its_first_process_cannot_be_noted_no_program_begins(tmp_path: Path) -> None:
    """The disk has become full meanwhile."""
    full = os.open("/dev/full", os.O_WRONLY)
    async with alone(), enclosure(grounds_of(tmp_path), writable=(str(tmp_path),)) as inside:
        assert inside.lasting is not None
        assert inside.written is not None
        await inside.lasting
        os.dup2(full, inside.written.handle)
        with pytest.raises(NoEffect, match=r"none was run: \[Errno 28\] No space left on device; make room there"):
            await run_in_sandbox(Program(command=("touch", "ran"), directory=str(tmp_path)), inside, bounds=SMALL)
    os.close(full)
    assert not (tmp_path / "ran").exists()


async def test_a_folder_that_others_may_enter_is_told_with_its_own_repair_alone(ground: Path, kept: Path) -> None:
    await run(ground)
    os.chmod(kept, 0o755)  # noqa: PTH101 - in a coroutine
    with pytest.raises(Exception, match=r"none was run.*chmod 700") as refused:
        await run(ground)
    assert "XDG_CONFIG_HOME" not in str(refused.value)


async def test_what_was_done_for_another_is_told_once_though_the_own_ending_fails(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of this one is written down, with that; nobody writes it down again."""
    grounds = [make_ground(tmp_path / name) for name in ("one", "two")]
    await kill_amid(grounds[0], MAKE_GIT)

    take_again = aside.take_again

    def fails(roots: Sequence[str], before: Inventory) -> Inventory:
        if str(grounds[1]) in roots:
            raise OSError(errno.EIO, "Input/output error")
        return take_again(roots, before)

    with monkeypatch.context() as patched:
        patched.setattr(aside, "take_again", fails)
        with pytest.raises(Exception, match="Input/output error"):
            await run(grounds[1], MAKE_GIT)
    assert len(files(kept)) == 1
    note = (await run(grounds[1]))["note"]
    assert [note.count(f"begun in {each} at ") for each in grounds] == [1, 1]
    assert not (grounds[1] / "new" / ".git").exists()


def nothing_lacks(_python: str, _site: Any) -> None:
    """As folders tell it; what runs may find another thing."""


async def test_what_was_set_aside_is_told_by_the_next_program_where_a_call_fails(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One without pytest, and one whose linter is stopped."""
    monkeypatch.setattr(suite, "lacks_pytest", nothing_lacks)
    monkeypatch.setattr(counting, "LACKING", b"")  # as if nothing but that had been said
    (ground / "test_a.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    await kill_amid(ground, MAKE_GIT)
    with pytest.raises(Exception, match="no pytest"):
        await run(ground, tool="run_tests", path="test_a.py")
    assert "was renamed to .git.set-aside-" in (await run(ground))["note"]

    (ground / "a.py").write_text("import os\n")
    await kill_amid(ground, MAKE_GIT)
    monkeypatch.setattr(lint, "_SAFELY", (*lint._SAFELY, "--no-such-option"))  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(Exception, match="ruff could not look at"):
        await run(ground, tool="lint_code", path="a.py", fix=True)
    assert "was renamed to .git.set-aside-" in (await run(ground))["note"]
