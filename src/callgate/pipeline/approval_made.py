"""Making an approval: the question about one exact call, sealed and bound, and the room there is for one more."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.approvals.bind import bind
from callgate.approvals.show import payload
from callgate.model.approval import Approval, ApprovalState
from callgate.model.ids import uuid7
from callgate.pipeline.approval_events import note
from callgate.pipeline.fingerprint import account
from callgate.pipeline.preview import state_digest
from callgate.pipeline.seal import keep_until, seal
from callgate.pipeline.shown_reasons import reasons_shown

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.model.decision import Decision
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.preview import Shown
    from callgate.ports import Transaction


def new_approval(parts: Parts, authorized: Authorized, decision: Decision, shown: Shown, **changes: Any) -> Approval:
    """The question about this very call, sealed."""
    context, tool, now = authorized.asked.context, authorized.tool, parts.clock.now()
    view = shown.preview
    approval = Approval(
        id=uuid7(),
        state=ApprovalState.PENDING,
        principal=context.principal,
        session=context.session,
        user=context.user,
        tool=tool.name,
        definition_hash=tool.definition_hash,
        call_id=authorized.asked.call_id,
        trace_id=context.trace_id,
        key=authorized.asked.key or uuid7(),
        asked_fingerprint=authorized.fingerprint,
        final_fingerprint=authorized.fingerprint,
        sealed_id=uuid7(),
        what=payload(tool.name, parts.striker.strike(authorized.arguments)),
        why=reasons_shown(decision),
        origins=dict.fromkeys(parts.striker.strike(list(authorized.arguments)), "the call"),
        risk=decision.risk,
        autonomy=decision.autonomy.label,
        preview=None if view is None else {"text": view.text},
        preview_state=state_digest(parts, view),
        resources=parts.striker.strike(authorized.authorization.resources),
        working_directory=parts.directory_of(context),
        account=account(parts, tool),
        by=decision.by,
        assurance=decision.assurance,
        plus=decision.plus,
        on_expiry=decision.on_expiry if tool.hooks.undo is not None else "reject",
        created_at=now,
        expires_at=now + parts.settings.approvals.expires,
        mac="",
    )
    return bind(replace(approval, **changes), parts.keys)


def sealed_call(parts: Parts, authorized: Authorized, approval: Approval) -> bytes:
    """The exact call that a question is about, readable only with the key."""
    call, context = authorized.asked.call, authorized.asked.context
    return seal(parts, approval.sealed_id, authorized.text, context, timeout=call.timeout, distinct=call.distinct)


def put_question(
    parts: Parts, tx: Transaction, new: Approval, blob: bytes, *, role: str, decision: Decision, **more: Any
) -> None:
    """Ask: the sealed call, the approval, and the event that says so."""
    tx.put_sealed(new.sealed_id, blob, keep_until=keep_until(parts))
    tx.put_approval(new)
    told = {"what": new.what, "decision": decision.to_json(), "expires_at": new.expires_at, "key": new.key}
    tx.append(note(new, "gate.required", now=new.created_at, role=role, **told, **more))


def too_many_wait(parts: Parts, tx: Transaction, context: Context) -> str | None:
    """Why no further question of this session is put to anybody; None where there is room for one."""
    most = parts.settings.approvals.pending_per_session
    if tx.pending_count(context.principal, context.session, now=parts.clock.now()) < most:
        return None
    return f"{most} questions of this session wait for a person already; have them answered first"
