"""Notes: what is recorded about a question when it changes, and which reasons a person is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.model.event import Draft
from callgate.model.levels import Verdict

if TYPE_CHECKING:
    from callgate.model.approval import Approval
    from callgate.model.context import Context
    from callgate.model.decision import Decision


def note(approval: Approval, event: str, *, now: float, **more: Any) -> Draft:
    """The event of a change of an approval."""
    payload = {
        "tool": approval.tool,
        "approval_id": approval.id,
        "state": approval.state.value,
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


def who(context: Context) -> dict[str, Any]:
    """Who asks, as every event of a call says it; what is not set is left out."""
    body: dict[str, Any] = {
        "role": context.role,
        "principal": context.principal,
        "session": context.session,
        "caller": context.caller._value_,
    }
    if context.user is not None:
        body["user"] = context.user
    if context.chain_id is not None:
        body |= {"chain_id": context.chain_id, "chain_index": context.chain_index}
    return body


def reasons_shown(decision: Decision) -> tuple[str, ...]:
    """The reasons a person is shown: what raised the risk, and what asks for something."""
    raising = tuple(reason.text for reason in decision.reasons if reason.raises)
    return (*raising, *asking_reasons(decision))


def asking_reasons(decision: Decision) -> tuple[str, ...]:
    """The reasons that ask for something; one that was not shown asks again."""
    strict = tuple(r.text for r in decision.reasons if r.verdict is not None and r.verdict > Verdict.ALLOW)
    return strict or (f"risk {decision.risk.label} at autonomy {decision.autonomy.label} needs a person",)
