"""Ruff: what it says of a text, in a process that has bounded memory, says a bounded amount, and ends with its call.

It reads a text that somebody else wrote, and a few thousand of some signs take it gigabytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

from callgate.adapters.tether import Tether
from callgate.model.grounds import Grounds
from callgate.tools.process_limits import lower
from callgate.tools.programs import find_program

LOOKED = {0, 1}
"""Its return codes when it has looked to the end; 1 is: there are issues."""
_MOST_MIB = 512
_MOST_SECONDS = 60
"""Of computing, on all cores."""
_MOST_OUTPUT = 8 * 1024**2
_MOST_TOLD = 500
_PIECE = 64 * 1024


class Said(NamedTuple):
    """What it said."""

    output: bytes
    cut: bool
    """Whether it had more to say, and was stopped."""


def find_ruff(grounds: Grounds) -> str:
    """Where it lies.

    Raises:
        FileNotFoundError: Nowhere, or only where tools may write.
    """
    found = find_program("ruff", grounds)
    if found is None:
        missing = "ruff is not installed beside this Python or on the search path, or only where tools may write"
        raise FileNotFoundError(f"{missing}; install with: pip install 'callgate[code]'")
    return os.path.realpath(found)


async def ask_ruff(program: str, code: str, *options: str) -> Said:
    """Have it look at a text. It is gone with the task that waits for it.

    Raises:
        OSError: It did not come to an end by itself; says why.
    """
    # It reads no file: no settings (--isolated), no cache, and the code from its input.
    command = (program, "check", "--isolated", "--no-cache", "--stdin-filename", "code.py", *options, "-")
    with Tether() as tether:
        process = await asyncio.create_subprocess_exec(
            *command, env={}, cwd=os.sep, stdin=PIPE, stdout=PIPE, stderr=PIPE, pass_fds=tether.handles
        )
        try:
            # It has nothing to look at until it is bound.
            tether.tie(process.pid)
            _bound(process.pid)
            said, complaint = await _exchange(process, code.encode(errors="replace"))
        finally:
            await _end(process)
    if not said.cut and process.returncode not in LOOKED:
        raise _trouble(process.returncode or 0, complaint.output)
    return said


def _bound(pid: int) -> None:
    bounds = {resource.RLIMIT_DATA: _MOST_MIB * 1024**2, resource.RLIMIT_CPU: _MOST_SECONDS}
    with contextlib.suppress(ProcessLookupError):
        lower({**bounds, resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0}, pid=pid)


async def _exchange(process: Process, text: bytes) -> tuple[Said, Said]:
    said, complaint, _ = await asyncio.gather(
        _first(process.stdout, stop=partial(_kill, process)),
        _first(process.stderr, stop=partial(_kill, process)),
        _hand_over(process, text),
    )
    await process.wait()
    return said, complaint


async def _hand_over(process: Process, text: bytes) -> None:
    into = cast("asyncio.StreamWriter", process.stdin)
    with contextlib.suppress(ConnectionError):
        into.write(text)
        await into.drain()
    into.close()


async def _first(stream: asyncio.StreamReader | None, *, stop: Callable[[], None]) -> Said:
    kept = bytearray()
    while part := await cast("asyncio.StreamReader", stream).read(_PIECE):
        if len(kept) > _MOST_OUTPUT:
            # The end comes soon now, and is waited for.
            stop()
        else:
            kept += part
    return Said(bytes(kept[:_MOST_OUTPUT]), len(kept) > _MOST_OUTPUT)


def _kill(process: Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.kill()


async def _end(process: Process) -> None:
    _kill(process)
    for stream in (process.stdout, process.stderr):
        await cast("asyncio.StreamReader", stream).read()
    await process.wait()


def _trouble(code: int, complaint: bytes) -> OSError:
    why = complaint.decode(errors="replace")[-_MOST_TOLD:].strip()
    how = f"was ended by signal {-code}" if code < 0 else f"gave up ({code})"
    perhaps = f"perhaps because expressions are nested too deep, or take it more than {_MOST_MIB} MiB"
    return OSError(f"ruff could not look at the code, which is as it was: it {how}, {perhaps}; {why}")
