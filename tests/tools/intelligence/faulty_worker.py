"""A worker with a fault, as a grammar may have one: it fails on a source that says how."""

from __future__ import annotations

import os
import select
import signal
from typing import Any

from callgate.tools.intelligence import worker

_right = worker.extract
_answers = worker.only_answers
_sinks: list[Any] = []
"""Where answers go: what is printed elsewhere is kept out of them."""


def _extract(content: bytes, language: str) -> dict[str, Any]:
    if b"never_ends" in content:
        select.select([], [], [], 1000)
    if b"crashes" in content:
        os.kill(os.getpid(), signal.SIGSEGV)
    if b"answers_nonsense" in content:
        _sinks[0].write(b"nonsense" * 9)
        _sinks[0].flush()
    return _right(content, language)


def _kept_answers() -> Any:
    _sinks.append(_answers())
    return _sinks[0]


def main() -> None:
    """As the worker's own, with the fault."""
    worker.extract = _extract
    worker.only_answers = _kept_answers
    worker.main()
