"""How far a call is, told to the client that asked to be told, in the order it happened and before the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.runtime.gate import Callgate

_STEP = 1e-6
_WAITING = 64
"""A handler that says more than a client reads loses some of it: progress is never worth waiting for."""


class Session(Protocol):
    """What is used of the SDK's session of a request."""

    def report_progress(self, progress: float, /, *rest: Any) -> Awaitable[None]:
        """Tell the client: how far, of how much, and a note."""
        ...


class Request(Protocol):
    """What is used of the SDK's context of a request."""

    @property
    def session(self) -> Session:
        """Through which its client is told."""
        ...

    @property
    def meta(self) -> Mapping[str, Any] | None:
        """What came beside it."""
        ...


class Teller:
    """Tells one client about one call.

    Args:
        session: Through which.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._said: asyncio.Queue[tuple[float | None, str] | None] = asyncio.Queue(_WAITING)
        self._last = 0.0

    def say(self, fraction: float | None, note: str = "") -> None:
        """How far it is, where that is known, and a note. Never waits."""
        if self._said.qsize() < _WAITING - 1:
            self._said.put_nowait((fraction, note))

    async def tell(self) -> None:
        """Send what is said until the end."""
        while (said := await self._said.get()) is not None:
            fraction, note = said
            # The protocol wants every value above the one before, also where nobody knows how much is left.
            self._last = max(fraction or 0.0, self._last + _STEP)
            await self._session.report_progress(self._last, None if fraction is None else 1.0, note or None)

    def end(self) -> None:
        """Nothing more is said."""
        self._said.put_nowait(None)


class _Nobody(Teller):
    """The client did not ask."""

    def __init__(self) -> None:
        """Needs no session."""

    def say(self, fraction: float | None, note: str = "") -> None:
        """Nobody listens."""


NOBODY: Teller = _Nobody()


@asynccontextmanager
async def progress_told(gate: Callgate, asked: Request, *, context: Context) -> AsyncGenerator[Teller]:
    """Tell the client of this request about the calls of this context, while the block lasts.

    What was said before the block ends is sent before it does.
    """
    if (asked.meta or {}).get("progress_token") is None:
        yield NOBODY
        return
    teller = Teller(asked.session)
    telling = asyncio.ensure_future(teller.tell())
    try:
        with gate.progress_of(context, teller.say):
            yield teller
        teller.end()
        await telling
    finally:
        telling.cancel()
