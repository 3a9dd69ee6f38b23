"""Stand-ins: something empty where a file of Callgate's own is not yet, while a program runs.

Only over what exists can something be put, and what is not there could be made by the program.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field

from callgate.policy.ways import is_inside
from callgate.tools.code.mounts import between

_READ_AS_NOTHING = ("-wal", "-shm", "-journal", ".owners", ".yaml", ".yml", ".cfg")
"""Where a file stands in: what reads these takes an empty one for none. Elsewhere it is a directory, which nobody can
write to by mistake, and which is only taken away while it is empty."""


@dataclass(slots=True)
class Covers:
    """How own places are kept from a program."""

    covered: list[str] = field(default_factory=list[str])
    """What something is put over: own files, or what stands in for them or for a directory above."""
    made: dict[str, int] = field(default_factory=dict[str, int])
    """What stands in, and the number of each."""
    shut: dict[str, str] = field(default_factory=dict[str, str])
    """Directories in which nothing could be made, and for which own place: the program may only read them."""


@contextlib.contextmanager
def standing(kept: Iterable[str], writable: Sequence[str]) -> Generator[Covers]:
    """Cover these paths: what is there, and else what is made in their stead, and taken away afterwards."""
    covers = Covers()
    try:
        for path in kept:
            covers.covered.append(_hold(path, writable, made=covers.made, shut=covers.shut))
        covers.covered = list(dict.fromkeys(covers.covered))
        yield covers
    finally:
        for path, inode in reversed(covers.made.items()):
            _take_away(path, inode)


def _hold(path: str, writable: Sequence[str], *, made: dict[str, int], shut: dict[str, str]) -> str:
    steps = (step for root in writable if is_inside(path, root) for step in (*between(path, root), path))
    for step in steps:
        if step in made:
            return step
        if os.path.lexists(step):
            continue
        try:
            made[step] = _make(step)
        except OSError:
            # A program could open to itself what is closed to us, if it is ours. Below a file nothing can be.
            above = os.path.dirname(step)  # noqa: PTH120 - a text all along
            if os.path.isdir(above):  # noqa: PTH112
                shut[above] = path
            return path
        return step
    return path


def _make(path: str) -> int:
    if path.endswith(_READ_AS_NOTHING):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    else:
        os.mkdir(path, 0o700)  # noqa: PTH102 - a text all along
    return os.lstat(path).st_ino


def _take_away(path: str, inode: int) -> None:
    with contextlib.suppress(OSError):
        status = os.lstat(path)
        if status.st_ino == inode and stat.S_ISDIR(status.st_mode):
            os.rmdir(path)  # noqa: PTH106 - a text all along
        elif status.st_ino == inode and not status.st_size:
            os.unlink(path)  # noqa: PTH108 - a text all along
