"""Watch: the bounds of a program in the sandbox: what the kernel holds each process to, and what is counted for all.

The kernel's limits are per process, and its limit of processes does not bind root. So the sandbox's own /proc is looked
at many times a second, and the program is stopped when all it started is too much together.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from callgate.tools.code.inventory import Identity, identity_of

_LOOKS_SECONDS = 0.01
_UNTIL_SEEN = 200
"""So many looks may find no /proc: it is being made."""
_NICER = 10
_OWN_MEMORY = ("tmp", "dev", "dev/shm")
_NOT_SHARED = (b"VmData", b"VmStk", b"VmExe", b"VmLib")
_SAID = {b"Threads", b"RssAnon", b"VmSwap", b"VmSize", *_NOT_SHARED}
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


async def watch(pid: int, bounds: Bounds, *, covered: Mapping[str, Identity | None]) -> str:
    """Look at a sandbox until it uses too much, or sees what is Callgate's own; which it was, for people.

    Args:
        pid: Its first process.
        bounds: What it may use.
        covered: Callgate's own places. What is put over a file lies on that file, and not on one that takes its place.
    """
    missing = 0
    while True:
        await asyncio.sleep(_LOOKS_SECONDS)
        try:
            said = _replaced(covered) or _too_much(f"/proc/{pid}/root", bounds)
        except FileNotFoundError:
            missing += 1
            said = "it could not be watched" if missing > _UNTIL_SEEN else None
        except OSError as error:
            said = f"it could not be watched: {error.strerror}"
        if said is not None:
            return said


def _replaced(covered: Mapping[str, Identity | None]) -> str | None:
    for path, identity in covered.items():
        if identity_of(path) != identity:
            return f"{path}, which is Callgate's own, was replaced meanwhile, and could be seen"
    return None


def _too_much(root: str, bounds: Bounds) -> str | None:
    inside = f"{root}/proc"
    if os.stat(inside).st_dev == os.stat("/proc").st_dev:  # noqa: PTH116 - a text all along
        raise FileNotFoundError(inside)
    ids = [name for name in os.listdir(inside) if name.isdigit()]  # noqa: PTH208
    if len(ids) <= bounds.tasks:
        uses = [_uses(f"{inside}/{name}") for name in ids]
        tasks, memory = sum(each.threads for each in uses), _kept_in_memory(root) + sum(each.memory for each in uses)
    else:
        uses, tasks, memory = [], len(ids), 0
    if tasks > bounds.tasks:
        return f"more than {bounds.tasks} processes and threads"
    if memory + sum(each.mapped for each in uses) > bounds.memory:
        memory += _shared(uses)
    return f"more than {bounds.memory // 1024**2} MiB of memory" if memory > bounds.memory else None


class _Uses(NamedTuple):
    """What one process uses, in bytes."""

    place: str
    threads: int
    memory: int
    """Of its own, in no file."""
    mapped: int
    """What else lies in its address space: files, mostly, and memory that it shares, in use right now or not."""


def _uses(place: str) -> _Uses:
    said: dict[bytes, int] = {}
    with contextlib.suppress(OSError), open(f"{place}/status", "rb") as file:  # noqa: PTH123 - a text all along
        for line in file:
            name, _, value = line.partition(b":")
            if name in _SAID:
                said[name] = int(value.split()[0])
    own = said.get(b"RssAnon", 0) + said.get(b"VmSwap", 0)
    mapped = said.get(b"VmSize", 0) - sum(said.get(name, 0) for name in _NOT_SHARED)
    return _Uses(place, said.get(b"Threads", 1), own * 1024, max(0, mapped) * 1024)


def _shared(uses: Iterable[_Uses]) -> int:
    """Memory that processes share without a file, each once, and whole: they can let go of a part and still keep it."""
    found: dict[bytes, int] = {}
    hidden = 0
    for each in uses:
        try:
            with open(f"{each.place}/maps", "rb") as file:  # noqa: PTH123 - a text all along
                found |= dict(_shared_here(file))
        except OSError:
            # Who closes itself to us is not believed.
            hidden += each.mapped
    return hidden + sum(found.values())


def _shared_here(lines: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    sizes: dict[bytes, int] = {}
    for line in lines:
        if line.endswith(b"/dev/zero (deleted)\n"):
            span, _, _, device, number, _ = line.split(maxsplit=5)
            start, _, end = span.partition(b"-")
            place = device + b" " + number
            sizes[place] = sizes.get(place, 0) + int(end, 16) - int(start, 16)
    yield from sizes.items()


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
