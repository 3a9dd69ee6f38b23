"""run_shell: every way out that we know, with a witness outside, and each where there is no sandbox. TOOL-09."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy
from tests.tools.code.test_git_status import do
from tests.tools.code.ways_out import WAYS, WAYS_OF_ROOT, WAYS_THAT_HARM
from tests.tools.code.world import World, make_world

pytestmark = pytest.mark.usefixtures("bubblewrap")
IS_ROOT = os.geteuid() == 0


@contextmanager
def what_a_parent_has(world: World, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """A secret in the environment, and an open file that children inherit unless somebody sees to it."""
    monkeypatch.setenv("CALLGATE_TEST_SECRET", world.canary)
    world.handle = handle = os.open(world.outside / "secret.txt", os.O_RDONLY)
    os.set_inheritable(handle, True)
    try:
        yield
    finally:
        os.close(handle)


async def run_inside(world: World, command: str, **more: Any) -> dict[str, Any]:
    gate = Callgate.open(
        "memory://", world.ground / "callgate.yaml", working_directory=world.ground, builtin_tools=["run_shell"]
    )
    async with gate:
        outcome = await gate.call("run_shell", {"command": command, **more}, Context(autonomy=Autonomy.A4))
        return outcome.unwrap()


@pytest.mark.parametrize("way", [*WAYS, *WAYS_OF_ROOT, *WAYS_THAT_HARM])
async def test_no_way_leads_out(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TOOL-09: what the command was to reach is as it was, and what it was to read was not read."""
    command = {**WAYS, **WAYS_OF_ROOT, **WAYS_THAT_HARM}[way]
    with make_world(tmp_path) as world, what_a_parent_has(world, monkeypatch):
        ran = await run_inside(world, command.format_map(world.names()))
        assert not world.escaped(f"{ran['stdout']}{ran['stderr']}"), ran


@pytest.mark.parametrize("way", [*WAYS, *(WAYS_OF_ROOT if IS_ROOT else ())])
def test_each_way_leads_out_where_there_is_no_sandbox(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the other test would prove nothing."""
    command = {**WAYS, **WAYS_OF_ROOT}[way]
    with make_world(tmp_path) as world, what_a_parent_has(world, monkeypatch):
        line = command.format_map(world.names())
        ran = subprocess.run(
            ["/bin/sh", "-c", line], cwd=world.ground, capture_output=True, close_fds=False, check=False, timeout=60
        )
        if way == "signal":
            world.sleeper.wait(30)
        output = (ran.stdout + ran.stderr).decode(errors="replace")
        until = time.monotonic() + 30
        while not world.escaped(output) and time.monotonic() < until:
            time.sleep(0.01)  # a witness on another thread may hear of it later than the program ends
        assert world.escaped(output), ran


async def test_what_a_program_may_do_it_can(tmp_path: Path) -> None:
    """The ordinary: to read, write, rename and delete in the granted directory, links and pipes and scripts."""
    with make_world(tmp_path) as world:
        line = (
            "echo one > a; mkdir d; mv a d/b; ln -s d/b l; cat l | tr a-z A-Z; rm -r d l; git -C sub status | head -1"
        )
        ran = await run_inside(world, line)
        assert (ran["stdout"].splitlines()[0], ran["returncode"], ran["note"]) == ("ONE", 0, None)
        assert "On branch" in ran["stdout"]
        assert not world.escaped("")


async def test_a_new_git_is_set_aside_and_told(tmp_path: Path) -> None:
    with make_world(tmp_path) as world:
        ran = await run_inside(world, "git init -q new && ls -d new/.git")
        assert ran["stdout"] == "new/.git\n"
        assert "new/.git" in ran["note"]
        assert "renamed" in ran["note"]
        [aside] = (world.ground / "new").iterdir()
        assert aside.name.startswith(".git.set-aside-")


async def test_where_a_git_lies_elsewhere_that_is_read_only_too(tmp_path: Path) -> None:
    with make_world(tmp_path) as world:
        for name, link in (("apart", False), ("linked", True)):
            (world.ground / name).mkdir()
            store = world.ground / f"{name}.store"
            do(world.ground, "init", "-q", "--separate-git-dir", str(store), name)
            if link:
                (world.ground / name / ".git").unlink()
                (world.ground / name / ".git").symlink_to(store)
        (world.ground / "odd").mkdir()
        (world.ground / "odd" / ".git").write_text("nothing of the kind")
        before = world.state()
        ran = await run_inside(
            world, "echo x > apart.store/config; echo x > linked.store/hooks/pre-commit; echo x > odd/.git"
        )
        assert ran["stderr"].count("Read-only") == 3
        assert world.state() == before
        # A number that becomes free is often given to what is made next: it must not pass for what it was.
        ran = await run_inside(world, "rm linked/.git; mkdir linked/.git; echo x > linked/.git/config")
        assert "linked/.git" in (ran["note"] or "")
        assert not (world.ground / "linked" / ".git").exists()


async def test_what_stands_in_for_our_files_is_gone_afterwards(tmp_path: Path) -> None:
    with make_world(tmp_path) as world:
        before = {path.name for path in world.ground.iterdir()}
        ran = await run_inside(world, "ls -a; echo x > plugins; mkdir plugins/x; mkdir .callgate/x")
        assert {"plugins", ".callgate"} <= set(ran["stdout"].split())
        assert {path.name for path in world.ground.iterdir()} == before


async def test_a_file_of_ours_that_is_a_link_is_no_ground_for_programs(tmp_path: Path) -> None:
    with make_world(tmp_path) as world:
        (world.ground / "plugins").symlink_to("elsewhere")
        gate = Callgate.open(
            "memory://", world.ground / "callgate.yaml", working_directory=world.ground, builtin_tools=["run_shell"]
        )
        async with gate:
            outcome = await gate.call("run_shell", {"command": "true"}, Context(autonomy=Autonomy.A4))
        assert "is a link" in str(outcome)


async def test_a_directory_that_is_swapped_for_a_link_leads_nowhere(tmp_path: Path) -> None:
    with make_world(tmp_path) as world:
        place, stop = world.ground / "d", asyncio.Event()
        place.mkdir()

        async def swap() -> None:
            while not stop.is_set():
                place.rename(world.ground / "aside")
                place.symlink_to(world.outside)
                await asyncio.sleep(0)  # lets the command run
                place.unlink()
                (world.ground / "aside").rename(place)
                await asyncio.sleep(0)  # lets the command run

        swapping = asyncio.ensure_future(swap())
        line = "i=0; while test $i -lt 3000; do echo x > d/planted; i=$((i+1)); done; cat d/secret.txt"
        ran = await run_inside(world, line)
        stop.set()
        await swapping
        assert not world.escaped(ran["stdout"])
