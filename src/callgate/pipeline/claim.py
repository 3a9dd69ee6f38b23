"""Step 6, claim: in one transaction take the key, use up the approval, reserve the limits, write the intent.

For every effect the intent is durable before the handler is entered. Only reads without egress, secrets and a caller's
key may have their events written behind.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from callgate.approvals.decide import expire
from callgate.credentials.register import credential
from callgate.errors import ApprovalConflict, StoreUnavailable
from callgate.events.row_digest import found_row
from callgate.events.vocabulary import GOES_ON, USED
from callgate.ledger.transitions import Answer, Claim, Move, move
from callgate.model.approval import ApprovalState
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.ids import uuid7
from callgate.pipeline.approval_events import put_change
from callgate.pipeline.gate import Passed, is_revoked
from callgate.pipeline.go_on import stopped_inside
from callgate.pipeline.intent import again, attempted
from callgate.pipeline.permit import Permit
from callgate.pipeline.recall import (
    attempt_key,
    meet,
    only_reads,
    refuse_secrets,
    repeatable,
    same_as_unknown,
    stopped_by,
)
from callgate.pipeline.seal import keep_until, seal
from callgate.pipeline.shield import landed
from callgate.pipeline.stopped import Stopped, refused
from callgate.pipeline.time_limit import time_limit
from callgate.pipeline.under_one_id import UnderOneId, trusted, whole
from callgate.pipeline.unrun import close_let_go, close_unwritten
from callgate.registry.health import connector_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from callgate.model.approval import Approval
    from callgate.model.context import Context
    from callgate.model.decision import Reason
    from callgate.pipeline.parts import Asked, Parts
    from callgate.ports import Transaction

T = TypeVar("T")
_CLAIMED = Answer.CLAIMED


async def claim(parts: Parts, passed: Passed) -> Permit:
    """A permit, or the end of the call.

    Raises:
        Stopped: in_flight, idempotency_conflict, outcome_unknown, limit_exceeded, approval_void, store_unavailable,
            tool_unavailable, invalid_arguments, or a twin's outcome.
    """
    asked, tool = passed.authorized.asked, passed.authorized.tool
    limit = time_limit(tool, asked.context, parts.settings, per_call=asked.call.timeout)
    runs = passed.final or passed.authorized  # as `Passed.runs`, without the call
    permit = Permit(asked, tool, runs.arguments, passed.decision, limit)
    if passed.approval is not None:
        permit.edited = passed.final is not None
        permit.shown_state = passed.approval.preview_state
    if parts.health.troubled:
        _take_turn(parts, permit)
    try:
        if (tool.isolation == "process" or not tool.is_async) and not asked.judged:
            await _take_place(parts, permit)
        if passed.authorized.has_row or passed.approval is not None or passed.grant is not None:
            await _intent_with_row(parts, passed, permit)
        elif tool.plain_read:
            parts.store.behind(attempted(parts, passed, permit))
        else:
            await _intent_of_read(parts, passed, permit)
    except BaseException as error:
        _give_back(parts, permit, error)
        if isinstance(error, StoreUnavailable):
            raise refused(asked, "store_unavailable", str(error), tool=tool) from error
        raise
    return permit


def _take_turn(parts: Parts, permit: Permit) -> None:
    """At a connector that failed and is tried again, by one call at a time: here, where it is known to be made."""
    down = parts.health.available(permit.tool)
    if down is not None:
        raise refused(permit.asked, "tool_unavailable", f"{permit.tool.name} is unavailable: {down}", tool=permit.tool)


def _give_back(parts: Parts, permit: Permit, error: BaseException) -> None:
    parts.health.give_back(permit.tool)
    if permit.lane is not None:
        permit.lane.give()
    if isinstance(error, StoreUnavailable) and permit.durable:
        close_unwritten(parts, permit)


async def _take_place(parts: Parts, permit: Permit) -> None:
    connector = connector_of(permit.tool)
    kind = "processes" if permit.tool.isolation == "process" else "threads"
    lane = parts.threads.lane(connector if kind == "threads" else f"{kind}:{connector}")
    if not await lane.take(permit.limit):
        busy = f"all {parts.threads.per_connector} {kind} of {connector} are busy"
        raise refused(permit.asked, "tool_unavailable", f"{permit.tool.name} is unavailable: {busy}", tool=permit.tool)
    permit.lane = lane


async def _intent_of_read(parts: Parts, passed: Passed, permit: Permit) -> None:
    """Of a read that nobody can ask for again, so that it needs no row in the ledger."""
    draft = attempted(parts, passed, permit)
    permit.durable = True
    await _written(parts, permit, lambda tx: tx.append(draft))


async def _intent_with_row(parts: Parts, passed: Passed, permit: Permit) -> None:
    """Of every effect, and of a read with a key, an approval or a grant."""
    key = _given_key(parts, passed)
    permit.key = key or uuid7()
    permit.durable = True
    sealed_id, blob = _sealed(parts, passed, permit)
    keep = keep_until(parts)
    fact = _fact(parts, passed, permit, sealed_id)
    draft = attempted(parts, passed, permit)

    def unit(tx: Transaction) -> Move | Attempt | Reason | str:
        # A key that was made just now is free.
        before = None if key is None else tx.attempt(fact.key)
        step = move(before, fact)
        if step.answer is not _CLAIMED or step.row is None:
            return step
        no = _unknown_twin(tx, passed, fact) or _answered(parts, tx, passed) or _reserve(parts, tx, permit)
        if no is not None:
            return no
        if blob is not None:
            tx.put_sealed(sealed_id, blob, keep_until=keep)
        (tx.add_attempt if key is None else tx.put_attempt)(step.row)
        tx.append(draft if before is None else again(draft, found_row(parts.keys, before)))
        return step

    answer = await _written(parts, permit, unit)
    if isinstance(answer, Move) and answer.answer is _CLAIMED:
        permit.row = answer.row
        return
    if isinstance(answer, Move):
        await _lost_the_race(parts, passed, permit, answer)
    raise _not_claimed(passed, answer)


def _given_key(parts: Parts, passed: Passed) -> str | None:
    """The key that the caller gave, now or when a person was asked; None where it is ours to make."""
    approval = passed.approval
    key = passed.authorized.asked.key or (approval.key if approval is not None else None)
    if passed.authorized.looked_through is not parts.striker.known:
        # It waited, for a thread or a person, and a secret was learnt meanwhile.
        refuse_secrets(parts, passed.authorized, key)
    return key


async def _written(parts: Parts, permit: Permit, unit: Callable[[Transaction], T]) -> T:
    """Write the intent. On its way it cannot be taken back: whoever lets go meanwhile has it closed, and no permit."""
    work = parts.store.submit(unit)
    if await landed(work):  # pragma: no cover - see `landed`
        if work.exception() is None:
            await close_let_go(parts, permit)
        else:
            close_unwritten(parts, permit)
        raise asyncio.CancelledError
    return work.result()


def _sealed(parts: Parts, passed: Passed, permit: Permit) -> tuple[str, bytes | None]:
    """The id and the blob of the sealed arguments; an approval sealed these very ones, and one copy is enough."""
    asked, approval = permit.asked, passed.approval
    if approval is not None and not asked.judged:
        return approval.sealed_id, None
    return asked.call_id, seal(parts, asked.call_id, passed.text, asked.context, **_extra(asked))


def _extra(asked: Asked) -> dict[str, Any]:
    """Who will settle it: only a judged call is settled by a report."""
    return {"judged": True} if asked.judged else {}


def _fact(parts: Parts, passed: Passed, permit: Permit, sealed_id: str) -> Claim:
    authorized, tool, asked = passed.authorized, permit.tool, permit.asked
    now = parts.clock.now()
    assert permit.key is not None  # noqa: S101 - set by the caller
    return Claim(
        # By place: with more than so many names Python makes a dictionary of them first.
        attempt_key(authorized, permit.key),
        asked.call_id,
        asked.context.trace_id,
        tool=tool.name,
        definition_hash=tool.definition_hash,
        fingerprint=authorized.fingerprint,
        final_fingerprint=passed.runs.fingerprint,
        owner=parts.store.owner,
        now=now,
        idempotent=repeatable(tool),
        has_verify=tool.hooks.verify is not None,
        horizon=tool.horizon,
        deadline=now + permit.limit if asked.judged else None,
        approval_id=passed.approval.id if passed.approval is not None else None,
        sealed_id=sealed_id,
        only_reads=only_reads(tool),
    )


def _unknown_twin(tx: Transaction, passed: Passed, fact: Claim) -> Attempt | None:
    """An equal call under another key whose outcome nobody knows."""
    tool, call = passed.authorized.tool, passed.authorized.asked.call
    if tool.read_only or call.distinct:
        return None
    for fingerprint in {fact.fingerprint, fact.final_fingerprint}:
        found = tx.unresolved(fact.key.principal, fact.key.session, fingerprint)
        if found is not None and found.key != fact.key:
            return found
    return None


def _reserve(parts: Parts, tx: Transaction, permit: Permit) -> Reason | None:
    return parts.limits.reserve(tx, permit.tool, permit.asked.call, permit.asked.context)


def _answered(parts: Parts, tx: Transaction, passed: Passed) -> str | None:
    """Use up what answered the confirm, where there was one; why it answers nothing any more otherwise."""
    if passed.approval is not None:
        wrong = _let_out(parts, tx, passed.authorized.asked.context) or _spend(parts, tx, passed.approval)
        return None if wrong is None else f"the approval cannot be used: {wrong}"
    if passed.grant is not None and is_revoked(tx, passed.grant):
        return f"grant {passed.grant.id}, which let this call through, was revoked meanwhile"
    return None


def _let_out(parts: Parts, tx: Transaction, context: Context) -> str | None:
    """Why whoever it would run for is not let in any more: people take their time, and a credential may end in it."""
    now = parts.clock.now()
    if context.expires_at is not None and now >= context.expires_at:
        return "the credential that the call came in with has expired"
    if context.credential is None:
        return None
    shown = credential(tx, context.credential, keys=parts.keys)
    gone = shown is None or not shown.counts(now)
    return "the credential that the call came in with does not count any more" if gone else None


def _spend(parts: Parts, tx: Transaction, approval: Approval) -> str | None:
    """Use the approval up; what is wrong with it otherwise. One approval, one execution."""
    now = parts.clock.now()
    stored = tx.approval(approval.id)
    if stored is None:
        return "it was removed from the store"
    try:
        trusted(parts, tx, stored)
    except ApprovalConflict as error:
        return str(error)
    stopped = stopped_inside(tx, stored, parts.keys) if stored.state is ApprovalState.USED else None
    if stopped is not None:
        # It is the same execution, which goes on, and does so once.
        put_change(parts, tx, stored, GOES_ON, now=now, original_call=stopped.call_id)
        return None
    fresh = expire(stored, now)
    if fresh.state is not ApprovalState.APPROVED:
        return f"it is {fresh.state.value}"
    if (fresh.final_fingerprint, fresh.sealed_id) != (approval.final_fingerprint, approval.sealed_id):
        return "it was edited meanwhile"
    early = _comes_too_early(parts, tx, fresh)
    if early is not None:
        return early
    put_change(parts, tx, replace(fresh, state=ApprovalState.USED), USED, now=now)
    return None


def _comes_too_early(parts: Parts, tx: Transaction, approval: Approval) -> str | None:
    """Why this call of a plan cannot be made yet: the plan was approved in its order, and in no other."""
    if approval.part is None:
        return None
    try:
        plan = whole(parts, tx, UnderOneId((approval,))).shown
    except ApprovalConflict as error:
        return str(error)
    place, own = approval.part.place, plan.calls[approval.part.place]
    for number, call in enumerate(plan.calls[:place], start=1):
        row = tx.attempt(AttemptKey(approval.principal, approval.session, call.key))
        ended = row is not None and row.fingerprint == call.fingerprint and row.state is not AttemptState.STARTED
        if call.wave < own.wave and not ended:
            return f"it is for call {place + 1} of a plan, and call {number} ({call.tool}) has to be made before it"
    return None


async def _lost_the_race(parts: Parts, passed: Passed, permit: Permit, step: Move) -> None:
    """Somebody took the key since the recall: wait for them as the recall would have."""
    if step.answer is not Answer.RUNNING or permit.key is None:
        return
    await meet(parts, passed.authorized, permit.key)
    message = f"the twin of this call under key {permit.key} failed without effect; call again"
    raise refused(permit.asked, "in_flight", message, tool=permit.tool, key=permit.key)


def _not_claimed(passed: Passed, answer: Move | Attempt | Reason | str) -> Stopped:
    asked, tool = passed.authorized.asked, passed.authorized.tool
    if isinstance(answer, Move):
        assert answer.row is not None  # noqa: S101 - every answer but `claimed` is about a row
        return stopped_by(passed.authorized, answer.row, answer.answer)
    if isinstance(answer, Attempt):
        return same_as_unknown(passed.authorized, answer)
    if isinstance(answer, str):
        return refused(asked, "approval_void", answer, tool=tool)
    return refused(asked, "limit_exceeded", answer.text, tool=tool, reasons=(answer,))
