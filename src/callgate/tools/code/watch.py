"""Watch: the bounds of a program in the sandbox: what the kernel holds each process to, and what is counted for all.

The kernel's limits are per process, and its limit of processes does not bind root. So the sandbox's own /proc is looked
at many times a second, and the program is stopped when all it started is too much together. How long a look takes is up
to the program: so it is taken on a thread of its own, and one that has too much to look at is stopped as well.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import resource
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from callgate.tools.code.inventory import Identity, identity_of
from callgate.tools.process_limits import lower

_LOOKS_SECONDS = 0.01
_UNTIL_SEEN = 200
"""So many looks may find no /proc: it is being made."""
_LONGEST_LOOK = 10.0
_MOST_MAPPED = 16 * 1024**2
"""Bytes of what the kernel says of mappings, about 150,000 of them, that one look reads."""
_CHUNK = 65_536
_NICER = 10
_OWN_MEMORY = ("tmp", "dev", "dev/shm")
_BYTES_A_NAME = 1792
"""What the kernel takes for a long one, however little is in the file: an inode, an entry and the name's text."""
_NOT_SHARED = (b"VmData", b"VmStk")
"""Shared memory that may be executed and not written is told as a library."""
_SHARED = b"/dev/zero (deleted)"
"""What the kernel calls memory that processes share without a file."""
_OWN = (b"RssAnon", b"VmSwap", b"VmPTE")
"""What lies in memory for one process alone: its own pages, and the tables that say where its pages are."""
_SAID = {b"Threads", b"VmSize", *_OWN, *_NOT_SHARED}
_SOCKETS = b"sockets: used "
_BUFFERS = ("rmem_default", "wmem_default")
_USUAL_BUFFER = 212_992
"""Bytes, where the system does not tell, as in most containers."""
_OVER = 64 * 1024
"""Bytes by which the last message may go beyond what a socket's buffer holds."""
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
    lower(wanted, pid=pid)


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
    thread = concurrent.futures.ThreadPoolExecutor(1, "callgate-watch")
    try:
        while True:
            begun = time.monotonic()
            try:
                said = await _look(thread, f"/proc/{pid}/root", bounds, covered)
            except FileNotFoundError:
                missing += 1
                said = "it could not be watched" if missing > _UNTIL_SEEN else None
            except TimeoutError:
                said = f"it could not be watched: a look took more than {_LONGEST_LOOK:g} seconds"
            except OSError as error:
                said = f"it could not be watched: {error.strerror}"
            if said is not None:
                return said
            # No more than half of the time is spent with looking.
            await asyncio.sleep(max(_LOOKS_SECONDS, time.monotonic() - begun))
    finally:
        # A look that is under way ends by itself, and nobody waits for it.
        thread.shutdown(wait=False)


async def _look(  # noqa: PLR0917 - what the thread is told
    thread: concurrent.futures.Executor, root: str, bounds: Bounds, covered: Mapping[str, Identity | None]
) -> str | None:
    def look() -> str | None:
        return _replaced(covered) or _too_much(root, bounds)

    async with asyncio.timeout(_LONGEST_LOOK):
        return await asyncio.get_running_loop().run_in_executor(thread, look)


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
        tasks, memory = sum(each.threads for each in uses), sum(each.memory for each in uses)
        memory += _kept_in_memory(root) + _kept_by_sockets(uses)
    else:
        uses, tasks, memory = [], len(ids), 0
    if tasks > bounds.tasks:
        return f"more than {bounds.tasks} processes and threads"
    if memory + sum(each.mapped for each in uses) > bounds.memory:
        try:
            memory += _shared(uses)
        except _TooManyError:
            return "more mappings of memory than can be counted"
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
    own = sum(said.get(name, 0) for name in _OWN)
    mapped = said.get(b"VmSize", 0) - sum(said.get(name, 0) for name in _NOT_SHARED)
    return _Uses(place, said.get(b"Threads", 1), own * 1024, max(0, mapped) * 1024)


class _TooManyError(Exception):
    """There are more mappings than one look reads."""


def _shared(uses: Iterable[_Uses]) -> int:
    """Memory that processes share without a file, each once, and whole: they can let go of a part and still keep it.

    Raises:
        _TooManyError: It is not known.
    """
    found: dict[bytes, int] = {}
    hidden, room = 0, _MOST_MAPPED
    for each in uses:
        try:
            text = _read(f"{each.place}/maps", room)
        except OSError:
            # Who closes itself to us is not believed.
            hidden += each.mapped
            continue
        room -= len(text)
        for place, size in _shared_here(text).items():
            found[place] = max(found.get(place, 0), size)
    return hidden + sum(found.values())


def _read(path: str, room: int) -> bytes:
    text = bytearray()
    handle = os.open(path, os.O_RDONLY)
    try:
        while part := os.read(handle, _CHUNK):
            text += part
            if len(text) > room:
                raise _TooManyError
    finally:
        os.close(handle)
    return bytes(text)


def _shared_here(text: bytes) -> dict[bytes, int]:
    sizes: dict[bytes, int] = {}
    for line in text.split(b"\n"):  # a name may have other characters that end lines in it
        if not line.endswith(_SHARED):
            continue
        span, _, begun, device, number, name = line.split(maxsplit=5)
        if name == _SHARED:
            start, _, end = span.partition(b"-")
            place = device + b" " + number
            sizes[place] = max(sizes.get(place, 0), int(begun, 16) + int(end, 16) - int(start, 16))
    return sizes


def _kept_in_memory(root: str) -> int:
    """What lies in the file systems that are memory. A granted /tmp is none of the sandbox's own."""
    used: dict[int, int] = {}
    for name in _OWN_MEMORY:
        with contextlib.suppress(OSError):
            place = f"{root}/{name}"
            status, room = os.stat(place), os.statvfs(place)  # noqa: PTH116
            if status.st_dev != _device(f"/{name}"):
                names = room.f_files - room.f_ffree
                used[status.st_dev] = (room.f_blocks - room.f_bfree) * room.f_frsize + names * _BYTES_A_NAME
    return sum(used.values())


def _kept_by_sockets(uses: Iterable[_Uses]) -> int:
    """What the sockets there are could hold, since nobody tells what they do. TCP's own bound is the machine's."""
    for each in uses:
        with contextlib.suppress(OSError), open(f"{each.place}/net/sockstat", "rb") as file:  # noqa: PTH123
            return int(file.readline().removeprefix(_SOCKETS)) * _most_of_a_socket()
    return 0


@cache
def _most_of_a_socket() -> int:
    """Bytes; a buffer is as large as it was made, since a program's wish for a larger one is not heard."""
    try:
        return max(int(Path(f"/proc/sys/net/core/{name}").read_bytes()) for name in _BUFFERS) + _OVER
    except OSError:
        return _USUAL_BUFFER + _OVER


def _device(path: str) -> int | None:
    try:
        return os.stat(path).st_dev  # noqa: PTH116 - a text all along
    except OSError:
        return None


def _kernel() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")
    return tuple(int(number) for number in numbers[:2] if number.isdigit())
