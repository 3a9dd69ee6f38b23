"""Checked: which programs are known to fit their functions."""

from __future__ import annotations

import hashlib

from callgate.flows.program.steps import Start
from callgate.model.canonical import dumps

_MOST_CHECKED = 256


class Checked:
    """Which programs fitted their functions: the answer is the same for the same text and the same functions."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def __contains__(self, start: Start) -> bool:
        return _text_and_functions(start) in self._known

    def add(self, start: Start) -> None:
        """It fitted; of more than a few the oldest is forgotten."""
        self._known[_text_and_functions(start)] = None
        if len(self._known) > _MOST_CHECKED:
            del self._known[next(iter(self._known))]


def _text_and_functions(start: Start) -> bytes:
    return hashlib.sha256(dumps([start.source, start.stubs])).digest()
