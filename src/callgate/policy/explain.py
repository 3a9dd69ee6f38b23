"""Explain: every reason for a decision, layer by layer, also those that come after the first refusal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from callgate.model.decision import Decision, Reason
from callgate.model.levels import Verdict
from callgate.policy.answers import Authorization, Standing


def refused(decision: Decision, *, refusal: Reason, reasons: Iterable[Reason]) -> Decision:
    """What the gate would have said, overruled by a refusal that came before it."""
    told = (*reasons, *decision.reasons)
    return replace(decision, verdict=Verdict.DENY, code=refusal.code, reasons=told, observed=None)


def explained(
    decision: Decision, *, trace: Iterable[Reason], standing: Standing, authorization: Authorization
) -> Decision:
    """The decision with the whole way to it: admission, what the call touches, and the gate."""
    touched = (Reason("resources", f"it will touch {resource}") for resource in authorization.resources)
    reasons = (*trace, *authorization.reasons, *touched)
    refusal = standing.refusal or authorization.refusal
    if refusal is None:
        return replace(decision, reasons=(*reasons, *decision.reasons))
    return refused(decision, refusal=refusal, reasons=reasons)
