"""Going on: a call that a person approved, and that stopped at a call inside it, is asked about no second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.approvals.bind import intact
from callgate.events.row_digest import ROW_DIGEST, is_digest_of
from callgate.events.vocabulary import FAILED, GOES_ON, UNKNOWN
from callgate.ledger.transitions import NESTED
from callgate.model.approval import Approval, ApprovalState
from callgate.model.attempt import AttemptKey, AttemptState
from callgate.pipeline.admit import Admitted, admit
from callgate.pipeline.stopped import Stopped

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt
    from callgate.model.decision import Decision
    from callgate.model.event import Event
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.ports import Keys, Reader

_ENDS = (FAILED, UNKNOWN)
_UNFINISHED = frozenset({AttemptState.FAILED, AttemptState.UNKNOWN})


async def going_on(parts: Parts, authorized: Authorized, decision: Decision) -> Admitted | None:
    """The approval under which this very call began, and the call it admits; None when a person has to be asked."""
    found = await parts.store.read(lambda reader: _began_under(parts, authorized, reader))
    if found is None:
        return None
    try:
        return await admit(parts, authorized, decision, found)
    except Stopped:
        # What was approved is no longer what would run: that is a new question.
        return None


def stopped_inside(reader: Reader, approval: Approval, keys: Keys) -> Attempt | None:
    """The attempt that an approval was used for, where it ended at a call inside it and has not gone on since.

    Rows and events are anybody's who can write the store: what counts is that the event proves the row, under the key.
    """
    row = reader.attempt(AttemptKey(approval.principal, approval.session, approval.key))
    if row is None or row.approval_id != approval.id or row.cause != NESTED:
        return None
    if row.state not in _UNFINISHED or row.resolved_by is not None:
        return None
    proven = any(_proves(end, row, keys) for end in reader.events(types=_ENDS, call=row.call_id))
    return row if proven and not _went_on(reader, approval, row) else None


def _proves(end: Event, row: Attempt, keys: Keys) -> bool:
    said = end.payload or {}
    return said.get("cause") == NESTED and is_digest_of(str(said.get(ROW_DIGEST)), row, keys=keys)


def _went_on(reader: Reader, approval: Approval, row: Attempt) -> bool:
    """Whether it has gone on since, under whatever trace, and its row of before was put back; or nobody knows."""
    told = reader.events(types=(GOES_ON,), call=approval.call_id)
    return any(event.payload is None or event.payload.get("original_call") == row.call_id for event in told)


def _began_under(parts: Parts, authorized: Authorized, reader: Reader) -> Approval | None:
    asked = authorized.asked
    found = reader.latest_approval(
        asked.context.principal, asked.context.session, authorized.tool.name, authorized.fingerprint, key=asked.key
    )
    if found is None or found.state is not ApprovalState.USED or not intact(found, parts.keys):
        return None
    same = found.definition_hash == authorized.tool.definition_hash
    return found if same and stopped_inside(reader, found, parts.keys) is not None else None
