"""Deciding: what people answer, made durable. Deciding never executes; the same call again, or `resume`, does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from callgate.approvals import decide as answers
from callgate.approvals.decide import Decider
from callgate.approvals.show import payload
from callgate.errors import ApprovalConflict, ApprovalNotFound, GateDenied
from callgate.events.vocabulary import APPROVAL_EVENTS, EDITED
from callgate.model.approval import Approval
from callgate.model.call import Call
from callgate.model.ids import uuid7
from callgate.model.levels import Assurance, Verdict
from callgate.pipeline.approval_events import put_change
from callgate.pipeline.looking import authorized_looking
from callgate.pipeline.parts import Asked
from callgate.pipeline.preview import preview, state_digest
from callgate.pipeline.seal import Sealed, keep_until, seal, unseal
from callgate.pipeline.shown_reasons import reasons_shown
from callgate.pipeline.stopped import Stopped
from callgate.pipeline.under_one_id import aged, find, whole, write_age
from callgate.pipeline.weigh import decide

if TYPE_CHECKING:
    from callgate.model.tool import Arguments
    from callgate.pipeline.authorize import Authorized
    from callgate.pipeline.parts import Parts
    from callgate.ports import Answer, Transaction


async def approve(
    parts: Parts, approval_id: str, by: Decider, arguments: Arguments | None = None, *, digest: str | None = None
) -> Approval:
    """A yes to the question that `digest` names; with `arguments`, a yes to the call as edited.

    Raises:
        ApprovalNotFound: No such question.
        ApprovalConflict: Not pending any more, not what was seen, or this person may not decide it.
        AssuranceTooLow: It must be more certain who decides; the question stays pending.
        Refusal: The edited call is invalid or not allowed.
    """
    if arguments is None:
        return await _change(
            parts, approval_id, lambda approval, now: answers.approve(approval, by, now=now, digest=digest)
        )
    return await _approve_edited(parts, approval_id, by, arguments, digest=digest)


async def reject(parts: Parts, approval_id: str, by: Decider, why: str, *, digest: str | None = None) -> Approval:
    """A no.

    Raises:
        ApprovalNotFound: No such question.
        ApprovalConflict: Not pending any more, or an agent tried.
    """
    text = parts.striker.strike_text(why)
    return await _change(
        parts, approval_id, lambda approval, now: answers.reject(approval, by, now=now, why=text, digest=digest)
    )


async def respond(parts: Parts, approval_id: str, by: Decider, text: str, *, digest: str | None = None) -> Approval:
    """An answer for the model instead of running.

    Raises:
        ApprovalNotFound: No such question.
        ApprovalConflict: Not pending any more, or an agent tried.
    """
    struck = parts.striker.strike_text(text)
    return await _change(
        parts, approval_id, lambda approval, now: answers.respond(approval, by, now=now, text=struck, digest=digest)
    )


async def withdraw(parts: Parts, approval_id: str) -> Approval:
    """The asker no longer wants it.

    Raises:
        ApprovalNotFound: No such question.
        ApprovalConflict: It was decided already.
    """
    return await _change(parts, approval_id, answers.withdraw)


async def answer_question(parts: Parts, seen: Approval, answer: Answer, *, assurance: Assurance) -> Approval:
    """An answer given on the spot, by the terminal or a script; a yes is to the question as it was seen.

    One without a name is refused like any other: a stand-in would be somebody else, and one of two.
    """
    by = Decider(name=answer.by, assurance=assurance)
    if answer.kind == "approve":
        return await approve(parts, seen.id, by, answer.arguments, digest=seen.digest)
    if answer.kind == "respond":
        return await respond(parts, seen.id, by, answer.text)
    return await reject(parts, seen.id, by, answer.text)


async def reread(parts: Parts, approval_id: str) -> Approval:
    """The approval as time and people left it; an expiry that is seen here becomes durable.

    The id of a plan gives the plan, as one.

    Raises:
        ApprovalNotFound: No such question.
        ApprovalConflict: It was changed by somebody without the key, or put back as it was before.
    """
    found = await parts.store.read(lambda reader: find(parts, reader, approval_id))
    if aged(found, parts.clock.now()) is found:
        return found.shown
    return await _change(parts, approval_id, lambda approval, _now: approval)


async def part_of(parts: Parts, plan_id: str, key: str | None) -> Approval:
    """The approval of the call of a plan that will run under this key.

    Raises:
        ApprovalNotFound: The plan asks about no such call.
    """
    rows = await parts.store.read(lambda reader: reader.approvals_of_plan(plan_id))
    for row in rows:
        if row.key == key:
            return row
    raise ApprovalNotFound(f"the plan {plan_id} asks about no call under key {key}")


async def _change(
    parts: Parts,
    approval_id: str,
    answer: Callable[[Approval, float], Approval],
    *,
    more: Callable[[Transaction], None] | None = None,
) -> Approval:
    now = parts.clock.now()

    def unit(tx: Transaction) -> tuple[Approval, bool]:
        question = find(parts, tx, approval_id)
        # The passing of time comes first, and is kept even though the answer then comes too late.
        old = write_age(parts, tx, whole(parts, tx, question), now)
        current = next((row for row in old.rows if row.id == approval_id), old.shown)
        if current.state is not question.shown.state:
            return current, True
        changed = answer(current, now)
        if changed is current:
            return current, False
        shown = {"what": changed.what} if more else {}
        kind = EDITED if more else APPROVAL_EVENTS[changed.state]
        for row in question.answered(changed).rows:
            put_change(parts, tx, row, kind, now=now, text=row.text, **shown)
        if more is not None:
            more(tx)
        return changed, False

    result, too_late = await parts.store.write(unit)
    if too_late:
        # The answer itself says that the question is no longer open; a reader's, which changes nothing, is silent.
        answer(result, now)
    return result


async def edited_question(parts: Parts, approval_id: str, arguments: Arguments) -> Approval:
    """The question as an edit would leave it, with what would happen then. Nothing is decided or written.

    Raises:
        ApprovalNotFound: No such question.
        ApprovalConflict: It cannot be edited.
        Refusal: The edited call is invalid or not allowed.
    """
    approval, _, edited = await _edited_call(parts, approval_id, arguments)
    return answers.edited(approval, await _rebound(parts, edited))


async def _edited_call(parts: Parts, approval_id: str, arguments: Arguments) -> tuple[Approval, Sealed, Authorized]:
    approval = await reread(parts, approval_id)
    answers.refuse_part(approval)
    if approval.is_plan:
        raise ApprovalConflict(
            f"the plan {approval_id} is decided as a whole, and no call of it can be edited: reject it, and say what "
            "should be otherwise"
        )
    sealed = await unseal(parts, approval.sealed_id)
    if sealed is None:
        raise ApprovalConflict(f"the sealed arguments of approval {approval_id} are gone; ask again")
    try:
        return approval, sealed, await _authorized_edit(parts, approval, sealed, arguments)
    except Stopped as stop:
        return stop.outcome.unwrap()  # which raises: a step that stops a call says why


async def _approve_edited(
    parts: Parts, approval_id: str, by: Decider, arguments: Arguments, *, digest: str | None
) -> Approval:
    _, sealed, edited = await _edited_call(parts, approval_id, arguments)
    sealed_id = uuid7()
    asked = sealed.extra.get("asked", sealed.arguments)
    blob = seal(parts, sealed_id, edited.text, sealed.context, **(sealed.extra | {"asked": asked}))
    fields = await _rebound(parts, edited)

    def answer(current: Approval, now: float) -> Approval:
        changed = answers.edited(current, {"sealed_id": sealed_id} | fields)
        # They saw the question that they edit, or already what their edit makes of it.
        if digest != changed.digest:
            answers.need_seen(current, digest)
        return answers.approve(changed, by, now=now, digest=changed.digest)

    return await _change(
        parts, approval_id, answer, more=lambda tx: tx.put_sealed(sealed_id, blob, keep_until=keep_until(parts))
    )


async def _authorized_edit(parts: Parts, approval: Approval, sealed: Sealed, arguments: Arguments) -> Authorized:
    """The edited call through steps 1 to 3, under the asker's own context."""
    call = Call(approval.tool, arguments, key=approval.key, timeout=sealed.extra.get("timeout"))
    # Nothing runs here, so that a host's tool may be edited like any other.
    asked = Asked(call, sealed.context, approval.call_id, approval.key, None, judged=True)
    return await authorized_looking(parts, asked)


async def _rebound(parts: Parts, edited: Authorized) -> dict[str, object]:
    decision = await decide(parts, edited)
    if decision.verdict in {Verdict.DENY, Verdict.PREVIEW}:
        raise GateDenied(
            f"{edited.tool.name} with these arguments is not allowed: {'; '.join(reasons_shown(decision))}"
        )
    shown = await preview(parts, edited)
    if shown.cannot_work is not None:
        raise shown.cannot_work
    view = shown.preview
    return {
        "final_fingerprint": edited.fingerprint,
        "what": payload(edited.tool.name, parts.striker.strike(edited.arguments)),
        "why": reasons_shown(decision),
        "origins": dict.fromkeys(parts.striker.strike(list(edited.arguments)), "a person's edit"),
        "risk": decision.risk,
        "by": decision.by,
        "assurance": decision.assurance,
        "plus": decision.plus,
        "on_expiry": decision.on_expiry,
        "resources": parts.striker.strike(edited.authorization.resources),
        "preview": None if view is None else {"text": view.text},
        "preview_state": state_digest(parts, view),
    }
