"""A database whose files the system lets nobody write to any more, also not through what is open already."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


class Protection:
    """The folder of one store, which can be made read-only.

    Nothing can be remounted read-only while somebody has a file open to write. The files are made immutable instead:
    the kernel then refuses every write to them, whoever opened them before.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.url = f"sqlite:///{folder / 'callgate.db'}"

    @contextmanager
    def read_only(self) -> Generator[None]:
        """Nothing can be written, made or removed meanwhile. The index into the log holds no data, and is spared."""
        self._change("+i", *self._folder.glob("*.db"), *self._folder.glob("*.db-wal"), self._folder)
        try:
            yield
        finally:
            self._change("-i", self._folder, *self._folder.iterdir())

    def _change(self, flag: str, *paths: Path) -> None:
        subprocess.run(["chattr", flag, *map(str, paths)], check=True, capture_output=True)


def mount_a_disk(image: Path, folder: Path) -> bool:
    """Have a file system that knows immutable files there; whether this system lets us."""
    with image.open("wb") as file:
        file.truncate(32 * 1024 * 1024)
    folder.mkdir()
    make = ["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(folder)]
    try:
        return all(subprocess.run(command, check=False, capture_output=True).returncode == 0 for command in make)
    except FileNotFoundError:
        return False
