"""Processes that fork at a bad moment: whatever lives on, no lock of the parent's outlives the parent in it."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callgate.events.anchor import AnchorFile
from callgate.secrets.private_files import lock_beside
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import HandClock
from tests.stores import forking

ROOT = Path(__file__).resolve().parents[2]
ANCHORING, LOCKING = forking.while_an_anchor_is_written, forking.while_a_private_file_is_locked
pytestmark = pytest.mark.crash


@contextmanager
def forked(path: Path, moment: forking.Moment) -> Generator[str]:
    """Whose lock it was, of a process that has ended, while its child lives."""
    command = [sys.executable, "-m", "tests.stores.forking", str(path), moment.__name__]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        child = int(process.stdout.readline())
        try:
            assert process.wait(60) == 0
            yield process.stdout.readline().strip()
        finally:
            os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("moment", [forking.while_the_store_opens, forking.after_it_closed], ids=["opening", "closed"])
async def test_an_owner_that_forked_and_died_is_gone(tmp_path: Path, moment: forking.Moment) -> None:
    path = tmp_path / "callgate.db"
    first = SqliteStore(path, clock=HandClock())
    await first.open()
    await first.close()
    with forked(path, moment) as owner:
        store = SqliteStore(path, clock=HandClock())
        await store.open()
        assert not store.owner_alive(owner)
        await store.close()


async def test_what_is_forked_while_a_store_opens_does_not_open_it(tmp_path: Path) -> None:
    path = tmp_path / "callgate.db"
    first = SqliteStore(path, clock=HandClock())
    await first.open()
    await first.close()
    command = [sys.executable, "-m", "tests.stores.forking", str(path), forking.while_it_opens_and_open_it.__name__]
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=60, check=True)  # noqa: ASYNC221 - nothing else waits
    assert "forked while its parent had the store open" in ended.stdout.splitlines()[0]


def test_anchors_are_written_whatever_was_forked_while_one_was(tmp_path: Path) -> None:
    with forked(tmp_path / "callgate.db", ANCHORING):
        anchors = AnchorFile(tmp_path, "s")
        assert len(anchors.look().entries) == 1
        anchors.record(forking.CHECKPOINT)


def test_private_files_are_written_whatever_was_forked_while_one_was(tmp_path: Path) -> None:
    with forked(tmp_path / "secrets", LOCKING), lock_beside(tmp_path / "secrets"):
        pass
