"""Arrived: whether the end of a call stands in the store although its commit was reported as failed. Knows no row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.events.vocabulary import FAILED, SETTLED_LATE, SUCCEEDED, TIMED_OUT, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from callgate.model.event import Draft
    from callgate.pipeline.parts import Parts
    from callgate.ports import Transaction

_ENDS = (SUCCEEDED, FAILED, TIMED_OUT, UNKNOWN, SETTLED_LATE)


def has_ended(parts: Parts, tx: Transaction, call: str | None, types: Sequence[str] = _ENDS) -> bool:
    """Whether this process has recorded an end of the call already."""
    return bool(tx.events(call=call, types=types, stream=parts.store.owner, limit=1))


def unless_arrived(parts: Parts, draft: Draft, unit: Callable[[Transaction], Any]) -> Callable[[Transaction], Any]:
    """The unit that records this end of a call, for another try: it does nothing where the end stands already."""
    types = (SETTLED_LATE,) if draft.type == SETTLED_LATE else _ENDS
    return lambda tx: None if has_ended(parts, tx, draft.call, types) else unit(tx)
