"""The events of an approval: what is recorded about a question when it changes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.approvals.bind import bind
from callgate.events.vocabulary import WITHDRAWN
from callgate.model.approval import Approval, ApprovalState
from callgate.model.event import Draft

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.ports import Transaction


def note(approval: Approval, event: str, *, now: float, **more: Any) -> Draft:
    """The event of a change of an approval, which is bound already."""
    payload = {
        "tool": approval.tool,
        "approval_id": approval.id,
        "state": approval.state.value,
        "revision": approval.revision,
        "by": approval.decided_by,
        "votes": [vote.by for vote in approval.votes],
        "assurance": [vote.assurance.label for vote in approval.votes],
        "principal": approval.principal,
        "session": approval.session,
        "asked_at": approval.created_at,
    }
    if approval.user is not None:
        payload["user"] = approval.user
    if approval.part is not None:
        payload |= {"plan_id": approval.part.plan_id, "place": approval.part.place}
    return Draft(type=event, time=now, trace=approval.trace_id, call=approval.call_id, payload=payload | more)


def put_change(parts: Parts, tx: Transaction, changed: Approval, event: str, *, now: float, **more: Any) -> Approval:
    """Write an approval as a change left it, sealed, and the event that tells of the change."""
    bound = bind(changed, parts.keys)
    tx.put_approval(bound)
    tx.append(note(bound, event, now=now, **more))
    return bound


def take_back(parts: Parts, tx: Transaction, approval: Approval, why: str) -> None:
    """The gate asks no more: the question is withdrawn, and the record says why."""
    now = parts.clock.now()
    gone = replace(approval, state=ApprovalState.WITHDRAWN, text=why, decided_at=now)
    put_change(parts, tx, gone, WITHDRAWN, now=now, text=why)
