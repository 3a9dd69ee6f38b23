"""Watch: the bounds of a program in the sandbox: what the kernel holds each process to, and what is counted for all.

The kernel's limits are per process, and its limit of processes does not bind root. So the sandbox's own /proc is looked
at many times a second, and the program is stopped when all it started is too much together.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from dataclasses import dataclass

_LOOKS_SECONDS = 0.01
_UNTIL_SEEN = 200
"""So many looks may find no /proc: it is being made."""
_NICER = 10
_OWN_MEMORY = ("tmp", "dev", "dev/shm")
_COUNTS_BY_NAMESPACE = (5, 14)
"""From this kernel on, the limit of processes counts those of one user namespace, and not all that a user has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much one program and everything it starts may use."""

    seconds: float = 30
    memory: int = 2 * 1024**3
    tasks: int = 256
    """Processes and threads."""
    file_bytes: int = 256 * 1024**2
    open_files: int = 1024
    stdout: int = 200_000
    stderr: int = 40_000
    """Bytes that are kept; the rest is read and thrown away."""


def bind(pid: int, bounds: Bounds) -> None:
    """Hold a process that has not begun, and all it will start, to the kernel's limits."""
    seconds = int(bounds.seconds) + 2
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: bounds.memory,
        resource.RLIMIT_FSIZE: bounds.file_bytes,
        resource.RLIMIT_NOFILE: bounds.open_files,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if _kernel() >= _COUNTS_BY_NAMESPACE:
        wanted[resource.RLIMIT_NPROC] = bounds.tasks
    for limit, value in wanted.items():
        _, most = resource.prlimit(pid, limit)
        least = value if most == resource.RLIM_INFINITY else min(value, most)
        resource.prlimit(pid, limit, (least, least))


def yield_to_watch(pid: int) -> None:
    """Where only the watch stands between a program and all processes there can be, it has to get its turn."""
    os.setpriority(os.PRIO_PROCESS, pid, _NICER)


async def watch(pid: int, bounds: Bounds) -> str:
    """Look at the sandbox whose first process this is until it uses too much; what that was, for people."""
    missing = 0
    while True:
        await asyncio.sleep(_LOOKS_SECONDS)
        try:
            said = _too_much(f"/proc/{pid}/root", bounds)
        except FileNotFoundError:
            missing += 1
            said = "it could not be watched" if missing > _UNTIL_SEEN else None
        except OSError as error:
            said = f"it could not be watched: {error.strerror}"
        if said is not None:
            return said


def _too_much(root: str, bounds: Bounds) -> str | None:
    inside = f"{root}/proc"
    if os.stat(inside).st_dev == os.stat("/proc").st_dev:  # noqa: PTH116 - a text all along
        raise FileNotFoundError(inside)
    ids = [name for name in os.listdir(inside) if name.isdigit()]  # noqa: PTH208
    tasks, memory = len(ids), _kept_in_memory(root)
    for name in ids if tasks <= bounds.tasks else ():
        threads, used = _uses(f"{inside}/{name}/status")
        tasks += threads - 1
        memory += used
    if tasks > bounds.tasks:
        return f"more than {bounds.tasks} processes and threads"
    return f"more than {bounds.memory // 1024**2} MiB of memory" if memory > bounds.memory else None


def _uses(status: str) -> tuple[int, int]:
    """Threads, and bytes of memory that are in no file."""
    threads, used = 1, 0
    with contextlib.suppress(OSError), open(status, "rb") as file:  # noqa: PTH123 - a text all along
        for line in file:
            name, _, value = line.partition(b":")
            if name == b"Threads":
                threads = int(value)
            elif name in {b"RssAnon", b"RssShmem"}:
                used += int(value.split()[0]) * 1024
    return threads, used


def _kept_in_memory(root: str) -> int:
    """What lies in the file systems that are memory. A granted /tmp is none of the sandbox's own."""
    used: dict[int, int] = {}
    for name in _OWN_MEMORY:
        with contextlib.suppress(OSError):
            place = f"{root}/{name}"
            status, room = os.stat(place), os.statvfs(place)  # noqa: PTH116
            if status.st_dev != _device(f"/{name}"):
                used[status.st_dev] = (room.f_blocks - room.f_bfree) * room.f_frsize
    return sum(used.values())


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev  # noqa: PTH116 - a text all along
    except OSError:
        return None


def _kernel() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")
    return tuple(int(number) for number in numbers[:2] if number.isdigit())
