"""Explaining: steps 1 to 5 without side effects. No preview, no limit, no record; every reason, layer by layer."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from callgate.model.decision import Decision, Reason
from callgate.model.levels import Autonomy, Risk, Verdict
from callgate.pipeline.authorize import Authorized, authorize, what_is_touched
from callgate.pipeline.gate import answered_by, standing_grant
from callgate.pipeline.recall import recall
from callgate.pipeline.resolve import resolve
from callgate.pipeline.stopped import Stopped
from callgate.pipeline.validate import validate
from callgate.pipeline.weigh import decide, decided_before, gather_facts, known_facts

if TYPE_CHECKING:
    from callgate.model.context import Context
    from callgate.pipeline.parts import Asked, Parts
    from callgate.pipeline.validate import Valid
    from callgate.policy.answers import Facts


class Looked(NamedTuple):
    """What was found out about a call by looking."""

    told: Decision
    """What would be decided, with every reason."""
    authorized: Authorized | None = None
    """The call as far as it would come; None for one that would be refused."""
    decision: Decision | None = None
    """What the gate itself would decide about it; None for one that the ledger would answer."""


async def explain(parts: Parts, asked: Asked) -> Decision:
    """What would be decided about this call, and every reason for it: the same steps, only looking."""
    return (await look(parts, asked)).told


async def look(parts: Parts, asked: Asked, *, repeats: Container[str] = ()) -> Looked:
    """As `explain`, with the call itself.

    Args:
        parts: What the steps work with.
        asked: The call.
        repeats: Fingerprints of calls that would have been made before it.
    """
    try:
        valid = validate(parts, resolve(parts, asked))
    except Stopped as stop:
        return Looked(_struck(parts, _without_policy(parts, asked, stop)))
    authorized: Authorized | None = None
    try:
        authorized = await authorize(parts, valid)
        await recall(parts, authorized, looking=True)
        if authorized.fingerprint in repeats:
            authorized.repeated = True
        decision = await would_decide(parts, authorized)
        facts = await gather_facts(parts, authorized)
        told = await _told(parts, valid, facts)
    except Stopped as stop:
        answered = stop.outcome.error is None
        return Looked(_struck(parts, await _stopped(parts, valid, stop)), authorized if answered else None)
    news = tuple(reason for reason in decision.reasons if reason not in told.reasons)
    return Looked(_struck(parts, replace(decision, reasons=(*told.reasons, *news))), authorized, decision)


async def would_decide(parts: Parts, authorized: Authorized) -> Decision:
    """What the gate would decide about this call: a confirm that a grant answers is none."""
    decision = decided_before(parts, authorized) or await decide(parts, authorized)
    if decision.verdict is not Verdict.CONFIRM:
        return decision
    grant = await standing_grant(parts, authorized, decision)
    return decision if grant is None else answered_by(grant, decision)


def _struck(parts: Parts, decision: Decision) -> Decision:
    """Reasons repeat what the caller wrote, and that may be a secret which was handed out."""
    reasons = tuple(replace(reason, text=parts.striker.strike_text(reason.text)) for reason in decision.reasons)
    return replace(decision, reasons=reasons)


async def _told(parts: Parts, valid: Valid, facts: Facts) -> Decision:
    """Everything the policy has to say."""
    context = valid.asked.context
    touched = await what_is_touched(parts, valid, parts.policy.standing(valid.tool, context))
    return parts.policy.explain(valid.tool, valid.arguments, context, facts, touched)


async def _stopped(parts: Parts, valid: Valid, stop: Stopped) -> Decision:
    """A step says no, or the ledger answers: that is the verdict, beside everything the policy has to say."""
    told = await _told(parts, valid, known_facts(parts, valid))
    error = stop.outcome.error
    if error is None:
        reason = Reason("recall", "the ledger has the outcome of this key, and would answer with it", Verdict.ALLOW)
        return replace(told, verdict=Verdict.ALLOW, code="", reasons=(*told.reasons, reason))
    return stopped_by(told, error.message, code=error.code)


def stopped_by(told: Decision, why: str, *, code: str) -> Decision:
    """A step says no, whatever was decided."""
    reason = Reason("stopped", why, Verdict.DENY, code)
    known = any(each.text == reason.text for each in told.reasons)
    reasons = told.reasons if known else (*told.reasons, reason)
    return replace(told, verdict=Verdict.DENY, code=code, reasons=reasons)


def autonomy_of(parts: Parts, context: Context) -> Autonomy:
    """The level a call is judged at, where nothing narrows it; A0 is one."""
    levels = (context.autonomy, parts.settings.autonomy, Autonomy.A2)
    return next(level for level in levels if level is not None)


def unreadable(parts: Parts, context: Context, fault: str) -> Decision:
    """What is decided about something that is no call."""
    reason = Reason("validate", parts.striker.strike_text(fault), Verdict.DENY, "invalid_arguments")
    autonomy = autonomy_of(parts, context)
    return Decision(
        verdict=Verdict.DENY, risk=Risk.CRITICAL, autonomy=autonomy, reasons=(reason,), code="invalid_arguments"
    )


def _without_policy(parts: Parts, asked: Asked, stop: Stopped) -> Decision:
    error = stop.outcome.error
    assert error is not None  # noqa: S101 - a refusal always says why
    step = "validate" if error.code == "invalid_arguments" else "resolve"
    texts = error.faults or (error.message,)
    return Decision(
        verdict=Verdict.DENY,
        risk=Risk.CRITICAL,
        autonomy=autonomy_of(parts, asked.context),
        reasons=tuple(Reason(step, text, Verdict.DENY, error.code) for text in texts),
        code=error.code,
    )
