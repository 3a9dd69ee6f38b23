"""Unrun: an intent that stands in the store though nothing will be run: closed as soon as the store takes it.

Its commit was reported as failed and arrived all the same, or whoever called let go while it was written.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from callgate.events.vocabulary import ATTEMPTED, FAILED, KINDS, UNKNOWN
from callgate.ledger.transitions import Settle, move
from callgate.model.attempt import AttemptKey, AttemptState
from callgate.model.event import Draft
from callgate.model.levels import Category, Happened
from callgate.model.outcome import ErrorInfo, Failed
from callgate.pipeline.arrived import has_ended
from callgate.pipeline.row_change import write_row
from callgate.pipeline.shield import finish
from callgate.pipeline.stopped import refusal
from callgate.pipeline.stored_outcome import stored

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.permit import Permit
    from callgate.ports import Transaction

_SPOOLED_AT_MOST = 1000


def close_unwritten(parts: Parts, permit: Permit) -> None:
    """The store failed while the intent was written: should it have arrived, it is closed when the store is back."""
    if len(parts.spool) >= _SPOOLED_AT_MOST:
        return
    text = "the store failed while the intent was written; nothing was run"
    info = refusal("store_unavailable", text, tool=permit.tool.name)
    parts.spool.keep(partial(_close, parts, permit, info))


async def close_let_go(parts: Parts, permit: Permit) -> None:
    """Whoever called let go while the intent was written: it is closed before they are told."""
    name = permit.tool.name
    info = ErrorInfo(code="cancelled", message=f"{name} was cancelled", category=Category.RUNTIME, tool=name)
    await finish(parts.spool.write(partial(_close, parts, permit, info)))


def _close(parts: Parts, permit: Permit, why: ErrorInfo, tx: Transaction) -> None:
    """Close the call if its intent arrived: its handler was never entered."""
    asked = permit.asked
    if permit.key is None:
        if tx.events(call=asked.call_id, types=(ATTEMPTED,), limit=1) and not has_ended(parts, tx, asked.call_id):
            tx.append(_closing(parts, permit, why))
        return
    row = tx.attempt(AttemptKey(asked.context.principal, asked.context.session, permit.key))
    if row is not None and row.call_id == asked.call_id and row.state is AttemptState.STARTED:
        step = move(row, _fact(parts, permit, row, why))
        assert step.row is not None  # noqa: S101 - a row stays a row
        draft = _closing(parts, permit, why)
        if step.row.state is AttemptState.UNKNOWN:
            # It did nothing, and an attempt before it under this key may have.
            draft.type, draft.payload = UNKNOWN, _told(permit, why) | {"cause": step.row.cause}
        write_row(parts, tx, step.row, draft, step.answer)


def _fact(parts: Parts, permit: Permit, row: Attempt, why: ErrorInfo) -> Settle:
    tool = permit.tool
    outcome = Failed(
        tool=tool.name, call_id=row.call_id, error=why, happened=Happened.NONE, side_effects=tool.side_effects
    )
    return Settle(
        call_id=row.call_id,
        owner=row.owner,
        fence=row.fence,
        state=AttemptState.FAILED,
        now=parts.clock.now(),
        happened=Happened.NONE,
        outcome=stored(outcome, b"null"),
    )


def _closing(parts: Parts, permit: Permit, why: ErrorInfo) -> Draft:
    return Draft(
        type=FAILED,
        time=parts.clock.now(),
        trace=permit.context.trace_id,
        call=permit.asked.call_id,
        severity=KINDS[FAILED].severity,
        payload=_told(permit, why) | {"effect": Happened.NONE.value},
    )


def _told(permit: Permit, why: ErrorInfo) -> dict[str, Any]:
    return {"tool": permit.tool.name, "tool_id": permit.tool.id, "duration_ms": 0.0, "error": why.to_json()}
