"""A program outlives the process that ran it: killed, decided elsewhere, resumed elsewhere again, each effect once."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pytest

from callgate import Callgate
from callgate.errors import ProgramConflict
from callgate.flows.program.sandbox import Sandboxes
from tests.crash.processes import ROOT
from tests.crash.program_parts import SOURCE, tools

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = [pytest.mark.crash, pytest.mark.slow]


@contextmanager
def playing(part: str, folder: Path, name: str) -> Generator[subprocess.Popen[str]]:
    order = [sys.executable, "-m", "tests.crash.program_parts", part, str(folder), name]
    pipe = subprocess.PIPE
    with subprocess.Popen(order, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str]) -> dict[str, Any]:
    out: IO[str] | None = process.stdout
    assert out is not None
    return json.loads(out.readline())


def witnessed(folder: Path) -> list[str]:
    return (folder / "witness").read_text().splitlines()


def test_killed_asleep_decided_elsewhere_and_resumed_in_a_third_process(tmp_path: Path) -> None:
    with playing("run", tmp_path, "p1") as first:
        slept = heard(first)
        assert slept["state"] == "sleeping"
        os.kill(first.pid, signal.SIGKILL)
    with playing("approve", tmp_path, slept["approvals"][0]) as second:
        assert heard(second)["approved"]
    with playing("resume", tmp_path, "p1") as third:
        done = heard(third)
    assert (done["state"], done["value"], done["audit"]) == ("finished", "paid 6", True)
    lines = ["looked 0", "looked 1", "looked 2", "noted before 6", "paid 6", "noted after paid 6"]
    assert witnessed(tmp_path) == lines


def test_killed_in_the_middle_of_a_run_it_goes_on_without_a_second_effect(tmp_path: Path) -> None:
    with playing("run", tmp_path, "stuck") as first:
        assert heard(first) == {"standing": True}
        with playing("resume", tmp_path, "stuck") as other:
            # While somebody runs it, nobody else does.
            assert other.wait(timeout=60) != 0
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    with playing("resume", tmp_path, "stuck") as second:
        done = heard(second)
    assert (done["state"], done["value"]) == ("finished", ["first", "second"])
    assert witnessed(tmp_path) == ["noted first", "noted second"]


def test_a_dry_run_that_was_killed_and_is_tried_again_under_its_key_gives_its_proposal_and_no_effect(
    tmp_path: Path,
) -> None:
    with playing("propose and die", tmp_path, "k1") as first:
        assert first.wait(timeout=60) == -signal.SIGKILL
    with playing("propose", tmp_path, "k1") as second:
        run = heard(second)["run"]
    assert (run["state"], [each["tool"] for each in run["plan"]]) == ("proposed", ["note"])
    assert not (tmp_path / "witness").exists()


async def test_an_older_state_of_the_run_that_was_killed_does_not_let_an_effect_happen_again(tmp_path: Path) -> None:
    with playing("run", tmp_path, "led") as first:
        assert heard(first) == {"halted": True}
        with sqlite3.connect(tmp_path / "town.db") as db:
            (older,) = db.execute("SELECT blob FROM sealed WHERE id = 'program:led:state'").fetchone()
        db.close()
        assert first.stdin is not None
        first.stdin.write("\n")
        first.stdin.flush()
        assert heard(first) == {"halted": True}
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
    with sqlite3.connect(tmp_path / "town.db") as db:
        changed = db.execute("UPDATE sealed SET blob = ? WHERE id = 'program:led:state'", (older,))
        assert changed.rowcount == 1
    db.close()
    async with Callgate.open(f"sqlite:///{tmp_path / 'town.db'}", working_directory=tmp_path) as gate:
        gate.add(tools(tmp_path))
        with pytest.raises(ProgramConflict, match="an older one was put back"):
            await gate.resume_program("led")
    assert witnessed(tmp_path) == ["noted first", "looked 0", "noted second"]


def _change(folder: Path, name: str) -> None:
    """Turn one bit of a sealed row, as somebody with the file and without the key could."""
    with sqlite3.connect(folder / "town.db") as db:
        (blob,) = db.execute("SELECT blob FROM sealed WHERE id = ?", (name,)).fetchone()
        turned = blob[:-1] + bytes([blob[-1] ^ 1])
        assert db.execute("UPDATE sealed SET blob = ? WHERE id = ?", (turned, name)).rowcount == 1
    db.close()


@pytest.mark.parametrize("part", ["", ":state", ":0", ":snapshot"])
async def test_a_changed_row_is_found_and_nothing_goes_on(tmp_path: Path, part: str) -> None:
    url = f"sqlite:///{tmp_path / 'town.db'}"
    async with Callgate.open(url, working_directory=tmp_path) as gate:
        gate.add(tools(tmp_path))
        run = await gate.run_program(SOURCE, program_id="p1")
        await gate.approve(run.waiting[0].approval_id, by="ann")
    _change(tmp_path, f"program:p1{part}")
    async with Callgate.open(url, working_directory=tmp_path) as gate:
        gate.add(tools(tmp_path))
        with pytest.raises(ProgramConflict, match="without the key"):
            await gate.resume_program("p1")
    assert "paid 6" not in witnessed(tmp_path)


async def test_a_segment_that_is_gone_or_moved_is_found(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'town.db'}"
    async with Callgate.open(url, working_directory=tmp_path) as gate:
        gate.add(tools(tmp_path))
        await gate.run_program(SOURCE, program_id="p1")
        await gate.run_program(SOURCE.replace("range(3)", "range(4)"), program_id="p2")
    with sqlite3.connect(tmp_path / "town.db") as db:
        db.execute("DELETE FROM sealed WHERE id = 'program:p1:0'")
        (other,) = db.execute("SELECT blob FROM sealed WHERE id = 'program:p2:1'").fetchone()
        db.execute("UPDATE sealed SET blob = ? WHERE id = 'program:p2:0'", (other,))
    db.close()
    async with Callgate.open(url, working_directory=tmp_path) as gate:
        gate.add(tools(tmp_path))
        with pytest.raises(ProgramConflict, match="missing"):
            await gate.resume_program("p1")
        with pytest.raises(ProgramConflict, match="without the key"):
            await gate.resume_program("p2")


async def test_a_state_of_another_interpreter_is_not_used_and_the_journal_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{tmp_path / 'town.db'}"
    with monkeypatch.context() as older:
        older.setattr(Sandboxes, "engine", "monty 0.0.1")
        async with Callgate.open(url, working_directory=tmp_path) as gate:
            gate.add(tools(tmp_path))
            run = await gate.run_program(SOURCE, program_id="p1")
            await gate.approve(run.waiting[0].approval_id, by="ann")
    async with Callgate.open(url, working_directory=tmp_path) as gate:
        gate.add(tools(tmp_path))
        done = await gate.resume_program("p1")
    assert done.unwrap() == "paid 6"
    assert witnessed(tmp_path).count("looked 0") == 1
    assert witnessed(tmp_path).count("noted before 6") == 1
