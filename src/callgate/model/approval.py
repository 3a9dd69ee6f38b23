"""Approval: a question to a person, bound to one exact call, usable once. Grant: a standing answer.

The calls of a plan that need a person have each an approval of their own, and are decided together: all or none.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from callgate.model.canonical import dumps
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Risk


class ApprovalState(enum.StrEnum):
    """Where a question stands. `used` is an approved one whose call was claimed.

    `void` is never recorded: it is how a question is shown that somebody without the key edited.
    """

    PENDING = "pending"
    APPROVED = "approved"
    USED = "used"
    REJECTED = "rejected"
    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    VOID = "void"


OPEN_STATES = frozenset({ApprovalState.PENDING, ApprovalState.APPROVED})
SAID_NO = frozenset({ApprovalState.REJECTED, ApprovalState.ANSWERED})
"""A person does not let it through, with or without an answer for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """One person's yes, with how certain it is who they are."""

    by: str
    assurance: Assurance
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One call of a plan that a person is asked about."""

    tool: str
    definition_hash: str
    fingerprint: str
    key: str
    """The idempotency key the call will run under."""
    own_key: bool
    """The key came with the call; others are made for the plan."""
    wave: int
    asks: bool
    """Whether it needs a person; the others are listed so that the person sees the whole."""
    what: str
    """The exact payload, as `Approval.what`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Which call of which plan an approval is for."""

    plan_id: str
    """What people decide: the plan, never one call of it."""
    place: int
    """Of the call in the plan's list, from 0."""
    digest: str
    """Keyed, over the whole list; every part of a plan has the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A single-use capability over one exact call; `mac` covers everything it binds.

    A plan is shown as one, too, with the plan's id and all its calls; that one is put together when somebody looks.
    """

    id: str
    state: ApprovalState
    principal: str
    session: str
    user: str | None
    tool: str
    definition_hash: str
    call_id: str
    trace_id: str
    key: str
    """The idempotency key the call will run under."""
    asked_fingerprint: str
    final_fingerprint: str
    """After a person's edit; equal to the asked one before."""
    sealed_id: str
    """Where the exact final arguments and the asker's context are sealed."""
    what: str
    """The exact payload for a person, hidden characters visible, secrets struck."""
    why: tuple[str, ...]
    """The reasons shown."""
    origins: dict[str, str]
    """Where each argument came from."""
    risk: Risk
    autonomy: str
    preview: dict[str, Any] | None
    preview_state: str | None
    resources: tuple[str, ...]
    working_directory: str
    account: str
    """The connector account it will act as."""
    by: ConfirmBy
    assurance: Assurance
    """The least a decision needs."""
    plus: bool
    on_expiry: str
    created_at: float
    expires_at: float
    mac: str
    votes: tuple[Vote, ...] = ()
    decided_by: str | None = None
    decided_at: float | None = None
    text: str | None = None
    """Why it was rejected or taken back by the gate, or the answer that was given."""
    edited: bool = False
    part: Part | None = None
    """The plan it belongs to; None for a question of its own."""
    calls: tuple[Listed, ...] = ()
    """Every call of the plan, in order: of a plan, and of the first of its parts."""
    revision: int = 0
    """Rises with every change of it, and its events say which they tell of: an older row or event is known by it."""

    @property
    def is_plan(self) -> bool:
        """Whether this is a plan, to be decided as a whole."""
        return bool(self.calls) and self.part is None

    @property
    def digest(self) -> str:
        """The name of this version of the question: of what would run, and what it was shown to do.

        An edit makes it another. A yes that names it is to what was seen, and to nothing that came after.
        """
        shown: list[Any] = [self.id, self.tool, self.definition_hash, self.final_fingerprint, self.what]
        shown += [self.preview_state, list(self.resources), self.working_directory, self.account]
        shown += [[call.tool, call.definition_hash, call.fingerprint, call.what] for call in self.calls]
        return sha256(b"question\0" + dumps(shown)).hexdigest()[:32]


class GrantScope(enum.StrEnum):
    """How long a grant lives."""

    TASK = "task"
    SESSION = "session"
    UNTIL = "until"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A standing answer to *confirm*: narrow, with an end, revocable."""

    id: str
    tool: str
    definition_hash: str
    principal: str
    pattern: dict[str, Any]
    """Arguments that must be equal; {} is any."""
    max_risk: Risk
    scope: GrantScope
    scope_id: str
    """The task or session it is for; empty for `until`."""
    until: float
    granted_by: str
    created_at: float
    revoked_at: float | None = None
    mac: str = ""
    """Over everything above; one without it answers nothing."""
