"""Admitting: whether an approval still speaks for exactly this call. Stricter wins; what changed asks again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from callgate.approvals.decide import let_through_by_silence
from callgate.model.approval import Approval, ApprovalState
from callgate.model.levels import Verdict
from callgate.pipeline.approval_events import take_back
from callgate.pipeline.authorize import Authorized, authorize
from callgate.pipeline.preview import preview, state_digest
from callgate.pipeline.resolve import resolve_again
from callgate.pipeline.seal import unseal
from callgate.pipeline.stopped import Stopped, refused, void
from callgate.pipeline.validate import validate
from callgate.pipeline.weigh import decide

if TYPE_CHECKING:
    from callgate.model.decision import Decision
    from callgate.pipeline.parts import Asked, Parts
    from callgate.ports import Transaction


class Admitted(NamedTuple):
    """A call that a person let through, as it was judged last."""

    authorized: Authorized
    decision: Decision
    approval: Approval
    final: Authorized | None
    """The call as the person edited it; None when it runs as it was asked."""


async def admit(parts: Parts, authorized: Authorized, decision: Decision, approval: Approval) -> Admitted | None:
    """The approval and the call it admits; None when a new question has to be asked.

    Raises:
        Stopped: approval_void, or a refusal that policy gives by now.
    """
    final = await _edited(parts, authorized, approval) if approval.edited else None
    runs = final or authorized
    weighed = decision
    if final is not None:
        weighed = await _allowed(parts, final, "as edited is no longer allowed")
    changed = _what_changed(parts, runs, approval)
    if changed is not None:
        await _withdraw(parts, approval, changed)
        raise _unusable(authorized, approval, f"is withdrawn: {changed}")
    if _asks_for_more(weighed, approval):
        await _withdraw(parts, approval, "the rules ask for more than was approved")
        return None
    if let_through_by_silence(approval) and _silence_is_no_answer(weighed):
        await _withdraw(parts, approval, "nobody objected, and by now the rules want an answer")
        return None
    if await _world_changed(parts, runs, approval):
        await _withdraw(parts, approval, "what the preview showed is no longer so")
        changed = "what its preview showed has changed since; call again to see it anew"
        raise _unusable(authorized, approval, f"is withdrawn: {changed}")
    return Admitted(authorized, decision, approval, final)


async def decide_again(
    parts: Parts, authorized: Authorized, decision: Decision, approval: Approval
) -> tuple[Authorized, Decision]:
    """The call through steps 1 to 3 and 5 once more: while somebody was waited for, everything may have become another.

    The tool may be gone, changed or held, a path may lead elsewhere, and the hour and the session are not what they
    were.

    Raises:
        Stopped: It is no longer allowed at all.
    """
    if approval.state is not ApprovalState.APPROVED:
        return authorized, decision
    now = await _authorized_again(parts, authorized.asked)
    return now, await _allowed(parts, now, "is no longer allowed")


async def _authorized_again(parts: Parts, asked: Asked) -> Authorized:
    return await authorize(parts, validate(parts, resolve_again(parts, asked)))


async def _allowed(parts: Parts, runs: Authorized, otherwise: str) -> Decision:
    decision = await decide(parts, runs)
    if decision.verdict in {Verdict.DENY, Verdict.PREVIEW}:
        message = f"{runs.tool.name} {otherwise}"
        code = decision.code or "gate_denied"
        raise refused(runs.asked, code, message, tool=runs.tool, decision=decision, event="gate.denied")
    return decision


async def _edited(parts: Parts, authorized: Authorized, approval: Approval) -> Authorized:
    sealed = await unseal(parts, approval.sealed_id)
    if sealed is None:
        raise _unusable(authorized, approval, "cannot be used: its sealed arguments are gone")
    call = authorized.asked.call._replace(arguments=sealed.arguments)
    return await _authorized_again(parts, replace(authorized.asked, call=call))


def _unusable(authorized: Authorized, approval: Approval, why: str) -> Stopped:
    return void(authorized.asked, authorized.tool, approval, f"approval {approval.id} {why}")


def _what_changed(parts: Parts, runs: Authorized, approval: Approval) -> str | None:
    context = runs.asked.context
    if runs.tool.definition_hash != approval.definition_hash:
        return "the tool is no longer the one it was given for"
    if runs.fingerprint != approval.final_fingerprint:
        return "its arguments, or the files and hosts they stand for, are not those that were approved"
    if parts.directory_of(context) != approval.working_directory:
        return "the working directory is another one"
    return None


def _asks_for_more(decision: Decision, approval: Approval) -> bool:
    stricter = decision.by.strictness > approval.by.strictness or (decision.plus and not approval.plus)
    # One that was not shown asks again.
    new_reasons = not set(decision.asks) <= set(approval.why)
    return decision.risk > approval.risk or decision.assurance > approval.assurance or stricter or new_reasons


def _silence_is_no_answer(decision: Decision) -> bool:
    """What silence does is up to the rules as they are now; those of then were asked when the window ended."""
    return decision.verdict is Verdict.CONFIRM and decision.on_expiry != "proceed"


async def _world_changed(parts: Parts, runs: Authorized, approval: Approval) -> bool:
    if approval.preview_state is None:
        return False
    shown = await preview(parts, runs)
    return shown.preview is None or state_digest(parts, shown.preview) != approval.preview_state


async def _withdraw(parts: Parts, approval: Approval, why: str) -> None:
    def unit(tx: Transaction) -> None:
        fresh = tx.approval(approval.id)
        if fresh is not None and fresh.state in {ApprovalState.APPROVED, ApprovalState.PENDING}:
            take_back(parts, tx, fresh, why)

    await parts.store.write(unit)
