"""write_file: all or nothing, asked about with the difference it makes, and no surprise to who reads it. TOOL-12."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from callgate import Callgate, Context, Failed, Pending, Previewed, Refused
from callgate.events.staleness import content_hash
from callgate.model.levels import Autonomy, Category, Happened
from callgate.model.outcome import Outcome
from callgate.pipeline import pipeline
from callgate.pipeline.executed import Executed
from callgate.pipeline.parts import Parts
from callgate.pipeline.permit import Permit
from callgate.tools import replacing, turns
from callgate.tools.files import read, write
from tests.journeys.gates import parts_of
from tests.tools.files.calling import call, once, opened

ROOT = Path(__file__).parents[3]


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


async def test_bytes_are_counted_and_not_characters(tmp_path: Path) -> None:
    """TOOL-12: write reports bytes."""
    done = (await once(tmp_path, "write_file", path="a.txt", content="grün")).unwrap()
    assert done["bytes_written"] == 5
    assert done["path"] == str(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_bytes() == "grün".encode()


async def test_a_mode_replaces_or_adds_and_others_are_refused(tmp_path: Path) -> None:
    """TOOL-12: mode other than w and a is refused."""
    async with opened(tmp_path) as gate:
        for mode, content in (("w", "one\r\n"), ("a", "two\n")):
            assert (await call(gate, "write_file", path="a.txt", content=content, mode=mode)).ok
        assert (tmp_path / "a.txt").read_bytes() == b"one\r\ntwo\n"
        for mode in ("x", "r+", "wb", ""):
            outcome = await call(gate, "write_file", path="a.txt", content="", mode=mode)
            assert outcome.error is not None
            assert outcome.error.category is Category.USER_INPUT
        assert (await call(gate, "write_file", path="a.txt", content="", mode="w")).ok
        assert (tmp_path / "a.txt").read_bytes() == b""


async def test_no_addition_is_lost_when_many_add_at_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as gate, opened(tmp_path) as other:
        outcomes = await asyncio.gather(
            *(
                call((gate, other)[at % 2], "write_file", path="log.txt", content=f"line {at}\n", mode="a")
                for at in range(30)
            )
        )
    assert all(outcome.ok for outcome in outcomes)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert sorted(lines) == sorted(f"line {at}" for at in range(30))
    assert names(tmp_path) == ["log.txt"]


async def test_what_another_program_adds_meanwhile_is_not_thrown_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "log.txt"
    file.write_text("one\n")

    def meanwhile(fd: int, data: bytes) -> None:
        os.write(fd, data)
        with file.open("a") as theirs:
            theirs.write("theirs\n")

    monkeypatch.setattr(replacing, "write_all", meanwhile)
    for mode in ("a", "w"):
        before = file.read_text()
        outcome = await once(tmp_path, "write_file", path="log.txt", content="ours\n", mode=mode)
        assert isinstance(outcome, Failed)
        assert "changed by somebody else" in str(outcome)
        assert outcome.happened is Happened.NONE
        assert file.read_text() == f"{before}theirs\n"
    assert names(tmp_path) == ["log.txt"]


async def test_a_turn_that_never_comes_is_given_up(tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        async with opened(tmp_path) as gate:
            asker = Context(autonomy=Autonomy.A4)
            outcome = await gate.call("write_file", {"path": "a.txt", "content": "x"}, asker, timeout=0.2)
    finally:
        os.close(held)
    assert not outcome.ok
    assert names(tmp_path) == []


async def test_a_turn_is_waited_for_ten_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, waited = time.monotonic(), 0.0

    def wait(_: float) -> None:
        nonlocal waited
        waited += 0.5

    monkeypatch.setattr(turns, "time", SimpleNamespace(monotonic=lambda: begun + waited, sleep=wait))
    held = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        outcome = await once(tmp_path, "write_file", path="a.txt", content="x")
    finally:
        os.close(held)
    assert "others are writing" in str(outcome)
    assert 10 <= waited <= 11
    assert names(tmp_path) == []


async def test_a_content_that_looks_like_a_path_is_none(tmp_path: Path) -> None:
    assert (await once(tmp_path, "write_file", path="a.txt", content="/etc/passwd")).ok
    assert (tmp_path / "a.txt").read_text() == "/etc/passwd"


async def test_the_permissions_stay_and_what_lends_rights_does_not(tmp_path: Path) -> None:
    file = tmp_path / "a.sh"
    file.write_text("old")
    file.chmod(0o4750)
    assert (await once(tmp_path, "write_file", path="a.sh", content="new")).ok
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    before = os.umask(0o027)
    try:
        assert (await once(tmp_path, "write_file", path="b.txt", content="new")).ok
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "b.txt").stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", ["w", "a"])
async def test_a_file_that_nobody_may_write_is_left_as_it_is_also_by_an_administrator(
    tmp_path: Path, mode: str
) -> None:
    """The right to its directory is enough to put another in its place; who protected it meant the file."""
    file = tmp_path / "a.txt"
    file.write_text("kept")
    file.chmod(0o444)
    async with opened(tmp_path) as gate:
        outcome = await call(gate, "write_file", path="a.txt", content="new", mode=mode)
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        assert "a.txt is protected against writing" in str(outcome)
        assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("kept", 0o444)
        assert "protected against writing" in await shown(tmp_path, path="a.txt", content="new", mode=mode)
        file.chmod(0o644)
        assert (await call(gate, "write_file", path="a.txt", content="new", mode=mode)).ok
    assert names(tmp_path) == ["a.txt"]


SOMEBODY = """
import asyncio, os, sys
from pathlib import Path
from tests.tools.files.calling import opened, call

async def main():
    async with opened(Path.cwd()) as gate:
        await call(gate, "write_file", path="own.txt", content="warm")  # what it imports only root may read here
        if os.geteuid() == 0:
            os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
        for mode in ("w", "a"):
            for name in sys.argv[1:]:
                outcome = await call(gate, "write_file", path=name, content="new", mode=mode)
                print(name, "written" if outcome.ok else "protected against writing" in str(outcome))

os.umask(0)
os.chdir(sys.argv.pop(1))
asyncio.run(main())
"""


@pytest.mark.usefixtures("unmeasured")
def test_a_file_that_its_user_may_not_write_is_left_as_it_is(tmp_path: Path) -> None:
    """As somebody who is not root, whom the system asks: of others' files it matters what they let them do."""
    with TemporaryDirectory() as folder:  # those of pytest are closed to others
        place = Path(folder)
        place.chmod(0o777)
        for name, mode in (("protected.txt", 0o444), ("anothers.txt", 0o644), ("shared.txt", 0o666)):
            (place / name).write_text("kept")
            (place / name).chmod(mode)
        command = [sys.executable, "-c", SOMEBODY, folder, *(file.name for file in sorted(place.iterdir()))]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        somebody = os.geteuid() == 0
        told = [line.split(" ", 1) for line in done.stdout.splitlines()]
        assert (
            told
            == [
                ["anothers.txt", "True" if somebody else "written"],
                ["protected.txt", "True"],
                ["shared.txt", "written"],
            ]
            * 2
        )
        assert (place / "protected.txt").read_text() == "kept"
        assert (place / "shared.txt").read_text() == "newnew"


async def test_who_holds_the_old_file_open_still_reads_it_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("old")
    with file.open() as reader:
        assert (await once(tmp_path, "write_file", path="a.txt", content="a longer new content")).ok
        assert reader.read() == "old"


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP])
async def test_an_addition_where_directories_cannot_be_flushed_is_told_as_made(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there: who is told that it may not be adds it twice."""
    (tmp_path / "a.txt").write_text("one\n")
    flush = os.fsync

    def only_files(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(number, os.strerror(number))
        flush(fd)

    monkeypatch.setattr(os, "fsync", only_files)
    assert (await once(tmp_path, "write_file", path="a.txt", content="two\n", mode="a")).ok
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"


async def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing, "write_all", full)
    outcome = await once(tmp_path, "write_file", path="a.txt", content="new")
    assert isinstance(outcome, Failed)
    assert outcome.happened is Happened.NONE
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("path", "content", "category"),
    [
        ("folder", "x", Category.RESOURCE),
        ("nothing/a.txt", "x", Category.RESOURCE),
        ("a.txt/b.txt", "x", Category.RESOURCE),
    ],
    ids=["a-directory", "no-directory", "below-a-file"],
)
async def test_what_cannot_be_written_says_why(tmp_path: Path, path: str, content: str, category: Category) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "a.txt").write_text("old")
    outcome = await once(tmp_path, "write_file", path=path, content=content)
    assert outcome.error is not None
    assert outcome.error.category is category
    assert names(tmp_path) == ["a.txt", "folder"]


async def test_a_file_that_would_become_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_LARGEST", 10)
    (tmp_path / "a.txt").write_text("123456")
    for arguments in ({"content": "78901", "mode": "a"}, {"content": "1" * 11}):
        outcome = await once(tmp_path, "write_file", path="a.txt", **arguments)
        assert outcome.error is not None
        assert outcome.error.category is Category.USER_INPUT
    (tmp_path / "a.txt").write_text("1" * 11)
    assert "larger than" in str(await once(tmp_path, "write_file", path="a.txt", content="1"))


async def test_a_person_is_asked_and_shown_the_difference(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    async with opened(tmp_path) as gate:
        asked = await gate.call("write_file", {"path": "a.txt", "content": "one\nthree\n"})
        assert isinstance(asked, Pending)
        shown_to_ann = (await gate.approval(asked.approval_id)).preview or {}
        assert "-two\n+three\n" in shown_to_ann["text"]
        assert (tmp_path / "a.txt").read_text() == "one\ntwo\n"
        await gate.approve(asked.approval_id, by="ann")
        assert (await gate.resume(asked.approval_id)).ok
        assert (tmp_path / "a.txt").read_text() == "one\nthree\n"


@pytest.mark.parametrize("sign", ["\f", "\r", "\v", "\x1c", "\x85", "\u2028"])
async def test_a_difference_has_the_lines_that_line_feeds_end(tmp_path: Path, sign: str) -> None:
    """Of other signs that end a line for Python, sources of GNU have the form feed; nothing is missing behind one."""
    (tmp_path / "a.c").write_text(f"one{sign}and\ntwo\n", newline="")
    difference = await shown(tmp_path, path="a.c", content=f"one{sign}and\nthree\n")
    assert "No newline at end of file" not in difference
    assert "\n-two\n+three\n" in difference
    assert "\n+two\n\\ No newline at end of file\n" in await shown(tmp_path, path="new", content="one\ntwo")


async def test_an_approval_is_void_once_the_file_is_another(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with opened(tmp_path) as gate:
        asked = await gate.call("write_file", {"path": "a.txt", "content": "two\n"})
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        (tmp_path / "a.txt").write_text("what nobody saw\n")
        outcome = await gate.resume(asked.approval_id)
        assert outcome.error is not None
        assert outcome.error.code == "approval_void"
        assert (tmp_path / "a.txt").read_text() == "what nobody saw\n"


async def approved_and_then(folder: Path, then: Callable[[], object], **arguments: Any) -> Outcome:
    """A write that a person approved, and something that happens after its claim, before its handler looks."""
    async with opened(folder) as gate:
        asked = await gate.call("write_file", arguments)
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        execute = pipeline.execute

        async def late(parts: Parts, permit: Permit) -> Executed:
            then()
            return await execute(parts, permit)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "execute", late)
            return await gate.resume(asked.approval_id)


@pytest.mark.parametrize("mode", ["w", "a"])
async def test_a_file_that_changes_after_the_claim_is_not_written_to(tmp_path: Path, mode: str) -> None:
    file = tmp_path / "run.sh"
    file.write_text("echo one\n")
    outcome = await approved_and_then(
        tmp_path, lambda: file.write_text("what nobody saw\n"), path="run.sh", content="echo two\n", mode=mode
    )
    assert isinstance(outcome, Failed)
    assert outcome.happened is Happened.NONE
    assert "when this was approved" in str(outcome)
    assert file.read_text() == "what nobody saw\n"


async def test_a_link_that_turns_after_the_claim_is_not_followed_to_another_file(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text("same\n")
    (tmp_path / "link").symlink_to("one")

    def turn() -> None:
        (tmp_path / "link").unlink()
        (tmp_path / "link").symlink_to("two")

    outcome = await approved_and_then(tmp_path, turn, path="link/x", content="other\n")
    assert isinstance(outcome, Failed)
    assert [(tmp_path / name / "x").read_text() for name in ("one", "two")] == ["same\n", "same\n"]


async def shown(folder: Path, **arguments: Any) -> str:
    async with opened(folder) as gate:
        outcome = await gate.call("write_file", arguments, Context(autonomy=Autonomy.A0))
        assert isinstance(outcome, Previewed)
        assert outcome.preview is not None
        return outcome.preview.text


async def test_nobody_is_asked_about_what_is_a_directory_or_protected_or_lies_in_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "docs").mkdir()
    (tmp_path / "kept").write_text("x")
    (tmp_path / "kept").chmod(0o444)
    async with opened(tmp_path) as gate:
        for path, said in (
            ("docs", "docs is a directory, and no file"),
            ("kept", "kept is protected against writing"),
            ("newdir/a.txt", "there is no directory newdir; make it first"),
            ("new/dir/a.txt", "there is no directory new/dir; make it first"),
            ("file/a.txt", "file is no directory; name another place"),
        ):
            refused = await gate.call("write_file", {"path": path, "content": "x"})
            assert isinstance(refused, Refused), refused
            assert refused.error is not None
            assert (refused.error.code, refused.error.category) == ("invalid_arguments", Category.USER_INPUT)
            assert said in refused.error.message
            failed = await gate.call("write_file", {"path": path, "content": "x"}, Context(autonomy=Autonomy.A4))
            assert isinstance(failed, Failed)
            assert said in str(failed)
        assert await gate.approvals() == []
        asked = await gate.call("write_file", {"path": "a.txt", "content": "x"})
        assert isinstance(asked, Pending)


async def test_a_preview_is_bounded_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\x00")
    (tmp_path / "same").write_text("x")
    assert "a new file" in await shown(tmp_path, path="new", content="x")
    assert "no text" in await shown(tmp_path, path="binary", content="x")
    assert "nothing changes" in await shown(tmp_path, path="same", content="x")
    assert "too large to show" in await shown(tmp_path, path="new", content="x\n" * 2000)
    cut = await shown(tmp_path, path="new", content=("x" * 200 + "\n") * 500)
    assert "more characters" in cut
    assert len(cut) < 21_000
    assert "the preview failed" in await shown(tmp_path, path="nothing/new", content="x")
    assert names(tmp_path) == ["binary", "same"]


async def noted(gate: Callgate, file: Path, content: str) -> None:
    """Wait until this is noted: that comes after the call, which does not wait for it."""
    digest = content_hash(write.digest_of(content.encode()))
    async with asyncio.timeout(10):
        while True:
            last = await parts_of(gate).store.read(lambda reader: reader.reading("agent", "default", str(file)))
            if last is not None and last.digest == digest:
                return
            await asyncio.sleep(0.002)  # nobody tells of a note


@pytest.mark.requirement("STL-02", "STL-05")
@pytest.mark.parametrize("whole", [1_000_000, 1], ids=["as-a-whole", "by-pieces"])
async def test_a_file_that_changed_since_it_was_read_is_told_as_stale(
    tmp_path: Path, whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever part of it is read; one's own writing is no surprise."""
    monkeypatch.setattr(read, "_WHOLE", whole)
    file = tmp_path / "a.txt"
    file.write_text("one\ntwo\n")
    async with opened(tmp_path) as gate:
        for arguments in ({"path": "a.txt"}, {"path": "./a.txt", "offset": 2}):
            assert (await call(gate, "read_file", **arguments)).ok
            await noted(gate, file, "one\ntwo\n")
        for name, arguments in (("write_file", {"content": "ours\n"}), ("read_file", {})):
            assert (await call(gate, name, path="a.txt", **arguments)).ok
            await noted(gate, file, "ours\n")
        file.write_text("theirs\n")
        assert (await call(gate, "read_file", path="a.txt", limit=1)).ok
        await noted(gate, file, "theirs\n")
        told = [event.payload or {} async for event in gate.events(types=["source.stale"])]
        assert [one["path"] for one in told] == [str(file)]
