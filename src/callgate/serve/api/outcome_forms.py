"""How calls, judgements and decisions look in answers: the models that the API's description names."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

from callgate.model.decision import Decision
from callgate.model.outcome import Outcome
from callgate.runtime.calls import Judgement
from callgate.runtime.errand_book import Errand
from callgate.runtime.outcome_form import outcome_to_json

Status = Literal["succeeded", "failed", "unknown", "refused", "pending", "previewed"]


class ErrorBody(BaseModel):
    """What went wrong, for a model and for a person."""

    code: str
    message: str
    category: str
    tool: str
    retryable: bool
    suggestion: str | None
    faults: list[str]
    details: dict[str, Any]


class OutcomeBody(BaseModel):
    """How a call ended. Which of the last fields are there depends on the status."""

    status: Status
    tool: str
    call_id: str
    trace_id: str
    key: str | None
    duration_ms: float
    deduped: bool
    side_effects: list[str]
    metadata: dict[str, Any]
    """Of a call that waits, `why`. Of one that was only observed also `observed`: what would have been decided."""
    error: ErrorBody | None = None
    value: Any = None
    happened: Literal["none", "possible", "done"] | None = None
    approval_id: str | None = None
    expires_at: float | None = None
    supported: bool | None = None
    preview: str | None = None


class ReasonBody(BaseModel):
    """One thing that led to a decision."""

    step: str
    text: str
    verdict: str | None = None
    code: str | None = None


class DecisionBody(BaseModel):
    """What the gate answers to a call, and why."""

    tool: str
    verdict: Literal["allow", "confirm", "preview", "deny"]
    risk: str
    autonomy: str
    reasons: list[ReasonBody]
    code: str | None = None
    by: str | None = None
    assurance: str | None = None
    plus: bool | None = None
    observed: str | None = None


class JudgementBody(BaseModel):
    """Whether a host may run its own tool; `id` is what its report names."""

    id: str
    allowed: bool
    key: str | None
    deadline: float | None
    """Seconds since the epoch; silence until then becomes an unknown outcome."""
    edited: dict[str, Any] | None
    """What to run it with instead, where a person changed the arguments."""
    decision: DecisionBody | None
    outcome: OutcomeBody | None
    """What to tell the model where it is not allowed."""


class BatchAnswerBody(BaseModel):
    """One call of a batch, and how it ended."""

    id: str
    outcome: OutcomeBody


class BatchBody(BaseModel):
    """The calls of a batch in their order."""

    outcomes: list[BatchAnswerBody]


class CallBody(BaseModel):
    """A call as it stands."""

    id: str
    tool: str
    status: str
    """running, started, pending, resumed, succeeded, failed, unknown, refused, previewed or deduped."""
    done: bool
    """Whether it has ended; one that waits for a person has not."""
    session: str | None
    trace_id: str | None
    key: str | None
    approval_id: str | None
    outcome: OutcomeBody | None
    """How it ended, as long as that is kept: of calls with a key always, of others that were begun the newest thousand
    while the server runs, and no more than 64 MiB of them."""


class CallEntryBody(BaseModel):
    """A call in the record: who called what, and how it stands."""

    call: str
    trace: str
    status: str
    asked_at: float
    tool: str | None = None
    principal: str | None = None
    session: str | None = None
    user: str | None = None
    role: str | None = None
    key: str | None = None
    approval_id: str | None = None
    question: str | None = None
    decided_by: str | None = None
    error_code: str | None = None
    duration_ms: float | None = None


class CallStoryBody(BaseModel):
    """A call in the record, and what it was called with and gave, as the record has it."""

    call: dict[str, Any]
    invocation: dict[str, Any] | None


def decision_body(tool: str, decision: Decision) -> dict[str, Any]:
    """A decision, as it is sent."""
    return {"tool": tool} | decision.to_json()


def judgement_body(tool: str, found: Judgement) -> dict[str, Any]:
    """A judgement, as it is sent."""
    return {
        "id": found.id,
        "allowed": found.allowed,
        "key": found.key,
        "deadline": found.deadline,
        "edited": found.edited,
        "decision": None if found.decision is None else decision_body(tool, found.decision),
        "outcome": None if found.outcome is None else outcome_to_json(found.outcome),
    }


def errand_body(errand: Errand) -> dict[str, Any]:
    """A call that was begun, as it is sent."""
    outcome, context = errand.outcome, errand.context
    status = "running" if outcome is None else outcome.status
    return {
        "id": errand.id,
        "tool": errand.tool,
        "status": status,
        "done": status not in {"running", "pending"},
        "session": context.session,
        "trace_id": context.trace_id,
        "key": context.idempotency_key if outcome is None else outcome.key,
        "approval_id": getattr(outcome, "approval_id", None),
        "outcome": None if outcome is None else outcome_to_json(outcome),
    }


_GOES_ON = frozenset({"started", "pending"})


def entry_body(entry: dict[str, Any], outcome: Outcome | None) -> dict[str, Any]:
    """A call of the record, as it is sent to the agent that made it."""
    status = str(entry.get("status"))
    ended = None if outcome is None or status in _GOES_ON else outcome_to_json(outcome)
    if ended is not None and entry.get("observed") is not None:
        ended["metadata"] |= {"observed": entry["observed"]}
    return {
        "id": entry["call"],
        "tool": str(entry.get("tool") or ""),
        "status": status,
        "done": status not in _GOES_ON,
        "session": entry.get("session"),
        "trace_id": entry.get("trace"),
        "key": entry.get("key"),
        "approval_id": entry.get("approval_id"),
        "outcome": ended,
    }
