"""Progress: how far a running handler says it is, recorded for whoever waits. Loses rather than slows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.errors import StoreError
from callgate.events.vocabulary import KINDS, PROGRESS
from callgate.model.event import Draft

if TYPE_CHECKING:
    from callgate.model.tool_context import ToolContext
    from callgate.ports import Clock, Store
    from callgate.secrets.strike import Striker


class Progress:
    """Turns a handler's word about its progress into an event."""

    def __init__(self, store: Store, striker: Striker, clock: Clock) -> None:
        self._store = store
        self._striker = striker
        self._clock = clock

    def __call__(self, context: ToolContext, fraction: float | None, note: str) -> None:
        """Record it; a store that cannot take it now must not fail the handler."""
        payload = {"tool": context.tool, "fraction": fraction, "note": self._striker.strike_text(str(note))}
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
