"""Answers: what was worked out lately, so that the same question to the same asker is not worked out twice."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from callgate.model.canonical import dumps
from callgate.model.context import Authority, Context

_KEPT = 64
_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Question:
    """Everything that an answer depends on: who asks, under which limits, and for what."""

    asker: tuple[str, str | None, str, str | None]
    authority: Authority
    digest: str


def question(context: Context, **asked: Any) -> Question:
    """The question of one call."""
    asker = (context.principal, context.user, context.session, context.working_directory)
    return Question(asker, context.authority, hashlib.sha256(dumps(asked)).hexdigest())


class Answers:
    """The latest results, each for a while; what was asked under other limits is another question.

    Args:
        now: Monotonic seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._kept: OrderedDict[Question, tuple[float, dict[str, Any]]] = OrderedDict()

    def find(self, asked: Question) -> dict[str, Any] | None:
        """The result, if it is fresh."""
        with self._lock:
            until, result = self._kept.get(asked, (0.0, {}))
            return deepcopy(result) if until > self._now() else None

    def keep(self, asked: Question, result: dict[str, Any]) -> None:
        """Remember a result; the oldest goes where there are too many."""
        with self._lock:
            self._kept[asked] = (self._now() + _SECONDS, deepcopy(result))
            self._kept.move_to_end(asked)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
