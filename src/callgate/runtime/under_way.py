"""Under way: what the closing of a gate waits for. Whatever runs inside of that must not wait for the closing."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Protocol

from callgate.events.subscription import hearing
from callgate.pipeline.parts import running


class Counts(Protocol):
    """An open gate, as far as it counts what has not ended."""

    under_way: int


class UnderWay:
    """One call, or one program: counted until it ends, and known to everything that runs inside of it."""

    __slots__ = ("_opened", "_token", "over", "within")

    def __init__(self, opened: Counts) -> None:
        self._opened = opened
        self.within: UnderWay | None = None
        """What it was started in, if anything."""
        self.over = False
        """What it started may outlive it, and is waited for no more."""

    def __enter__(self) -> None:
        self._opened.under_way += 1
        self.within = _inside.get()
        self._token: Token[UnderWay | None] = _inside.set(self)

    def __exit__(self, *_: object) -> None:
        self.over = True
        self._opened.under_way -= 1
        try:  # noqa: SIM105 - on the way of every call, and suppress() takes four times as long
            _inside.reset(self._token)
        except ValueError:
            pass  # destroyed with its loop, in somebody else's context


_inside: ContextVar[UnderWay | None] = ContextVar("callgate_inside", default=None)


def is_waited_for() -> bool:
    """Whether this code runs inside of something that the closing of some gate waits for: a call, or a subscriber.

    Of which gate is not asked: one that is inside of another's call may be waited for by way of it.
    """
    worker = hearing.get()
    if running.get() is not None or (worker is not None and not worker.done()):
        return True
    each = _inside.get()
    while each is not None and each.over:
        each = each.within
    return each is not None
