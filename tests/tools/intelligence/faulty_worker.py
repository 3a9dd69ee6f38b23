"""A worker with a fault, as a grammar may have one: it fails on a source that says how."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import Any

from callgate.tools.intelligence import worker

_right = worker.extract


def _extract(content: bytes, language: str) -> dict[str, Any]:
    if b"never_ends" in content:
        select.select([], [], [], 1000)
    if b"crashes" in content:
        os.kill(os.getpid(), signal.SIGSEGV)
    if b"answers_nonsense" in content:
        sys.stdout.buffer.write(b"nonsense" * 9)
        sys.stdout.flush()
    return _right(content, language)


def main() -> None:
    """As the worker's own, with the fault."""
    worker.extract = _extract
    worker.main()
