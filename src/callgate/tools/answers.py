"""Answers: where a process of ours says what it found, to whoever started it, and nobody else in it says anything."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


def only_answers() -> BinaryIO:  # pragma: no cover - in the child, where nobody measures
    """The output of this process, for answers alone. What a library prints from now on goes where errors go."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers
