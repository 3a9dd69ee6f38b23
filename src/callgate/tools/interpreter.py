"""Interpreter: a Python of its own, in which a module of ours works on what strangers wrote.

Memory can only be bounded for a whole process, and work only be stopped for certain with one. Nothing around decides
what is imported there but where a tool here imports from; nothing of the environment goes with it, it starts outside
of the working directory, and ends with us. Knows nothing of the work: that is the module's `main`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from callgate.adapters.tether import Tether
from callgate.tools.libraries import out_of_reach, places

_CODE = (
    "import importlib, json, sys; sys.path[:] = json.loads(sys.argv.pop(1));"
    "importlib.import_module(sys.argv.pop(1)).main()"
)
_PYTHON = os.path.realpath(sys.executable)
"""Found once, at the start, and started without what lies on the way: a link there may be replaced later."""
_NEEDED = ("SYSTEMROOT", "TZ")
"""What the interpreter may not start without, and the zone that dates are told in."""
_SHARED = "LD_LIBRARY_PATH"
"""Where its own libraries may lie; what is found there is run, so it must be out of tools' reach."""


class Answer(NamedTuple):
    """What a process said, and how it ended."""

    said: bytes
    code: int | None


async def ask(module: str, *arguments: str, text: bytes) -> Answer:
    """Hand a text to a module's process, and wait for what it says. It is gone with the task that waits for it.

    Args:
        module: Its `main` is run.
        arguments: What that finds in `sys.argv`, from 1 on.
        text: What it finds in its input.
    """
    with Tether() as tether:
        process = await asyncio.create_subprocess_exec(
            *_words(module, *arguments), pass_fds=tether.handles, **_surroundings()
        )
        try:
            # It has nothing to work on until it is tied.
            tether.tie(process.pid)
            said, _ = await process.communicate(text)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    return Answer(said, process.returncode)


def start(module: str, *, pass_fds: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start a module's process, with these open files: what it reads and says, and its end, are the caller's."""
    with contextlib.ExitStack() as undo:
        tether = undo.enter_context(Tether())
        process = subprocess.Popen[bytes](_words(module), pass_fds=(*pass_fds, *tether.handles), **_surroundings())
        tether.tie_for_good(process)
        undo.pop_all()
    return process


def _words(module: str, *arguments: str) -> list[str]:
    return [_PYTHON, "-I", "-S", "-W", "ignore", "-c", _CODE, json.dumps(places()), module, *arguments]


def _surroundings() -> dict[str, Any]:
    return {
        "stdin": subprocess.PIPE,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.DEVNULL,
        "env": _environment(),
        "cwd": os.sep,
        "start_new_session": True,
    }


def _environment() -> dict[str, str]:
    env = {name: os.environ[name] for name in _NEEDED if name in os.environ}
    shared = out_of_reach(os.environ.get(_SHARED, "").split(os.pathsep))
    return env | ({_SHARED: os.pathsep.join(shared)} if shared else {})
