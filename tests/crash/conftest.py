"""What crash tests share: a seed that is printed and can be given, and a store of the test's own."""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.protection import Protection, mount_a_disk


@pytest.fixture
def seed() -> int:
    """Run a test again with what it printed: CALLGATE_SEED=123 pytest tests/crash/…."""
    number = int(os.environ.get("CALLGATE_SEED") or random.SystemRandom().randrange(2**32))
    print(f"CALLGATE_SEED={number}")  # noqa: T201 - shown by pytest when the test fails
    return number


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store in a file."""
    return f"sqlite:///{tmp_path / 'store' / 'callgate.db'}"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes, where the system lets us have one."""
    if not (hasattr(os, "geteuid") and os.geteuid() == 0):
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this system does not let us mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def protection(tmp_path: Path) -> Iterator[Protection]:
    """A place for a store that can be made read-only while it is open, where the system lets us have one."""
    if not (hasattr(os, "geteuid") and os.geteuid() == 0):
        pytest.skip("only root can make files immutable")
    disk = tmp_path / "disk"
    if not mount_a_disk(tmp_path / "image", disk):
        pytest.skip("this system does not let us mount")
    (disk / "store").mkdir()
    yield Protection(disk / "store")
    subprocess.run(["umount", "-l", str(disk)], check=True)
