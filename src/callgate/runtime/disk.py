"""The disk under a store: does it really sync, is there room, is it one that a store may live on? Knows no store."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

_TRIES = 5
_BLOCK = b"\0" * 4096
_TOO_FAST_SECONDS = 20e-6
_LITTLE_ROOM = 64 * 1024 * 1024
_REMOTE = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "fuse.s3fs", "fuse.gcsfuse"})
_FLEETING = frozenset({"tmpfs", "ramfs"})
_MOUNTS = Path("/proc/self/mounts")


def nearest_folder(path: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    return next((folder for folder in (path, *path.parents) if folder.is_dir()), Path.cwd())


def sync_seconds(folder: Path) -> float:
    """How long writing a block durably takes here, the middle of a few tries.

    Raises:
        OSError: Nothing can be written here.
    """
    taken: list[float] = []
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".callgate-doctor-") as file:
        for _ in range(_TRIES):
            file.write(_BLOCK)
            file.flush()
            start = time.perf_counter()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def too_fast(seconds: float) -> bool:
    """Whether no disk can have been waited for in that time."""
    return seconds < _TOO_FAST_SECONDS


def free_bytes(folder: Path) -> int:
    """How much room is left."""
    return shutil.disk_usage(folder).free


def little_room(count: int) -> bool:
    """Whether a store would soon be refused for want of room."""
    return count < _LITTLE_ROOM


def file_system(folder: Path) -> str:
    """What kind of file system it is on; empty where the system does not say."""
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    real = folder.resolve()
    mounts = [line.split(" ")[1:3] for line in lines]
    fitting = [(mount, kind) for mount, kind in mounts if real.is_relative_to(mount.replace("\\040", " "))]
    return max(fitting, key=lambda each: len(each[0]), default=("", ""))[1]


def trouble_with(kind: str) -> str:
    """Why a store should not live on such a file system; empty if it may."""
    if kind in _REMOTE:
        return f"{kind} is a network file system: locks do not hold there, and two processes could run one call twice"
    if kind in _FLEETING:
        return f"{kind} is in memory: what is recorded here is gone when the machine stops"
    return ""
