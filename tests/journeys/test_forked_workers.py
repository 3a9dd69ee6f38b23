"""Several gates on one store, in workers and in one process: what was acknowledged is there, after kill -9 too."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.journeys import paying

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.crash, pytest.mark.slow]


def told(scene: str, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "tests.journeys.paying", scene, str(folder)]
    return subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=100, check=False
    ).stdout.splitlines()


def assert_paid_once(folder: Path) -> None:
    """Everything is asked for again, by a process that comes later."""
    keys = ["zero", "one", "two"]
    with paying.opened(folder) as gate:
        for key in keys:
            paying.pay(gate, key)
        assert sorted(row.key.key for row in gate.attempts()) == sorted(keys)
        assert gate.verify_audit().ok
    assert sorted((folder / "paid").read_text().split()) == sorted(keys)


@pytest.mark.parametrize("scene", ["spawned_while_open", "forked_when_closed", "two_gates"])
def test_what_was_acknowledged_is_there_whoever_closed_meanwhile(scene: str, tmp_path: Path) -> None:
    assert told(scene, tmp_path) == ["zero: succeeded", "one: succeeded", "two: succeeded"]
    assert_paid_once(tmp_path)


def test_a_worker_that_was_forked_while_its_parent_had_the_store_open_pays_nothing(tmp_path: Path) -> None:
    zero, refused = told("forked_while_open", tmp_path)
    assert zero == "zero: succeeded"
    assert "this process was forked while its parent had the store open; fork before it is opened" in refused
    assert not {"one", "two"}.intersection((tmp_path / "paid").read_text().split())
    assert_paid_once(tmp_path)


def test_a_forked_worker_verifies_a_copy_of_the_store_that_its_parent_has_open(tmp_path: Path) -> None:
    *_, looked = told("copy_looked_at_when_forked", tmp_path)
    assert looked.startswith(f"True: this store is a copy of the one at {tmp_path}/callgate.db")
