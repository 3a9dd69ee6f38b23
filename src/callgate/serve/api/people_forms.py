"""How questions, grants and rows of the ledger look in answers. Never the sealed arguments, nor what seals them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

from callgate.model.approval import Approval, Grant
from callgate.model.attempt import Attempt
from callgate.model.canonical import NotCanonical, loads
from callgate.model.shapes import as_mapping

_PRIVATE = frozenset({"mac", "revision", "sealed_id", "asked_fingerprint", "final_fingerprint"})
_ASKED = ("id", "tool", "session", "call_id", "trace_id", "key", "created_at", "expires_at", "text", "edited")


class QuestionBody(BaseModel):
    """A question as the agent sees it that asked."""

    id: str
    state: str
    tool: str
    session: str
    call_id: str
    trace_id: str
    key: str
    why: list[str]
    created_at: float
    expires_at: float
    text: str | None
    """Why it was rejected, or the answer that was given."""
    edited: bool


class VoteBody(BaseModel):
    """One person's yes."""

    by: str
    assurance: str
    at: float


class ListedBody(BaseModel):
    """One call of a plan."""

    tool: str
    key: str
    wave: int
    asks: bool
    what: str


class PartBody(BaseModel):
    """Which call of which plan a question is about."""

    plan_id: str
    place: int


class ApprovalBody(QuestionBody):
    """A question as people see it: what exactly would run, why they are asked, and how it stands."""

    principal: str
    user: str | None
    definition_hash: str
    digest: str
    """Names the question as it is here; a decision that gives it is about nothing else."""
    what: str
    """The exact payload; hidden characters are written out."""
    origins: dict[str, str]
    risk: str
    autonomy: str
    preview: dict[str, Any] | None
    preview_state: str | None
    resources: list[str]
    working_directory: str
    account: str
    by: str
    assurance: str
    """The least that a decision needs."""
    plus: bool
    on_expiry: str
    votes: list[VoteBody]
    decided_by: str | None
    decided_at: float | None
    part: PartBody | None
    calls: list[ListedBody]


class GrantBody(BaseModel):
    """A standing answer."""

    id: str
    tool: str
    definition_hash: str
    principal: str
    pattern: dict[str, Any]
    max_risk: str
    scope: str
    scope_id: str
    until: float
    granted_by: str
    created_at: float
    revoked_at: float | None


class AttemptBody(BaseModel):
    """A row of the ledger: one key, and what is known of its effect."""

    principal: str
    session: str
    key: str
    call_id: str
    trace_id: str
    tool: str
    state: str
    happened: str | None
    cause: str | None
    open_question: bool
    """Whether nobody knows if it took effect."""
    has_verify: bool
    tries: int
    started_at: float
    ended_at: float | None
    deadline: float | None
    approval_id: str | None
    resolved_by: str | None
    outcome: dict[str, Any] | None
    """What was recorded of its end."""


class VerifiedBody(BaseModel):
    """What a tool says of its own effect: happened, absent or cannot_tell."""

    call_id: str
    tool: str
    answer: str


def question_body(approval: Approval) -> dict[str, Any]:
    """A question, as it is sent to the agent that asked."""
    body: dict[str, Any] = {name: getattr(approval, name) for name in _ASKED}
    return body | {"state": approval.state.value, "why": list(approval.why)}


def approval_body(approval: Approval) -> dict[str, Any]:
    """A question, as it is sent to people."""
    body = {name: value for name, value in asdict(approval).items() if name not in _PRIVATE}
    part = approval.part
    return body | {
        "digest": approval.digest,
        "state": approval.state.value,
        "by": approval.by.value,
        "risk": approval.risk.label,
        "assurance": approval.assurance.label,
        "why": list(approval.why),
        "resources": list(approval.resources),
        "votes": [{"by": vote.by, "assurance": vote.assurance.label, "at": vote.at} for vote in approval.votes],
        "part": None if part is None else {"plan_id": part.plan_id, "place": part.place},
        "calls": [{name: getattr(call, name) for name in ListedBody.model_fields} for call in approval.calls],
    }


def grant_body(grant: Grant) -> dict[str, Any]:
    """A grant, as it is sent."""
    body: dict[str, Any] = {name: getattr(grant, name) for name in GrantBody.model_fields}
    return body | {"max_risk": grant.max_risk.label, "scope": grant.scope.value}


def attempt_body(row: Attempt) -> dict[str, Any]:
    """A row of the ledger, as it is sent."""
    kept = set(AttemptBody.model_fields) - {"principal", "session", "key"}
    body: dict[str, Any] = row.key._asdict() | {name: getattr(row, name) for name in kept}
    happened = None if row.happened is None else row.happened.value
    return body | {"state": row.state.value, "happened": happened, "outcome": _recorded(row)}


def _recorded(row: Attempt) -> dict[str, Any] | None:
    """What the row keeps of its outcome; a row that somebody edited may hold anything."""
    if row.outcome is None:
        return None
    try:
        body = as_mapping(loads(row.outcome))
    except NotCanonical:
        body = None
    return {"error": {"message": "cannot be read; verify the audit"}} if body is None else dict(body)
