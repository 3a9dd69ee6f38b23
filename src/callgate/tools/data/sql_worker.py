"""The other side of `sql_process`: a process that reads one question, gives up everything else, and answers it."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

from callgate.tools.data.sql_confinement import confine
from callgate.tools.data.sql_tables import read_tables

_TOLD = (ValueError, PermissionError)


def main() -> None:  # pragma: no cover - runs where nobody measures
    """Answer the question on the standard input."""
    question = json.loads(sys.stdin.buffer.read())
    ask = import_module(f"callgate.tools.data.{question['engine']}_engine").ready()
    confine()
    sys.stdout.buffer.write(json.dumps(answer(ask, question)).encode())
    sys.stdout.buffer.flush()


def answer(ask: Any, question: dict[str, Any]) -> dict[str, Any]:
    """What is said to the one who asked: the rows, or what is wrong."""
    try:
        return {"rows": ask(question["query"], read_tables(question["tables"]), seconds=question["seconds"])}
    except _TOLD as error:
        return {"error": type(error).__name__, "text": str(error)}
    except MemoryError:
        return {"error": "ValueError", "text": "query needs too much memory; ask for less"}
