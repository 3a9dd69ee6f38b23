"""Stopped: how a step ends a call before it runs, with the outcome and what is to be recorded of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.events.vocabulary import REFUSED
from callgate.model.approval import Approval, ApprovalState
from callgate.model.levels import Category, Severity
from callgate.model.outcome import ErrorInfo, Outcome, Refused

if TYPE_CHECKING:
    from callgate.errors import Refusal
    from callgate.model.decision import Decision, Reason
    from callgate.model.tool import Tool
    from callgate.pipeline.parts import Asked


class Stopped(Exception):
    """The call ended in this step. Never leaves the pipeline."""

    def __init__(
        self,
        outcome: Outcome,
        *,
        event: str = REFUSED,
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
_FORESEEN = "Do what the message says first, or correct the arguments, and call again."
_UNREPAIRED: dict[str, Any] = {
    "category": Category.CONFIGURATION,
    "retryable": False,
    "suggestion": "Use another tool; the operator has to repair this one.",
}


def refusal(code: str, message: str, *, tool: str, **known: Any) -> ErrorInfo:
    """What is said of a refusal wherever it is told; `known` is what is known better than by its code."""
    by_code: dict[str, Any] = {
        "category": CATEGORIES.get(code, Category.RUNTIME),
        "retryable": code in _RETRYABLE,
        "suggestion": _SUGGESTIONS.get(code),
    }
    return ErrorInfo(code=code, message=message, tool=tool, **(by_code | known))


def refused(  # noqa: PLR0913 - a refusal says everything it knows
    asked: Asked,
    code: str,
    message: str,
    *,
    tool: Tool | None = None,
    reasons: tuple[Reason, ...] = (),
    decision: Decision | None = None,
    faults: tuple[str, ...] = (),
    event: str = REFUSED,
    details: dict[str, Any] | None = None,
    key: str | None = None,
    advice: str | None = None,
) -> Stopped:
    """A refusal, ready to raise; `advice` is what to do next, where that is known better than by its code."""
    # A tool whose code is missing stays so until somebody puts it there: no time heals it.
    broken = code == "tool_unavailable" and tool is not None and tool.unavailable is not None
    known = _UNREPAIRED if broken else {"suggestion": advice or _advice(code, reasons)}
    info = refusal(code, message, tool=asked.call.tool, faults=faults, details=details or {}, **known)
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


def cannot_work(asked: Asked, tool: Tool, why: Refusal) -> Stopped:
    """The refusal of a call that its own tool knows to fail; what would help is said by the tool."""
    return refused(asked, why.code, str(why), tool=tool, advice=_FORESEEN)


def void(asked: Asked, tool: Tool | None, approval: Approval, why: str) -> Stopped:
    """The refusal of a call whose approval admits it no more."""
    return refused(asked, "approval_void", why, tool=tool, key=approval.key or asked.key)


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
    return void(asked, tool, approval, f"the approval is {approval.state.value}; call again to ask anew")


def _advice(code: str, reasons: tuple[Reason, ...]) -> str | None:
    """What to do next; a tool's own check says by itself what it lacks."""
    checked = code == "policy_denied" and any(reason.step == "check" for reason in reasons)
    return _CHECKED if checked else _SUGGESTIONS.get(code)


def declared_effects(tool: Tool | None) -> tuple[str, ...]:
    """The declared effects of a tool that may not be known."""
    return () if tool is None else tool.side_effects
