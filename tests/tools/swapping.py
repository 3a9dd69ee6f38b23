"""Swapping: somebody who puts a link in the place of a directory while tools are at work there."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Generator
from pathlib import Path


@contextlib.contextmanager
def swapping(path: Path, target: Path) -> Generator[list[int]]:
    """A thread that puts a link in the place of what is there and takes it away again, as fast as it can."""
    kept, link = path.with_name(path.name + ".kept"), path.with_name(path.name + ".link")
    link.symlink_to(target)
    over, rounds = threading.Event(), [0]

    def swap() -> None:
        while not over.is_set():
            path.rename(kept)
            link.rename(path)
            path.rename(link)
            kept.rename(path)
            rounds[0] += 1

    thread = threading.Thread(target=swap)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        yield rounds
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(before)
