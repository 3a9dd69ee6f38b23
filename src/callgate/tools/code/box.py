"""Box: a started sandbox: its processes, where they wait for a word of ours, and what it says; until all is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from callgate.tools.code.finished import finished
from callgate.tools.code.headcount import let_go

CHUNK = 65_536


@dataclass(slots=True)
class Output:
    """What a program says at one of its handles: kept up to a bound, and read to its end."""

    handle: int
    ended: asyncio.Future[None]
    most: int = CHUNK
    kept: bytearray = field(default_factory=bytearray)
    cut: bool = False

    @classmethod
    def heard(cls, handle: int, *, most: int = CHUNK) -> Output:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        output = cls(handle, loop.create_future(), most)
        os.set_blocking(handle, False)
        loop.add_reader(handle, output._read)
        return output

    def leave(self) -> None:
        asyncio.get_running_loop().remove_reader(self.handle)

    def _read(self) -> None:
        try:
            part = os.read(self.handle, CHUNK)
        except BlockingIOError:
            return
        room = self.most - len(self.kept)
        self.kept += part[:room]
        self.cut = self.cut or len(part) > room
        if not part:
            self.leave()
            self.ended.set_result(None)


@dataclass(slots=True, kw_only=True)
class Box:
    """A started sandbox: bubblewrap outside, the init of the process namespace inside."""

    guard: subprocess.Popen[bytes]
    """Leads the group that bubblewrap is in, and ends it when we are gone."""
    outer: subprocess.Popen[bytes]
    outer_handle: int
    outer_ended: asyncio.Future[None]
    go: tuple[int, int]
    """Where bubblewrap, and then the program, waits for a word of ours."""
    stdout: Output
    stderr: Output
    report: Output | None
    tell: int
    """Where bubblewrap says which process the init is, and in the end how the program ended."""
    told: bytes = b""
    init: int = 0
    init_handle: int = -1
    init_ended: asyncio.Future[None] | None = None
    group: Path | None = None
    may_have_begun: bool = False
    """Whether the program was told to go: from then on nobody can say that it did nothing."""

    @property
    def outputs(self) -> list[Output]:
        return [output for output in (self.stdout, self.stderr, self.report) if output is not None]

    def kill(self) -> None:
        # Before the init is known it is of bubblewrap's group; afterwards it has a session of its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.guard.pid, signal.SIGKILL)
        for handle in (self.init_handle, self.outer_handle):
            if handle >= 0:
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(handle, signal.SIGKILL)

    async def gone(self) -> None:
        """Wait until no process of it is left, and let go of everything.

        Raises:
            CancelledError: The caller was cancelled meanwhile, also by a loop that ends; it is gone all the same.
        """
        try:
            await finished(asyncio.gather(*self.ends()))
        finally:
            self._let_go()

    def ends(self) -> Iterator[asyncio.Future[None]]:
        """What comes when nothing is left of it. None is a task: a loop that ends would cancel those."""
        yield self.outer_ended
        if self.init_ended is not None:
            yield self.init_ended
        yield from (output.ended for output in self.outputs)

    def _let_go(self) -> None:
        self.outer.wait()
        self.guard.wait()
        let_go(self.group)
        while part := os.read(self.tell, CHUNK):
            self.told += part
        for handle in self._handles():
            os.close(handle)
        for stream in (self.outer.stdout, self.outer.stderr, self.guard.stdin):
            if stream is not None:
                stream.close()

    def _handles(self) -> Iterator[int]:
        yield from (self.outer_handle, self.tell, *self.go)
        if self.init_handle >= 0:
            yield self.init_handle
        if self.report is not None:
            yield self.report.handle


def when_readable(handle: int) -> asyncio.Future[None]:
    """What comes once something can be read there: for a process, once it has ended."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def heard() -> None:
        loop.remove_reader(handle)
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(handle, heard)
    return ready


async def readable(handle: int) -> None:
    """Wait for that."""
    try:
        await when_readable(handle)
    finally:
        asyncio.get_running_loop().remove_reader(handle)
