"""Tools that run in a process of their own; at the top of a module, so that the child can find them."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from callgate import ToolContext, tool
from callgate.pipeline.child import LENGTH, Line


@tool(effects="read_only", isolation="process")
def whoami(text: str) -> dict[str, object]:
    """Say which process runs this."""
    return {"pid": os.getpid(), "text": text}


@tool(effects="modifies_files", risk="low", isolation="process")
def touch(path: str) -> str:
    """Leave a file."""
    Path(path).touch()
    return "touched"


@tool(effects="modifies_files", risk="medium", isolation="process")
def write_and_hang(path: str) -> str:
    """Leave a trace, then never come back."""
    Path(path).write_text(str(os.getpid()))
    while True:
        time.sleep(60)  # it must hang, to be killed


@tool(effects="modifies_files", risk="medium", isolation="process")
def die(text: str) -> str:
    """End the process without an answer."""
    os._exit(3)


@tool(effects="read_only", isolation="process")
def fail(text: str) -> str:
    """Raise in the child."""
    raise ValueError(f"bad {text}")


@tool(effects="modifies_files", risk="low", isolation="process", scopes=["secrets:read"], marks_effect=True)
def sign(ctx: ToolContext) -> str:
    """Ask for a secret and say how far it is, from another process."""
    token = ctx.get_secret("bank", "token")
    ctx.progress(0.5, "halfway")
    with ctx.effect_sync():
        return f"signed with {token}"


@tool(effects="read_only", isolation="process")
async def later(text: str) -> str:
    """Answer after a turn of the child's own loop."""
    await asyncio.sleep(0)
    return f"{text} later"


class Odd(Exception):
    """An exception that does not travel: it cannot be made again from what it keeps."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


@tool(effects="read_only", isolation="process")
def fail_oddly(text: str) -> str:
    """Raise what cannot be sent."""
    raise Odd(text, "more")


reading, read_on = threading.Event(), threading.Event()
"""Set when a long answer is being read here, and when that may go on."""


def read_slowly(text: str) -> str:
    """Takes part in reading an answer, in the process that reads it."""
    reading.set()
    assert read_on.wait(30)
    return text


class Slow:
    """A value whose reading takes as long as it is told to."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return read_slowly, (self._text,)


@tool(effects="read_only", isolation="process")
def slow_to_read(size: int) -> object:
    """A long answer that is read slowly."""
    return Slow("x" * size)


@tool(effects="read_only", isolation="process")
def identity(ctx: ToolContext) -> dict[str, object]:
    """Say for whom this runs, as the child was told."""
    left = ctx.remaining(time.monotonic())
    return {"principal": ctx.context.principal, "session": ctx.context.session, "limited": left is not None}


def _start_another(fifo: str) -> None:
    """A process that says it runs, and then holds the other end of the fifo for as long as it lives."""
    with Path(fifo).open("wb", buffering=0) as out:
        subprocess.Popen(["sh", "-c", "echo started; exec sleep 60"], stdout=out)


@tool(effects="system_state", risk="low", isolation="process")
def leave_behind(fifo: str) -> str:
    """Answer, and leave a process running."""
    _start_another(fifo)
    while not Path(fifo + ".seen").exists():
        time.sleep(0.01)  # until the test has heard from it
    return "answered"


@tool(effects="system_state", risk="low", isolation="process")
def hang_with_another(fifo: str) -> str:
    """Start a process and never come back."""
    _start_another(fifo)
    while True:
        time.sleep(60)  # it must hang, to be killed


@tool(effects="system_state", risk="low", isolation="process")
def stop_with_another(fifo: str) -> str:
    """Start a process and be stopped, as by a debugger."""
    _start_another(fifo)
    os.kill(os.getpid(), signal.SIGSTOP)
    return "never"


@tool(effects="system_state", risk="low", isolation="process")
def hold_the_interpreter(fifo: str) -> str:
    """Start a process, and be in C without letting another thread run."""
    _start_another(fifo)
    ctypes.PyDLL(None).sleep(60)
    return "never"


@tool(effects="system_state", risk="low", isolation="process")
def write_at_once(trace: str) -> str:
    """Leave a trace as soon as it runs."""
    Path(trace).write_text("ran")
    return "written"


@tool(effects="read_only", isolation="process")
def much(size: int) -> str:
    """A long answer."""
    return "x" * size


@tool(effects="read_only", isolation="process")
def half_an_answer(fifo: str) -> str:
    """Begin to answer and stop in the middle."""
    (line,) = (thing for thing in gc.get_objects() if isinstance(thing, Line))
    line._end.sendall(LENGTH.pack(1000) + b"half")  # pyright: ignore[reportPrivateUsage]
    with Path(fifo).open("wb", buffering=0) as out:
        out.write(b"started\n")
        time.sleep(60)  # it must hang, to be killed
    return "never"


def lost(path: str) -> None:
    """Write, and lose the answer."""
    with Path(path).open("a") as file:
        file.write("x")
    raise ConnectionResetError


def unsendable(path: str) -> Any:
    """Write, and give back what cannot be sent."""
    Path(path).write_text("x")
    return lambda: None


class _Unreadable:
    def __reduce__(self) -> Any:
        return int, ("no number",)


def unreadable(path: str) -> Any:
    """Write, and give back what can be sent and not be read."""
    Path(path).write_text("x")
    return _Unreadable()


def _version(arguments: dict[str, Any], _context: ToolContext) -> dict[str, Any]:
    return {"state": arguments["version"]}


@tool(effects="system_state", risk="high", isolation="process", preview=_version)
def save(version: int, ctx: ToolContext) -> list[bool]:
    """Ask what was shown, from another process."""
    return [ctx.is_as_shown(version), ctx.is_as_shown(version + 1)]


@tool(effects="system_state", risk="low", isolation="process", marks_effect=True)
def ask_when_told(fifo: str, ctx: ToolContext) -> str:
    """Ask whether it may take effect, once the test has heard from it."""
    with Path(fifo).open("wb", buffering=0) as out:
        out.write(b"started\n")
        while not Path(fifo + ".seen").exists():
            time.sleep(0.01)  # until the test has heard from it
        with ctx.effect_sync():
            Path(fifo + ".paid").touch()
    return "paid"
