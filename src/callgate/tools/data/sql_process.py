"""Asking a query in a process of its own, which is gone when the answer is there, or nobody waits for it any more.

Memory can only be bounded for a whole process, and an engine can only be stopped for certain with one. Nothing of the
environment goes with it, and it starts outside of the working directory.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import Any

import orjson

from callgate.tools.libraries import places

_CODE = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);from callgate.tools.data.sql_worker import main; main()"
)
_NEEDED = ("LD_LIBRARY_PATH", "SYSTEMROOT", "TZ")
"""Where the interpreter may not start without, and the zone that dates are told in."""
_ERRORS = {"ValueError": ValueError, "PermissionError": PermissionError}


async def ask_in_process(question: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask.

    Args:
        question: query, tables, engine, seconds.

    Raises:
        ValueError: It cannot be answered; says why.
        PermissionError: It wants something else than to read.
    """
    worker = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", _CODE, orjson.dumps(places()).decode()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _NEEDED if name in os.environ},
        cwd=os.sep,
    )
    try:
        said, _ = await worker.communicate(orjson.dumps(question))
    finally:
        with contextlib.suppress(ProcessLookupError):
            worker.kill()
        await worker.wait()
    if not said:
        raise _without_answer(worker.returncode)
    return _read(said)


def _without_answer(code: int | None) -> Exception:
    if code is not None and code < 0:
        # Killed by the system, for its time, its memory, or because an engine gave up on itself.
        return ValueError("query was stopped, most likely because it needs too much memory or time; ask for less")
    return RuntimeError(f"the process for the query ended without an answer (exit code {code})")


def _read(said: bytes) -> list[dict[str, Any]]:
    answer = orjson.loads(said)
    if "rows" in answer:
        return answer["rows"]
    raise _ERRORS[answer["error"]](answer["text"])
