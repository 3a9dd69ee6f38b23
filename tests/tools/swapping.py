"""Swapping: somebody who puts a link in the place of a directory while tools are at work there."""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path

_HERE, _EXCHANGE = -100, 2
"""Of the system: paths as they are, and both names change places."""


@contextlib.contextmanager
def swapping(path: Path, target: Path) -> Generator[list[int]]:
    """A thread that puts a link in the place of what is there and takes it away again, as fast as it can."""
    kept, link = path.with_name(path.name + ".kept"), path.with_name(path.name + ".link")
    link.symlink_to(target)

    def swap() -> None:
        path.rename(kept)
        link.rename(path)
        path.rename(link)
        kept.rename(path)

    with _repeating(swap) as rounds:
        yield rounds


@contextlib.contextmanager
def exchanging(path: Path, target: Path) -> Generator[list[int]]:
    """The same in one step, so that something is there at every moment: the directory, or the link."""
    link = path.with_name(path.name + ".link")
    link.symlink_to(target)
    exchange = ctypes.CDLL(None).renameat2

    def swap() -> None:
        for _ in range(2):
            assert exchange(_HERE, bytes(path), _HERE, bytes(link), _EXCHANGE) == 0

    with _repeating(swap) as rounds:
        yield rounds


@contextlib.contextmanager
def _repeating(swap: Callable[[], None]) -> Generator[list[int]]:
    over, rounds = threading.Event(), [0]

    def repeat() -> None:
        while not over.is_set():
            swap()
            rounds[0] += 1

    thread = threading.Thread(target=repeat)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    thread.start()
    try:
        yield rounds
    finally:
        over.set()
        thread.join()
        sys.setswitchinterval(before)
