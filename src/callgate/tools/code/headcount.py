"""Headcount: a control group that holds all processes of one sandbox together to a number.

For root, whom the kernel's own limit does not bind. Control groups are not always ours to make: where they are not,
the processes are only counted, by `watch`.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

_OURS = re.compile(r"callgate-([0-9]+)-[0-9a-f]{8}")
"""As `hold` names them; what else begins with that word is somebody's service."""
_MOUNTS = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))


def hold(pid: int, most: int) -> Path | None:
    """Put a process, and all it will start, into a group of at most so many; None where no group can be made."""
    for parent in _parents():
        group = parent / f"callgate-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            _sweep(parent)
            group.mkdir()
        except OSError:
            continue
        try:
            # Neither file is ever made here: where the group counts no processes, there is none to open.
            _write(group / "pids.max", str(most))
            _write(group / "cgroup.procs", str(pid))
        except OSError:
            let_go(group)
            continue
        return group
    return None


def let_go(group: Path | None) -> None:
    """Take the group away, once no process is left in it."""
    if group is not None:
        with contextlib.suppress(OSError):
            group.rmdir()


def _sweep(parent: Path) -> None:
    """Take away what a Callgate that was killed has left; a group with processes in it stays by itself."""
    for name in os.listdir(parent):  # noqa: PTH208 - names are all that is wanted
        ours = _OURS.fullmatch(name)
        if ours is not None and not Path("/proc", ours[1]).exists():
            let_go(parent / name)


def _write(path: Path, text: str) -> None:
    handle = os.open(path, os.O_WRONLY)
    try:
        os.write(handle, text.encode())
    finally:
        os.close(handle)


def _parents() -> Iterator[Path]:
    """Where a group may be made: in our own, or beside it."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, place = line.split(":", 2)
        if controllers == "pids" or not controllers:
            mount = _MOUNTS[0] if controllers else _MOUNTS[1]
            own = mount / place.lstrip("/")
            yield from (own, own.parent) if own != mount else (own,)
