"""Programs that tests start and end by their id, and ports of this machine that they listen on."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(*command: str | Path, env: Mapping[str, str] | None = None) -> Generator[subprocess.Popen[bytes]]:
    """A program in a process of its own, ended by its id."""
    words = [str(word) for word in command]
    environment = {**os.environ, **(env or {})}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, env=environment, stdout=quiet, stderr=quiet) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def running_script(script: str, folder: Path, port: int) -> Generator[subprocess.Popen[bytes]]:
    """One of the servers beside this file, over HTTP."""
    with running(sys.executable, HERE / script, folder, str(port)) as process:
        yield process


async def come(port: int) -> None:
    """Wait until somebody listens there."""
    async with asyncio.timeout(30):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)  # between two looks
            else:
                writer.close()
                return await writer.wait_closed()
