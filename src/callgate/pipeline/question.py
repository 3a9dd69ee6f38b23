"""Questions: find the one that stands about a call or ask a new one, and wait for a person where the caller waits."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from callgate.approvals.bind import intact
from callgate.approvals.decide import expire
from callgate.errors import ApprovalConflict, Conflict, NotFound
from callgate.ledger.transitions import Answer
from callgate.model.approval import OPEN_STATES, SAID_NO, Approval, ApprovalState
from callgate.model.attempt import Attempt
from callgate.model.ids import uuid7
from callgate.model.outcome import Pending
from callgate.model.pauses import pauses
from callgate.pipeline.admit import admit, decide_again
from callgate.pipeline.approval_made import new_approval, put_question, sealed_call, too_many_wait
from callgate.pipeline.asking import ask_now
from callgate.pipeline.deciding import reread
from callgate.pipeline.looking import authorized_looking
from callgate.pipeline.parts import Asked
from callgate.pipeline.preview import preview
from callgate.pipeline.recall import attempt_key, meet, met
from callgate.pipeline.stopped import Stopped, cannot_work, declared_effects, refused, refused_by, void
from callgate.pipeline.under_one_id import UnderOneId, trusted, whole, write_age

if TYPE_CHECKING:
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.decision import Decision
    from callgate.pipeline.admit import Admitted
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction


async def ask(parts: Parts, authorized: Authorized, decision: Decision) -> Admitted:
    """The call with an approval that admits it, judged again where somebody was waited for.

    Raises:
        Stopped: Pending, or what a person said.
    """
    wait = authorized.asked.wait
    until = None if wait is None else parts.clock.monotonic() + wait
    pause = pauses()
    approval = await _open_question(parts, authorized, decision)
    while True:
        if approval.state is ApprovalState.APPROVED:
            admitted = await admit(parts, authorized, decision, approval)
            if admitted is not None:
                return admitted
            approval = await _open_question(parts, authorized, decision)
        elif approval.state is ApprovalState.USED:
            # A twin was faster; its outcome is this call's, too.
            await meet(parts, authorized, approval.key)
            approval = await _open_question(parts, authorized, decision)
        elif approval.state is not ApprovalState.PENDING:
            raise said(authorized, approval)
        elif parts.asker is not None and await ask_now(parts, await _again(parts, authorized, approval, plan=True)):
            approval = await _again(parts, authorized, approval)
            authorized, decision = await decide_again(parts, authorized, decision, approval)
        elif until is None or parts.clock.monotonic() >= until:
            raise _pending(parts, authorized, approval, decision)
        else:
            await asyncio.sleep(min(next(pause), max(0.0, until - parts.clock.monotonic())))
            approval = await _again(parts, authorized, approval)
            authorized, decision = await decide_again(parts, authorized, decision, approval)


async def question_about(parts: Parts, call: Call, context: Context, *, judged: bool = False) -> Approval | None:
    """The question that stands about this very call, where one does. Nothing is asked, run or recorded.

    With `judged`, of a tool that its host runs. The key is the call's own: that of its context is the list's it is in.
    """
    asked = Asked(call, context, uuid7(), call.key, None, judged=judged)
    try:
        authorized = await authorized_looking(parts, asked)
    except Stopped:
        return None
    return await parts.store.read(lambda reader: _standing_question(parts, authorized, reader))


async def _again(parts: Parts, authorized: Authorized, approval: Approval, *, plan: bool = False) -> Approval:
    """The question as it stands by now, or its plan, which is what people decide; one that was changed is void."""
    part = approval.part if plan else None
    try:
        return await reread(parts, approval.id if part is None else part.plan_id)
    except (Conflict, NotFound) as error:
        raise void(authorized.asked, authorized.tool, approval, str(error)) from None


async def _open_question(parts: Parts, authorized: Authorized, decision: Decision) -> Approval:
    """The question for this call that stands, or a new one."""
    found = await parts.store.read(lambda reader: _standing_question(parts, authorized, reader))
    if found is not None:
        return found
    shown = await preview(parts, authorized)
    if shown.cannot_work is not None:
        raise cannot_work(authorized.asked, authorized.tool, shown.cannot_work)
    new = new_approval(parts, authorized, decision, shown)
    blob = sealed_call(parts, authorized, new)

    def unit(tx: Transaction) -> Approval | Attempt | str:
        _note_expiry(parts, authorized, tx)
        standing = _standing_question(parts, authorized, tx) or _twin(authorized, tx)
        if standing is not None:
            return standing
        full = too_many_wait(parts, tx, authorized.asked.context)
        if full is not None:
            return full
        put_question(parts, tx, new, blob, role=authorized.asked.context.role, decision=decision)
        return new

    approval = await parts.store.write(unit)
    if isinstance(approval, str):
        raise refused(authorized.asked, "limit_exceeded", approval, tool=authorized.tool, decision=decision)
    if isinstance(approval, Attempt):
        await meet(parts, authorized, approval.key.key)
        return await _open_question(parts, authorized, decision)
    return approval


def _twin(authorized: Authorized, tx: Transaction) -> Attempt | None:
    """The row of a twin that took the key since the recall: nobody is asked about what runs already."""
    key = authorized.asked.key
    row = None if key is None else tx.attempt(attempt_key(authorized, key))
    return None if row is None or met(authorized, row) is Answer.CLAIMED else row


def _standing_question(parts: Parts, authorized: Authorized, reader: Reader) -> Approval | None:
    """An approval that still speaks for this call: open, or decided against it and not yet expired."""
    found = _latest(authorized, reader)
    if found is None or not intact(found, parts.keys) or (found.part is not None and found.key != authorized.asked.key):
        return None
    now = parts.clock.now()
    found = expire(found, now)
    stands = found.state in OPEN_STATES or (found.state in SAID_NO and now < found.expires_at)
    return found if stands and found.definition_hash == authorized.tool.definition_hash else None


def _latest(authorized: Authorized, reader: Reader) -> Approval | None:
    context = authorized.asked.context
    return reader.latest_approval(
        context.principal, context.session, authorized.tool.name, authorized.fingerprint, key=authorized.asked.key
    )


def _note_expiry(parts: Parts, authorized: Authorized, tx: Transaction) -> None:
    """An expiry once seen is durable."""
    found = _latest(authorized, tx)
    if found is not None:
        with suppress(ApprovalConflict):  # what somebody changed or put back is void, and is left as evidence
            question = UnderOneId((trusted(parts, tx, found),))
            write_age(parts, tx, whole(parts, tx, question), parts.clock.now())


def said(authorized: Authorized, approval: Approval) -> Stopped:
    """What became of the question, as the end of the call; of a later call, it names the one that asked."""
    stop = refused_by(authorized.asked, authorized.tool, approval)
    stop.payload["approval_id"] = approval.id
    stop.outcome.metadata["approval_id"] = _decided_as(approval)
    if approval.call_id != authorized.asked.call_id:
        stop.payload["original_call"] = approval.call_id
    return stop


def _decided_as(approval: Approval) -> str:
    """The id people decide it by: a call of a plan is decided with the plan."""
    return approval.id if approval.part is None else approval.part.plan_id


def _pending(parts: Parts, authorized: Authorized, approval: Approval, decision: Decision) -> Stopped:
    outcome = Pending(
        tool=authorized.tool.name,
        call_id=approval.call_id,
        trace_id=authorized.asked.context.trace_id,
        key=approval.key,
        decision=decision,
        side_effects=declared_effects(authorized.tool),
        approval_id=_decided_as(approval),
        expires_at=approval.expires_at,
        lasting=parts.lasting,
    )
    return Stopped(outcome, event="gate.required", recorded=True)
