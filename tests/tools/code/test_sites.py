"""A call that waits for another program to end: what that one has put in its way leads it nowhere. TOOL-09."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context
from callgate.model.levels import Autonomy, Category
from callgate.tools.code import sites
from callgate.tools.code.alone import alone
from tests.tools.code.small_program import until

pytestmark = pytest.mark.usefixtures("bubblewrap")
BAD = "import os\nprint(1)\n"
FREE = Context(autonomy=Autonomy.A4)
INNER = Context(autonomy=Autonomy.A4, working_directory="x", session="other")
MENDED = {
    # what is asked for, what a program puts there instead, and what would be mended then
    "a directory above": ("src", "..", "neighbour/victim.py"),
    "hooks": ("src", ".git/hooks", "ground/.git/hooks/victim.py"),
    "a file outside": ("a.py", "../victim.py", "victim.py"),
    "another directory inside": ("src", "other", "ground/other/victim.py"),
}


def open_gate(ground: Path, folder: Path, *, paths: str = ".") -> Callgate:
    folder.mkdir()
    settings = folder / "callgate.yaml"
    settings.write_text(f"autonomy: A4\nscopes: {{shell: {{requires_approval: false}}, fs: {{paths: [{paths}]}}}}\n")
    return Callgate.open("memory://", settings, working_directory=ground, builtin_tools=["run_shell", "lint_code"])


@asynccontextmanager
async def meanwhile(
    gate: Callgate, ground: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[asyncio.Event]:
    """A program that does this as soon as the next call waits for its end; the event tells that it does."""
    waits = asyncio.Event()
    line = f"touch begun; while ! test -e go; do :; done; {command}"
    program = asyncio.ensure_future(gate.call("run_shell", {"command": line}, FREE))
    await until(ground / "begun")

    @asynccontextmanager
    async def seen(*, until: float | None) -> AsyncGenerator[None]:
        waits.set()
        async with alone(until=until):
            yield

    monkeypatch.setattr(sites, "alone", seen)
    yield waits
    assert (await program).unwrap()["returncode"] == 0


async def called(gate: Callgate, tool: str, arguments: dict[str, Any], context: Context = FREE) -> Any:
    return await gate.call(tool, arguments, context)


async def let_go(waits: asyncio.Event, ground: Path) -> None:
    async with asyncio.timeout(30):
        await waits.wait()
    (ground / "go").touch()


def make_box(box: Path, victim: Path) -> Path:
    ground = box / "ground"
    for place in (ground / "src", ground / "x"):
        place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(ground)], check=True)
    victim.parent.mkdir(parents=True, exist_ok=True)
    for path in (victim, ground / "src" / "b.py", ground / "a.py"):
        path.write_text(BAD)
    return ground


@pytest.mark.parametrize("way", MENDED)
@pytest.mark.parametrize("gates", [1, 2])
async def test_lint_code_mends_only_what_it_was_called_for(
    way: str, gates: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, link, name = MENDED[way]
    victim = tmp_path / name
    ground = make_box(tmp_path, victim)
    async with open_gate(ground, tmp_path / "s1") as one, open_gate(ground, tmp_path / "s2") as two:
        async with meanwhile(one, ground, f"mv {path} old; ln -s {link} {path}", monkeypatch) as waits:
            wanted = {"path": path, "fix": True}
            linting = asyncio.ensure_future(called(two if gates == 2 else one, "lint_code", wanted))
            await let_go(waits, ground)
        outcome = await linting
    assert victim.read_text() == BAD
    assert outcome.status == "failed", outcome


async def test_a_call_whose_place_is_what_it_was_has_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ground = make_box(tmp_path, tmp_path / "victim.py")
    async with open_gate(ground, tmp_path / "s1") as gate:
        async with meanwhile(gate, ground, "echo 'import sys' >> a.py", monkeypatch) as waits:
            linting = asyncio.ensure_future(called(gate, "lint_code", {"path": "a.py"}))
            await let_go(waits, ground)
        assert (await linting).unwrap()["issue_count"] >= 2


EACH = {
    "git_status": {},
    "lint_code": {"path": ".", "fix": True},
    "run_shell": {"command": "touch ran"},
    "run_tests": {"path": "."},
}


@pytest.mark.parametrize("tool", EACH)
async def test_a_call_that_gets_no_turn_says_so_before_its_time_is_over(tool: str, tmp_path: Path) -> None:
    """Nothing was done, and its key is free: the same call goes through when the other program has ended."""
    ground = make_box(tmp_path, tmp_path / "victim.py")
    settings = tmp_path / "callgate.yaml"
    settings.write_text("scopes: {shell: {requires_approval: false}}\n")
    keyed = Context(autonomy=Autonomy.A4, idempotency_key="k1")
    async with Callgate.open("memory://", settings, working_directory=ground, builtin_tools=["code"]) as gate:
        async with alone():
            outcome = await gate.call(tool, EACH[tool], keyed, timeout=3.1)
        assert outcome.status == "failed", outcome
        assert "another program runs" in str(outcome)
        assert "nothing was done, call again" in str(outcome)
        assert outcome.error is not None
        assert (outcome.error.category, outcome.error.retryable) == (Category.TIMEOUT, True)
        assert not (ground / "ran").exists()
        again = await gate.call(tool, EACH[tool], keyed, timeout=60)
        assert (again.status, again.deduped) == ("succeeded", False), again


@pytest.mark.parametrize("whose", ["another gate's", "another session's"])
async def test_run_shell_works_only_where_it_was_called_for(
    whose: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "neighbour" / "secret"
    ground = make_box(tmp_path, secret)
    wanted = {"command": "cat secret; echo changed > secret", "cwd": str(ground / "x")}
    (tmp_path / "elsewhere").mkdir()
    async with (
        open_gate(ground, tmp_path / "s1") as wide,
        open_gate(tmp_path / "elsewhere", tmp_path / "s2", paths=str(ground / "x")) as narrow,
    ):
        async with meanwhile(wide, ground, f"mv x old; ln -s {secret.parent} x", monkeypatch) as waits:
            gate, context = (narrow, FREE) if whose == "another gate's" else (wide, INNER)
            running = asyncio.ensure_future(called(gate, "run_shell", wanted, context))
            await let_go(waits, ground)
        outcome = await running
    assert secret.read_text() == BAD
    assert outcome.status == "failed", outcome
    assert "print(1)" not in str(outcome)


async def test_a_granted_directory_that_became_a_link_is_handed_to_no_program(tmp_path: Path) -> None:
    """Also where the program is to work in another one."""
    secret = tmp_path / "neighbour" / "secret"
    ground = make_box(tmp_path, secret)
    async with (
        open_gate(ground, tmp_path / "s1") as wide,
        open_gate(ground / "src", tmp_path / "s2", paths=f"., {ground / 'x'}") as narrow,
    ):
        command = {"command": f"cat {ground}/x/secret; echo changed > {ground}/x/secret"}
        assert (await narrow.call("run_shell", {"command": "true"}, FREE)).unwrap()["returncode"] == 0
        await wide.call("run_shell", {"command": f"mv x old; ln -s {secret.parent} x"}, FREE)
        outcome = await narrow.call("run_shell", command, FREE)
    assert secret.read_text() == BAD
    assert "is now found through a link" in str(outcome)


@pytest.mark.parametrize("used", ["used before", "never used"])
async def test_a_link_in_place_of_a_contexts_directory_grants_nothing(used: str, tmp_path: Path) -> None:
    secret = tmp_path / "neighbour" / "secret"
    ground = make_box(tmp_path, secret)
    async with open_gate(ground, tmp_path / "s1") as gate:
        if used == "used before":
            before = await gate.call("run_shell", {"command": "pwd"}, INNER)
            assert before.unwrap()["stdout"].strip() == str(ground / "x")
        await gate.call("run_shell", {"command": f"mv x old; ln -s {secret.parent} x"}, FREE)
        ran = await gate.call("run_shell", {"command": "cat secret; echo changed > secret"}, INNER)
        linted = await gate.call("lint_code", {"path": ".", "fix": True}, INNER)
    assert secret.read_text() == BAD
    assert [outcome.status for outcome in (ran, linted)] == ["refused", "refused"]
    assert "the working directory" in str(ran)
    assert "the working directory" in str(linted)


async def test_a_contexts_directory_stays_where_it_led_at_first(tmp_path: Path) -> None:
    ground = make_box(tmp_path, tmp_path / "ground" / "other" / "victim.py")
    async with open_gate(ground, tmp_path / "s1") as gate:
        assert (await gate.call("run_shell", {"command": "true"}, INNER)).unwrap()["returncode"] == 0
        await gate.call("run_shell", {"command": "mv x old; ln -s other x"}, FREE)
        outcome = await gate.call("run_shell", {"command": "echo changed > victim.py"}, INNER)
    assert (ground / "other" / "victim.py").read_text() == BAD
    assert "when it was first used" in str(outcome)
