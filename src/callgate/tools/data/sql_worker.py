"""The other side of `sql_process`: a process that reads one question, gives up everything else, and answers it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Generator
from importlib import import_module
from typing import Any, BinaryIO

from callgate.tools.answers import only_answers
from callgate.tools.data.sql_confinement import confine
from callgate.tools.data.sql_tables import read_tables

_TOLD = (ValueError, PermissionError)
_GRACE_SECONDS = 1.0
"""For the engine to stop by itself: it looks at the clock between two steps."""


def main() -> None:  # pragma: no cover - runs where nobody measures
    """Answer the question on the standard input."""
    question = json.loads(sys.stdin.buffer.read())
    said = only_answers()
    ask = import_module(f"callgate.tools.data.{question['engine']}_engine").ready()
    confine()
    with _not_forever(said, question["seconds"]):
        told = answer(ask, question)
    with said:
        said.write(json.dumps(told).encode())


@contextlib.contextmanager
def _not_forever(said: BinaryIO, seconds: float) -> Generator[None]:  # pragma: no cover - as above
    """Say that it takes too long, and end, where one step of an engine does."""

    def end() -> None:
        text = f"query took longer than {seconds:g} seconds and was stopped; ask for less"
        said.write(json.dumps({"error": "ValueError", "text": text}).encode())
        said.flush()
        os._exit(0)

    timer = threading.Timer(seconds + _GRACE_SECONDS, end)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def answer(ask: Any, question: dict[str, Any]) -> dict[str, Any]:
    """What is said to the one who asked: the rows, or what is wrong."""
    try:
        return {"rows": ask(question["query"], read_tables(question["tables"]), seconds=question["seconds"])}
    except _TOLD as error:
        return {"error": type(error).__name__, "text": str(error)}
    except MemoryError:
        return {"error": "ValueError", "text": "query needs too much memory; ask for less"}
