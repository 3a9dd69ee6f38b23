"""Questions: find the open question for a call or ask a new one, and wait for a person where the caller waits."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callgate.approvals.bind import bind, intact
from callgate.approvals.decide import expire
from callgate.approvals.show import payload
from callgate.errors import ApprovalConflict, Conflict, NotFound, Refusal
from callgate.ledger.transitions import Answer, look
from callgate.model.approval import OPEN_STATES, Approval, ApprovalState
from callgate.model.attempt import Attempt
from callgate.model.ids import uuid7
from callgate.model.outcome import Pending
from callgate.model.pauses import pauses
from callgate.pipeline.admit import admit, judge_again
from callgate.pipeline.authorize import authorize
from callgate.pipeline.deciding import answer_question, edited_question, reread
from callgate.pipeline.fingerprint import account
from callgate.pipeline.notes import note, reasons_shown
from callgate.pipeline.parts import Asked
from callgate.pipeline.preview import preview, state_digest
from callgate.pipeline.recall import attempt_key, meet, repeatable
from callgate.pipeline.resolve import resolve
from callgate.pipeline.seal import keep_until, seal
from callgate.pipeline.standing import Question, whole, write_age
from callgate.pipeline.stopped import Stopped, declared_effects, refused
from callgate.pipeline.validate import validate

if TYPE_CHECKING:
    from callgate.model.call import Call
    from callgate.model.context import Context
    from callgate.model.decision import Decision
    from callgate.model.levels import Assurance
    from callgate.model.tool import Arguments, Tool
    from callgate.pipeline.admit import Admitted
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.pipeline.preview import Shown
    from callgate.ports import Answer as Said
    from callgate.ports import Reader, Transaction

_log = logging.getLogger("callgate")
_DECIDED = frozenset({ApprovalState.REJECTED, ApprovalState.ANSWERED})


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
            authorized, decision = await judge_again(parts, authorized, decision, approval)
        elif until is None or parts.clock.monotonic() >= until:
            raise _pending(authorized, approval, decision)
        else:
            await asyncio.sleep(min(next(pause), max(0.0, until - parts.clock.monotonic())))
            approval = await _again(parts, authorized, approval)
            authorized, decision = await judge_again(parts, authorized, decision, approval)


async def question_about(parts: Parts, call: Call, context: Context, *, judged: bool = False) -> Approval | None:
    """The question that stands about this very call, where one does. Nothing is asked, run or recorded.

    With `judged`, of a tool that its host runs.
    """
    asked = Asked(call, context, uuid7(), call.key, None)
    asked.judged = judged
    try:
        authorized = await authorize(parts, validate(parts, resolve(parts, asked, looking=True)))
    except Stopped:
        return None
    return await parts.store.read(lambda reader: _standing_question(parts, authorized, reader))


async def _again(parts: Parts, authorized: Authorized, approval: Approval, *, plan: bool = False) -> Approval:
    """The question as it stands by now, or its plan, which is what people decide; one that was changed is void."""
    part = approval.part if plan else None
    try:
        return await reread(parts, approval.id if part is None else part.plan_id)
    except (Conflict, NotFound) as error:
        raise refused(authorized.asked, "approval_void", str(error), tool=authorized.tool, key=approval.key) from None


async def ask_now(parts: Parts, approval: Approval) -> bool:
    """Put the question to whoever sits there; True when it was answered."""
    asker = parts.asker
    assert asker is not None  # noqa: S101 - asked by the caller
    talk = _Talk(parts, approval)
    while True:
        try:
            answer = await asker.ask(talk.shown)
        except Exception as error:  # noqa: BLE001 - whoever asks may break; the question stays
            _log.warning("the question could not be put to anybody: %s", type(error).__name__)
            return False
        if answer.kind == "wait":
            return False
        try:
            if await talk.take(answer, assurance=asker.assurance):
                return True
        except (Conflict, NotFound, Refusal) as error:
            # An answer that does not count leaves the question open for somebody whose does, or for a better one.
            if not asker.tell(str(error)) or not isinstance(error, Refusal):
                return False


class _Talk:
    """A question as it is put to somebody, with the edit that it shows by now."""

    def __init__(self, parts: Parts, approval: Approval) -> None:
        self._parts = parts
        self._edit: Arguments | None = None
        self.shown = approval

    async def take(self, answer: Said, *, assurance: Assurance) -> bool:
        """Decide by this answer; False where there is something else to be seen first."""
        if answer.kind == "edit":
            edit = answer.arguments or {}
            self.shown, self._edit = await edited_question(self._parts, self.shown.id, edit), edit
            return False
        if answer.kind == "approve" and answer.arguments is None and self._edit is not None:
            now = await edited_question(self._parts, self.shown.id, self._edit)
            if now.digest != self.shown.digest:
                self.shown = now
                return False
            answer = answer._replace(arguments=self._edit)
        await answer_question(self._parts, self.shown, answer, assurance=assurance)
        return True


async def _open_question(parts: Parts, authorized: Authorized, decision: Decision) -> Approval:
    """The question for this call that stands, or a new one."""
    found = await parts.store.read(lambda reader: _standing_question(parts, authorized, reader))
    if found is not None:
        return found
    new = new_approval(parts, authorized, decision, await preview(parts, authorized))
    blob = sealed_call(parts, authorized, new)

    def unit(tx: Transaction) -> Approval | Attempt | None:
        _note_expiry(parts, authorized, tx)
        standing = _standing_question(parts, authorized, tx) or _twin(authorized, tx)
        if standing is not None:
            return standing
        waiting = tx.pending_count(new.principal, new.session, now=parts.clock.now())
        if waiting >= parts.settings.approvals.pending_per_session:
            return None
        put_question(parts, tx, new, blob, role=authorized.asked.context.role, decision=decision)
        return new

    approval = await parts.store.write(unit)
    if approval is None:
        most = parts.settings.approvals.pending_per_session
        message = f"{most} questions of this session wait for a person already; have them answered first"
        raise refused(authorized.asked, "limit_exceeded", message, tool=authorized.tool, decision=decision)
    if isinstance(approval, Attempt):
        await meet(parts, authorized, approval.key.key)
        return await _open_question(parts, authorized, decision)
    return approval


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


def _twin(authorized: Authorized, tx: Transaction) -> Attempt | None:
    """The row of a twin that took the key since the recall: nobody is asked about what runs already."""
    key = authorized.asked.key
    row = None if key is None else tx.attempt(attempt_key(authorized, key))
    answer = look(row, authorized.fingerprint, idempotent=repeatable(authorized.tool))
    return None if answer is Answer.CLAIMED else row


def _standing_question(parts: Parts, authorized: Authorized, reader: Reader) -> Approval | None:
    """An approval that still speaks for this call: open, or decided against it and not yet expired."""
    found = _latest(authorized, reader)
    if found is None or not intact(found, parts.keys) or (found.part is not None and found.key != authorized.asked.key):
        return None
    now = parts.clock.now()
    found = expire(found, now)
    stands = found.state in OPEN_STATES or (found.state in _DECIDED and now < found.expires_at)
    return found if stands and found.definition_hash == authorized.tool.definition_hash else None


def _latest(authorized: Authorized, reader: Reader) -> Approval | None:
    context = authorized.asked.context
    return reader.latest_approval(
        context.principal, context.session, authorized.tool.name, authorized.fingerprint, key=authorized.asked.key
    )


def _note_expiry(parts: Parts, authorized: Authorized, tx: Transaction) -> None:
    """An expiry once seen is durable."""
    found = _latest(authorized, tx)
    if found is not None and intact(found, parts.keys):
        with suppress(ApprovalConflict):  # a plan that somebody changed is void, and is left as evidence
            write_age(parts, tx, whole(parts, tx, Question((found,))), parts.clock.now())


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
        working_directory=context.working_directory or parts.working_directory,
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


def said(authorized: Authorized, approval: Approval) -> Stopped:
    """What became of the question, as the end of the call; of a later call, it names the one that asked."""
    stop = refused_by(authorized.asked, authorized.tool, approval)
    stop.payload["approval_id"] = approval.id
    if approval.call_id != authorized.asked.call_id:
        stop.payload["original_call"] = approval.call_id
    return stop


def refused_by(asked: Asked, tool: Tool | None, approval: Approval) -> Stopped:
    """The refusal of a call whose question did not end in a yes."""
    key = approval.key or asked.key
    if approval.state is ApprovalState.ANSWERED:
        return refused(asked, "approval_answered", approval.text or "", tool=tool, key=key)
    if approval.state is ApprovalState.REJECTED:
        why = f": {approval.text}" if approval.text else ""
        return refused(asked, "approval_rejected", f"{approval.decided_by} rejected this call{why}", tool=tool, key=key)
    if approval.state is ApprovalState.EXPIRED:
        return refused(asked, "approval_expired", "nobody decided in time; call again to ask anew", tool=tool, key=key)
    message = f"the approval is {approval.state.value}; call again to ask anew"
    return refused(asked, "approval_void", message, tool=tool, key=key)


def _pending(authorized: Authorized, approval: Approval, decision: Decision) -> Stopped:
    outcome = Pending(
        tool=authorized.tool.name,
        call_id=approval.call_id,
        trace_id=authorized.asked.context.trace_id,
        key=approval.key,
        decision=decision,
        side_effects=declared_effects(authorized.tool),
        approval_id=approval.id if approval.part is None else approval.part.plan_id,
        expires_at=approval.expires_at,
    )
    return Stopped(outcome, event="gate.required", recorded=True)
