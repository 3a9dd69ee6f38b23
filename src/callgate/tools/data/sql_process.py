"""Asking a query in a process of its own, which is gone when the answer is there, or nobody waits for it any more.

What is said is JSON of the standard library, which keeps every digit of a whole number.
"""

from __future__ import annotations

import json
from typing import Any

from callgate.tools.interpreter import ask

_WORKER = "callgate.tools.data.sql_worker"
_ERRORS = {"ValueError": ValueError, "PermissionError": PermissionError}


async def ask_in_process(question: dict[str, Any]) -> list[dict[str, Any]]:
    """Ask.

    Args:
        question: query, tables, engine, seconds.

    Raises:
        ValueError: It cannot be answered; says why.
        PermissionError: It wants something else than to read.
    """
    said, code = await ask(_WORKER, text=json.dumps(question).encode())
    if not said:
        raise _without_answer(code)
    return _read(said)


def _without_answer(code: int | None) -> Exception:
    if code is not None and code < 0:
        # Killed by the system, for its time, its memory, or because an engine gave up on itself.
        return ValueError("query was stopped, most likely because it needs too much memory or time; ask for less")
    return RuntimeError(f"the process for the query ended without an answer (exit code {code})")


def _read(said: bytes) -> list[dict[str, Any]]:
    answer = json.loads(said)
    if "rows" in answer:
        return answer["rows"]
    raise _ERRORS[answer["error"]](answer["text"])
