"""Progress: how far a running handler says it is, recorded for whoever waits. Loses rather than slows."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from callgate.errors import StoreError
from callgate.events.vocabulary import KINDS, PROGRESS
from callgate.model.event import Draft

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.tool_context import ToolContext
    from callgate.ports import Clock, Store
    from callgate.secrets.strike import Striker


Listener = Callable[[float | None, str], None]
"""Hears the fraction that is done, where it is known, and a note."""


class Progress:
    """Turns a handler's word about its progress into an event, and tells whoever waits for that very call."""

    def __init__(self, store: Store, striker: Striker, clock: Clock) -> None:
        self._store = store
        self._striker = striker
        self._clock = clock
        self._home = asyncio.get_running_loop()
        self._listeners: dict[tuple[str, str, str], Listener] = {}

    @contextmanager
    def heard(self, context: Context, listener: Listener) -> Generator[None]:
        """Tell this listener what the asker's calls of this trace say, on the gate's loop, while the block lasts."""
        whose = _whose(context)
        self._listeners[whose] = listener
        try:
            yield
        finally:
            if self._listeners.get(whose) is listener:
                del self._listeners[whose]

    def __call__(self, context: ToolContext, fraction: float | None, note: str) -> None:
        """Record it; a store that cannot take it now must not fail the handler."""
        told = self._striker.strike_text(str(note))
        listener = self._listeners.get(_whose(context.context)) if self._listeners else None
        if listener is not None:
            self._tell(listener, fraction, told)
        payload = {"tool": context.tool, "fraction": fraction, "note": told}
        draft = Draft(
            type=PROGRESS,
            time=self._clock.now(),
            trace=context.trace_id,
            call=context.call_id,
            severity=KINDS[PROGRESS].severity,
            payload=payload,
        )
        try:
            self._store.behind(draft)
        except StoreError:
            return

    def _tell(self, listener: Listener, fraction: float | None, note: str) -> None:
        """From whatever thread the handler runs on; in the order it spoke, and before its outcome."""
        try:
            here = asyncio.get_running_loop() is self._home
        except RuntimeError:
            here = False
        if here:
            listener(fraction, note)
            return
        try:
            self._home.call_soon_threadsafe(listener, fraction, note)
        except RuntimeError:  # the gate's loop has ended
            return


def _whose(context: Context) -> tuple[str, str, str]:
    """A trace is named by who asks, so that nobody hears another's calls by naming their trace."""
    return context.principal, context.session, context.trace_id
