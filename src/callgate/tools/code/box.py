"""Box: a started sandbox: its processes, where they wait for a word of ours, and what it says; until all is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from callgate.tools.code.headcount import let_go

CHUNK = 65_536


@dataclass(slots=True)
class Output:
    """One of the two outputs of a program: kept up to a bound, and read to its end."""

    handle: int
    most: int = CHUNK
    kept: bytearray = field(default_factory=bytearray)
    cut: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def listen(self) -> None:
        os.set_blocking(self.handle, False)
        asyncio.get_running_loop().add_reader(self.handle, self._read)

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
            self.ended.set()


@dataclass(slots=True, kw_only=True)
class Box:
    """A started sandbox: bubblewrap outside, the init of the process namespace inside."""

    guard: subprocess.Popen[bytes]
    """Leads the group that bubblewrap is in, and ends it when we are gone."""
    outer: subprocess.Popen[bytes]
    outer_handle: int
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
    group: Path | None = None

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
        """Wait until no process of it is left, and let go of everything."""
        for handle in (self.init_handle, self.outer_handle):
            if handle >= 0:
                await readable(handle)
                os.close(handle)
        self.outer.wait()
        self.guard.wait()
        let_go(self.group)
        for output in self.outputs:
            await output.ended.wait()
        while part := os.read(self.tell, CHUNK):
            self.told += part
        for handle in (self.tell, *self.go, *(() if self.report is None else (self.report.handle,))):
            os.close(handle)
        for stream in (self.outer.stdout, self.outer.stderr, self.guard.stdin):
            if stream is not None:
                stream.close()


async def readable(handle: int) -> None:
    """Wait until something can be read there: for a process, until it has ended."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(handle, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(handle)
