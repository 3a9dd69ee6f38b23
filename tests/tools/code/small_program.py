"""A small program: one that runs in the sandbox within small bounds, what it leaves open here, and waiting for it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from callgate.model.grounds import Grounds
from callgate.tools.code.alone import alone
from callgate.tools.code.sandbox import Program, Ran, enclosure, run
from callgate.tools.code.watch import Bounds

SMALL = Bounds(seconds=20, memory=96 * 1024**2, tasks=40, file_bytes=1024**2)


def grounds_of(place: Path) -> Grounds:
    return Grounds(
        directory=str(place),
        roots=(str(place),),
        closed=(),
        git=(),
        code=(),
        private_addresses=False,
        path_refused=lambda _path, _status: None,
        host_refused=lambda _host: None,
    )


async def run_small(place: Path, command: str, bounds: Bounds = SMALL) -> Ran:
    async with alone(), enclosure(grounds_of(place), writable=(str(place),)) as inside:
        return await run(Program(command=("/bin/sh", "-c", command), directory=str(place)), inside, bounds=bounds)


async def until(path: Path) -> None:
    async with asyncio.timeout(30):
        while not path.exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.01)  # polling for what another process makes


def handles_and_children() -> tuple[int, str]:
    """How many handles are open here, and which processes were started here and have not gone."""
    return len(os.listdir("/proc/self/fd")), _children()  # noqa: PTH208


def children_named(name: str) -> list[int]:
    """The processes of a name that were started here and have not gone."""
    return [int(pid) for pid in _children().split() if Path(f"/proc/{pid}/comm").read_text() == f"{name}\n"]


def _children() -> str:
    return "".join((task / "children").read_text() for task in Path("/proc/self/task").iterdir())
