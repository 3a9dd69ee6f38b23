"""Under way: what the closing of a gate waits for. Whatever runs inside of that must not wait for the closing."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar, Token
from typing import Protocol

from callgate.events.subscription import hearing
from callgate.pipeline.parts import running


class Counts(Protocol):
    """An open gate, as far as it counts what has not ended."""

    under_way: int


class UnderWay:
    """One call, or one program: counted until it ends, and known to everything that runs inside of it."""

    __slots__ = ("_opened", "_token", "over")

    def __init__(self, opened: Counts) -> None:
        self._opened = opened
        self.over = False
        """What it started may outlive it, and is waited for no more."""

    def __enter__(self) -> None:
        self._opened.under_way += 1
        self._token: Token[tuple[UnderWay, ...]] = _inside.set((*_inside.get(), self))

    def __exit__(self, *_: object) -> None:
        self.over = True
        self._opened.under_way -= 1
        with contextlib.suppress(ValueError):  # destroyed with its loop, in somebody else's context
            _inside.reset(self._token)


_inside: ContextVar[tuple[UnderWay, ...]] = ContextVar("callgate_inside", default=())


def is_waited_for() -> bool:
    """Whether this code runs inside of something that the closing of a gate waits for: a call, or a subscriber."""
    worker = hearing.get()
    if running.get() is not None or (worker is not None and not worker.done()):
        return True
    return not all(each.over for each in _inside.get())
