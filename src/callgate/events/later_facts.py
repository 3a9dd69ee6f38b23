"""Later facts: what was learned of a call after its end. The one reading of them, for the record and for the ledger."""

from __future__ import annotations

from callgate.events.vocabulary import RESOLVED, SETTLED_LATE
from callgate.model.event import Event

LATER = frozenset({RESOLVED, SETTLED_LATE})
"""Only these come after the end of a call."""


def state_learned(event: Event) -> str | None:
    """How the call stands since this later fact; None if it changed nothing, or is erased.

    The end of a late handler names a `state` exactly when it counted: where its ledger row changed, or there is none.
    """
    payload = event.payload or {}
    # Before there was one field for it, the end of a handler of the gate said it as `outcome`.
    state = payload.get("state") or payload.get("outcome")
    return state if isinstance(state, str) else None
