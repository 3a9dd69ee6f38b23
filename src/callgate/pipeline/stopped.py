"""Stopped: how a step ends a call before it runs, with the outcome and what is to be recorded of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.model.levels import Category, Severity
from callgate.model.outcome import ErrorInfo, Outcome, Refused

if TYPE_CHECKING:
    from callgate.model.decision import Decision, Reason
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Asked


class Stopped(Exception):
    """The call ended in this step. Never leaves the pipeline."""

    def __init__(
        self,
        outcome: Outcome,
        *,
        event: str = "tool_call.refused",
        payload: dict[str, Any] | None = None,
        recorded: bool = False,
        severity: Severity = Severity.INFO,
    ) -> None:
        self.outcome = outcome
        self.event = event
        self.payload = payload or {}
        self.recorded = recorded
        """The step wrote its own event, in the transaction that made it true."""
        self.severity = severity
        super().__init__(outcome.status)


CATEGORIES: dict[str, Category] = {
    "tool_not_found": Category.CONFIGURATION,
    "tool_quarantined": Category.PERMISSION,
    "tool_unavailable": Category.RESOURCE,
    "invalid_arguments": Category.USER_INPUT,
    "scope_violation": Category.PERMISSION,
    "policy_denied": Category.PERMISSION,
    "gate_denied": Category.PERMISSION,
    "idempotency_conflict": Category.USER_INPUT,
    "in_flight": Category.RESOURCE,
    "outcome_unknown": Category.RUNTIME,
    "limit_exceeded": Category.RESOURCE,
    "approval_void": Category.PERMISSION,
    "approval_rejected": Category.PERMISSION,
    "approval_answered": Category.PERMISSION,
    "approval_expired": Category.PERMISSION,
    "assurance_too_low": Category.PERMISSION,
    "store_unavailable": Category.RESOURCE,
}
"""Which kind of trouble each refusal is, for models that branch on it."""

_RETRYABLE = frozenset({"in_flight", "store_unavailable", "tool_unavailable", "limit_exceeded"})

_SUGGESTIONS: dict[str, str] = {
    "tool_not_found": "List the tools and use one of their names exactly.",
    "invalid_arguments": "Correct the arguments by the tool's schema and call again.",
    "scope_violation": "Use a tool within the granted scopes, or ask the operator for the scope.",
    "policy_denied": "Do not retry; choose another way or ask the operator.",
    "gate_denied": "Do not retry at this autonomy; ask the user.",
    "idempotency_conflict": "Use a new key for a new call.",
    "in_flight": "Wait and ask again with the same key.",
    "outcome_unknown": "Do not repeat it; find out whether it happened, or ask a person to resolve it.",
    "limit_exceeded": "Wait until the limit's window has passed.",
    "approval_void": "Call again to ask anew with what is true now.",
    "approval_rejected": "Do not repeat the call; respect the reason.",
    "approval_answered": "Read the answer and go on from it.",
    "approval_expired": "Call again if it is still wanted.",
    "store_unavailable": "Nothing happened; try again later.",
    "tool_unavailable": "Try again later or use another tool.",
    "tool_quarantined": "The operator has to review its change first: callgate tools diff, callgate tools review.",
}
_CHECKED = "Call again if the reason says how; otherwise choose another way."
_BROKEN = "Use another tool; the operator has to repair this one."


def refused(  # noqa: PLR0913 - a refusal says everything it knows
    asked: Asked,
    code: str,
    message: str,
    *,
    tool: Tool | None = None,
    reasons: tuple[Reason, ...] = (),
    decision: Decision | None = None,
    faults: tuple[str, ...] = (),
    event: str = "tool_call.refused",
    details: dict[str, Any] | None = None,
    key: str | None = None,
) -> Stopped:
    """A refusal, ready to raise."""
    # A tool whose code is missing stays so until somebody puts it there: no time heals it.
    broken = code == "tool_unavailable" and tool is not None and tool.unavailable is not None
    info = ErrorInfo(
        code=code,
        message=message,
        category=Category.CONFIGURATION if broken else CATEGORIES.get(code, Category.RUNTIME),
        tool=asked.call.tool,
        retryable=code in _RETRYABLE and not broken,
        suggestion=_BROKEN if broken else _advice(code, reasons),
        faults=faults,
        details=details or {},
    )
    outcome = Refused(
        tool=asked.call.tool,
        call_id=asked.call_id,
        trace_id=asked.context.trace_id,
        key=key or asked.key,
        error=info,
        decision=decision,
        side_effects=declared_effects(tool),
    )
    payload: dict[str, Any] = {"code": code, "message": message}
    if faults:
        payload["faults"] = list(faults)
    found = decision.reasons if decision is not None else reasons
    if found:
        payload["reasons"] = [reason.to_json() for reason in found]
    return Stopped(outcome, event=event, payload=payload)


def _advice(code: str, reasons: tuple[Reason, ...]) -> str | None:
    """What to do next; a tool's own check says by itself what it lacks."""
    checked = code == "policy_denied" and any(reason.step == "check" for reason in reasons)
    return _CHECKED if checked else _SUGGESTIONS.get(code)


def declared_effects(tool: Tool | None) -> tuple[str, ...]:
    """The declared effects of a tool that may not be known."""
    return () if tool is None else tool.side_effects
