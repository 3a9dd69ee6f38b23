"""Unrun: an intent that could not be written as far as anybody was told, and that stands in the store all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.events.row_digest import ROW_DIGEST, row_digest
from callgate.events.vocabulary import ATTEMPTED, FAILED
from callgate.ledger.transitions import Settle, move
from callgate.model.attempt import AttemptKey, AttemptState
from callgate.model.event import Draft
from callgate.model.levels import Happened, Severity
from callgate.pipeline.arrived import has_ended

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit
    from callgate.ports import Transaction

_ERROR = {
    "error": "the store failed while the intent was written; nothing was run",
    "code": "store_unavailable",
    "category": "resource_error",
    "retryable": True,
}


def close_unrun(parts: Parts, permit: Permit, tx: Transaction) -> None:
    """Close the call whose commit was reported as failed, if it arrived: its handler was never entered."""
    asked, context = permit.asked, permit.asked.context
    payload: dict[str, Any] = {"tool": permit.tool.name, "error": _ERROR, "effect": Happened.NONE.value}
    if permit.key is not None:
        row = tx.attempt(AttemptKey(context.principal, context.session, permit.key))
        if row is None or row.call_id != asked.call_id or row.state is not AttemptState.STARTED:
            return
        fact = Settle(
            call_id=row.call_id,
            owner=row.owner,
            fence=row.fence,
            state=AttemptState.FAILED,
            now=parts.clock.now(),
            happened=Happened.NONE,
        )
        step = move(row, fact)
        assert step.row is not None  # noqa: S101 - a row stays a row
        tx.put_attempt(step.row)
        payload[ROW_DIGEST] = row_digest(parts.keys, step.row)
    elif not tx.events(call=asked.call_id, types=(ATTEMPTED,), limit=1) or has_ended(parts, tx, asked.call_id):
        return
    tx.append(
        Draft(
            type=FAILED,
            time=parts.clock.now(),
            trace=context.trace_id,
            call=asked.call_id,
            severity=Severity.WARNING,
            payload=payload,
        )
    )
