"""Going on: a call that a person approved, and that stopped at a call inside it, is asked about no second time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.approvals.bind import intact
from callgate.model.approval import Approval, ApprovalState
from callgate.model.attempt import AttemptKey, AttemptState
from callgate.pipeline.admit import Admitted, admit
from callgate.pipeline.ending import NESTED
from callgate.pipeline.stopped import Stopped

if TYPE_CHECKING:
    from callgate.model.decision import Decision
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader

_ENDS = ("tool_call.failed", "tool_call.unknown")
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


def stopped_inside(reader: Reader, approval: Approval) -> bool:
    """Whether the attempt that an approval was used for ended at a call inside it, by the ledger and by the events."""
    row = reader.attempt(AttemptKey(approval.principal, approval.session, approval.key))
    if row is None or row.approval_id != approval.id or row.cause != NESTED:
        return False
    if row.state not in _UNFINISHED or row.resolved_by is not None:
        return False
    ends = reader.events(types=_ENDS, trace=row.trace_id)
    return any(end.call == row.call_id and (end.payload or {}).get("cause") == NESTED for end in ends)


def _began_under(parts: Parts, authorized: Authorized, reader: Reader) -> Approval | None:
    asked = authorized.asked
    found = reader.latest_approval(
        asked.context.principal, asked.context.session, authorized.tool.name, authorized.fingerprint, key=asked.key
    )
    if found is None or found.state is not ApprovalState.USED or not intact(found, parts.keys):
        return None
    same = found.definition_hash == authorized.tool.definition_hash
    return found if same and stopped_inside(reader, found) else None
