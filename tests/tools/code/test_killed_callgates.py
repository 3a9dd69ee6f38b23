"""What a program made that tools may not does not outlive a Callgate that is killed: the next program's does the rest.

TOOL-09.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.tools.code import alone, lifetimes
from tests.tools.code.small_program import run_small, until
from tests.tools.code.test_git_status import do

pytestmark = [pytest.mark.usefixtures("bubblewrap"), pytest.mark.crash]
SETTINGS = "autonomy: A4\nscopes: {shell: {requires_approval: false}}\n"
KILLED = """
import asyncio, sys
from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from callgate.tools.code import alone
alone.NAME = "\\0" + sys.argv[1]

async def main():
    ground, command = sys.argv[2:4]
    gate = Callgate.open(sys.argv[4], ground + "/callgate.yaml", working_directory=ground, builtin_tools=["run_shell"])
    async with gate:
        await gate.call("run_shell", {"command": command}, Context(autonomy=Autonomy.A4))

asyncio.run(main())
"""
CALLED = """
import sys
from callgate.cli.entry import main
from callgate.tools.code import alone
alone.NAME = "\\0" + sys.argv[1]
main(sys.argv[2:])
"""
MAKE_GIT = "mkdir -p new/.git/hooks; echo x > new/.git/hooks/pre-commit"


def make_ground(place: Path) -> Path:
    place.mkdir()
    (place / "callgate.yaml").write_text(SETTINGS)
    return place


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    return make_ground(tmp_path / "ground")


@pytest.fixture
def kept(home: Path) -> Path:
    """Where it is written down what is to be done."""
    return home / ".config" / "callgate" / "programs"


@asynccontextmanager
async def amid(ground: Path, command: str, *, store: str = "memory://", turns: str = "") -> AsyncGenerator[None]:
    """A Callgate that runs a program, which has done what it was to do; it is killed in the end."""
    command = f"{command}; touch ready; sleep 60"
    process = subprocess.Popen([sys.executable, "-c", KILLED, alone.NAME[1:] + turns, str(ground), command, store])  # noqa: ASYNC220
    try:
        await until(ground / "ready")
        (ground / "ready").unlink()
        yield
    finally:
        process.kill()
        process.wait(30)


async def kill_amid(ground: Path, command: str, *, store: str = "memory://") -> None:
    async with amid(ground, command, store=store):
        pass


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def run(ground: Path, command: str = "true", tool: str = "run_shell", **more: Any) -> dict[str, Any]:
    tools = ["run_shell", "run_tests", "git_status", "lint_code"]
    gate = Callgate.open("memory://", ground / "callgate.yaml", working_directory=ground, builtin_tools=tools)
    arguments = {"command": command, **more} if tool == "run_shell" else more
    async with gate:
        return (await gate.call(tool, arguments, Context(autonomy=Autonomy.A4))).unwrap()


def aside(place: Path) -> list[str]:
    return [path.name for path in place.rglob("*.set-aside-*")]


@pytest.mark.parametrize("store", ["memory://", "sqlite:///{}/data.db"])
async def test_a_git_is_set_aside_by_the_next_program_and_told_once(
    ground: Path, kept: Path, tmp_path: Path, store: str
) -> None:
    do(ground, "init", "-q", "mine")
    await kill_amid(ground, MAKE_GIT, store=store.format(tmp_path))
    (left,) = files(kept)
    assert [os.stat(path).st_mode & 0o777 for path in (left, kept)] == [0o600, 0o700]  # noqa: PTH116
    ran = await run(ground)
    assert not (ground / "new" / ".git").exists()
    assert (ground / "mine" / ".git").is_dir()
    assert f"a program that was begun in {ground} at " in ran["note"]
    assert f"it made {ground}/new/.git, which tools may not: it was renamed to .git.set-aside-" in ran["note"]
    assert "is to be renamed back" in ran["note"]
    assert (await run(ground))["note"] is None
    assert files(kept) == []


async def test_what_governs_another_callgate_is_set_aside_and_put_back(ground: Path) -> None:
    (ground / "policies").mkdir()
    (ground / "inner").mkdir()
    (ground / "policies" / "inner.yaml").write_text("autonomy: A0\n")
    link = ground / "inner" / "callgate.yaml"
    link.symlink_to("../policies/inner.yaml")
    loose = "echo autonomy: A4 >"
    await kill_amid(
        ground, f"rm inner/callgate.yaml; {loose} inner/callgate.yaml; mkdir new; {loose} new/callgate.yaml"
    )
    ran = await run(ground)
    assert (str(link.readlink()), link.read_text()) == ("../policies/inner.yaml", "autonomy: A0\n")
    assert not (ground / "new" / "callgate.yaml").exists()
    assert f"the link {link} is another Callgate's, and was put back" in ran["note"]


async def test_two_that_were_killed_in_other_directories_are_both_finished(tmp_path: Path, kept: Path) -> None:
    """They ran at a time, as in two containers: neither did what the other one had left."""
    grounds = [make_ground(tmp_path / name) for name in ("one", "two", "three")]
    async with amid(grounds[0], MAKE_GIT, turns="-one"), amid(grounds[1], MAKE_GIT, turns="-two"):
        pass
    assert len(files(kept)) == 2
    ran = await run(grounds[2])
    assert [aside(ground / "new")[0][:15] for ground in grounds[:2]] == [".git.set-aside-"] * 2
    assert ran["note"].count(" was renamed to ") == 2
    assert files(kept) == []


async def test_what_one_did_for_another_is_told_though_it_is_killed_itself(tmp_path: Path, kept: Path) -> None:
    grounds = [make_ground(tmp_path / name) for name in ("one", "two", "three")]
    for ground in grounds[:2]:
        await kill_amid(ground, MAKE_GIT)
    assert len(files(kept)) == 1
    note = (await run(grounds[2]))["note"]
    assert all(f"begun in {ground} at " in note for ground in grounds[:2])


async def test_who_may_only_read_leaves_it_to_the_next_one(ground: Path) -> None:
    do(ground, "init", "-q", ".")
    await kill_amid(ground, MAKE_GIT)
    await run(ground, tool="git_status")
    assert (ground / "new" / ".git").exists()
    assert "renamed" in (await run(ground))["note"]


BROKEN = {
    "nothing": b"",
    "half": b'{"version": 1, "lifetime"',
    "no-text": b"\xff\xfe",
    "another-version": b'{"version": 99}',
    "another-shape": b'{"version": 1, "lifetime": 3}',
    "no-json-of-ours": b"[[]]",
    "too-deep": b"[" * 100_000,
}


@pytest.mark.parametrize("how", BROKEN)
async def test_a_broken_file_is_told_once_and_kept_for_people(ground: Path, kept: Path, how: str) -> None:
    await run(ground)
    (kept / "1-00000000.json").write_bytes(BROKEN[how])
    ran = await run(ground, "echo runs")
    assert ran["stdout"] == "runs\n"
    assert f"is kept as {kept}/1-00000000.unreadable" in ran["note"]
    assert "look for a new .git" in ran["note"]
    assert (kept / "1-00000000.unreadable").read_bytes() == BROKEN[how]
    assert (await run(ground))["note"] is None


def move_away(ground: Path, by: str) -> None:
    old = ground.rename(ground.with_name("old"))
    if by == "another-directory":
        shutil.copytree(old, ground)
    elif by == "a-file":
        ground.write_text("a file")


@pytest.mark.parametrize("by", ["nothing", "another-directory", "a-file"])
async def test_a_directory_that_is_gone_is_told_once(ground: Path, tmp_path: Path, by: str) -> None:
    await kill_amid(ground, MAKE_GIT)
    move_away(ground, by)
    other = make_ground(tmp_path / "other")
    assert f"{ground} is not there any more, so nothing was looked for in it" in (await run(other))["note"]
    assert aside(tmp_path) == []
    assert (await run(other))["note"] is None


async def test_what_somebody_made_after_it_had_ended_is_left_and_told(
    ground: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person's own repository; and a link of theirs, made again as it was."""
    (ground / "base.yaml").write_text("autonomy: A0\n")
    (ground / "inner").mkdir()
    link = ground / "inner" / "callgate.yaml"
    link.symlink_to("../base.yaml")
    await kill_amid(ground, MAKE_GIT)
    (left,) = files(kept)
    _begin_earlier(left)
    # The program's own is older than its time; what is made now is not.
    monkeypatch.setattr(lifetimes, "_MARGIN", 0)
    do(ground, "init", "-q", "theirs")
    link.unlink()
    link.symlink_to("../base.yaml")
    ran = await run(ground)
    assert (ground / "theirs" / ".git").is_dir()
    assert f"{ground}/theirs/.git is new, and was left, since it was made when that program had ended" in ran["note"]
    assert str(link) not in ran["note"]
    assert (await run(ground))["note"] is None


def _begin_earlier(left: Path) -> None:
    """As if the program had been let go long before its Callgate was killed, so that its time is over."""
    first, *rest = left.read_text().split("\n")
    body = json.loads(first)
    boot, begun, since_boot, awake, seconds = body["lifetime"]
    body["lifetime"] = [boot, begun - seconds, since_boot - seconds, awake - seconds, seconds]
    left.write_text("\n".join([json.dumps(body), *rest]))


@pytest.mark.parametrize("boot", ["this-start", "another-start"])
async def test_devices_may_have_other_numbers_by_then(
    ground: Path, kept: Path, boot: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a start of the machine they may, as this one is that has just begun; and in a container that began anew."""
    do(ground, "init", "-q", "mine")
    await kill_amid(ground, MAKE_GIT)
    (left,) = files(kept)
    first = json.loads(left.read_text().split("\n")[0])
    for found in ("roots", "git", "configurations"):
        first[found] = {path: [device + 1, *rest] for path, (device, *rest) in first[found].items()}
    if boot == "another-start":
        first["lifetime"] = [boot, 0, 0, 0, 1]
        monkeypatch.setattr(lifetimes, "_clocks", lambda: (1.0, 1.0))
    left.write_text(json.dumps(first))
    await run(ground)
    assert (ground / "mine" / ".git").is_dir()
    assert not (ground / "new" / ".git").exists()


async def test_what_came_to_be_since_a_start_of_the_machine_is_no_programs_of_before(ground: Path, kept: Path) -> None:
    await kill_amid(ground, "true")
    (left,) = files(kept)
    first = json.loads(left.read_text().split("\n")[0])
    first["lifetime"][0] = "another-start"
    left.write_text(json.dumps(first))
    do(ground, "init", "-q", "theirs")
    assert f"{ground}/theirs/.git is new, and was left" in (await run(ground))["note"]


async def test_what_nobody_could_be_told_is_told_by_the_next_program(ground: Path, tmp_path: Path) -> None:
    """A program that is refused tells nothing of what was done before it."""
    await kill_amid(ground, MAKE_GIT)
    other = make_ground(tmp_path / "other")
    (other / "plugins").symlink_to("elsewhere")
    (other / "callgate.yaml").write_text(f"{SETTINGS}plugins: {{folders: [plugins/mine]}}\n")
    with pytest.raises(Exception, match="is a link"):
        await run(other)
    (other / "tree").mkdir()
    (other / "callgate.yaml").write_text(SETTINGS)
    assert "was renamed to .git.set-aside-" in (await run(other))["note"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_call_of_the_command_line_that_is_stopped_leaves_nothing_to_do(
    ground: Path, kept: Path, number: int
) -> None:
    """It is set aside at once; there is nobody to be told, so the next one is."""
    arguments = json.dumps({"command": f"{MAKE_GIT}; touch ready; sleep 60"})
    (ground / "callgate.yaml").write_text(f"{SETTINGS}builtin_tools: {{enable: [code]}}\n")
    words = [sys.executable, "-c", CALLED, alone.NAME[1:], "call", "run_shell", arguments]
    with subprocess.Popen(words, cwd=ground, stderr=subprocess.DEVNULL) as process:  # noqa: ASYNC220 - returns at once
        await until(ground / "ready")
        process.send_signal(number)
        assert process.wait(30) == 128 + number
    assert not (ground / "new" / ".git").exists()
    assert [json.loads(each.read_text()).keys() for each in files(kept)] == [{"version", "notes"}]
    note = (await run(ground))["note"]
    assert note.startswith(f"of a program in {ground} whose call was broken off: it made {ground}/new/.git, which")
    assert (await run(ground))["note"] is None


async def test_what_a_living_callgate_wrote_down_is_left_to_it(ground: Path, kept: Path, tmp_path: Path) -> None:
    """In a container with a network of its own, programs do not wait for ours."""
    words = [sys.executable, "-c", KILLED, f"{alone.NAME[1:]}-other", str(ground), f"{MAKE_GIT}; cat wait"]
    os.mkfifo(ground / "wait")
    with subprocess.Popen([*words, "memory://"]) as living:  # noqa: ASYNC220 - it returns with the fork
        await until(ground / "new" / ".git" / "hooks" / "pre-commit")
        other = make_ground(tmp_path / "other")
        assert (await run(other))["note"] is None
        assert (ground / "new" / ".git").exists()
        (ground / "wait").write_text("go on")
        living.wait(30)
    assert aside(ground) != []
    assert files(kept) == []


async def test_where_nothing_can_be_written_down_nothing_is_run(ground: Path, home: Path) -> None:
    (home / ".config").mkdir()
    (home / ".config" / "callgate").write_text("a file")
    with pytest.raises(Exception, match=r"none was run.*set XDG_CONFIG_HOME"):
        await run_small(ground, "touch ran")
    assert not (ground / "ran").exists()
