"""What the id of a question stands for, as time left it: one approval, or all approvals of a plan. Decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from callgate.approvals.bind import bind, intact
from callgate.approvals.decide import expire
from callgate.approvals.plans import as_one, decided, is_whole
from callgate.errors import ApprovalConflict, ApprovalNotFound
from callgate.model.approval import Approval, ApprovalState
from callgate.pipeline.notes import note

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction

EVENTS = {
    ApprovalState.PENDING: "approval.voted",
    ApprovalState.APPROVED: "approval.approved",
    ApprovalState.REJECTED: "approval.rejected",
    ApprovalState.ANSWERED: "approval.answered",
    ApprovalState.WITHDRAWN: "approval.withdrawn",
    ApprovalState.EXPIRED: "approval.expired",
}
"""What is recorded when a question came to stand so."""


class Question(NamedTuple):
    """What is asked under one id."""

    rows: tuple[Approval, ...]
    plan: bool = False

    @property
    def shown(self) -> Approval:
        """As people see it."""
        return as_one(self.rows) if self.plan else self.rows[0]

    def answered(self, answer: Approval) -> Question:
        """With the answer that was given to what is shown."""
        return Question(tuple(decided(self.rows, answer)), plan=True) if self.plan else Question((answer,))


def find(parts: Parts, reader: Reader, approval_id: str) -> Question:
    """The question with that id.

    Raises:
        ApprovalNotFound: There is none.
        ApprovalConflict: It was changed by somebody without the key.
    """
    found = reader.approval(approval_id)
    if found is not None:
        return Question((_trusted(parts, found),))
    rows = reader.approvals_of_plan(approval_id)
    if not rows:
        raise ApprovalNotFound(f"Unknown approval: {approval_id}")
    for row in rows:
        _trusted(parts, row)
    if not is_whole(rows, parts.keys.fingerprint):
        message = f"the plan {approval_id} was changed in the store by somebody without the key; it is void"
        raise ApprovalConflict(message)
    return Question(tuple(rows), plan=True)


def whole(parts: Parts, reader: Reader, question: Question) -> Question:
    """All that is decided together with this question: itself, or the plan it is a part of.

    Raises:
        ApprovalConflict: As `find`.
    """
    part = question.rows[0].part
    return question if question.plan or part is None else find(parts, reader, part.plan_id)


def aged(question: Question, now: float) -> Question:
    """The question as the passing of time leaves it; the same one if it leaves it as it is."""
    rows = tuple(expire(row, now) for row in question.rows)
    same = all(after is before for after, before in zip(rows, question.rows, strict=True))
    return question if same else question._replace(rows=rows)


def write_age(parts: Parts, tx: Transaction, question: Question, now: float) -> Question:
    """The same, made durable: an expiry that is seen once stays, and that of a plan is that of all its calls."""
    old = aged(question, now)
    for before, after in zip(question.rows, old.rows, strict=True):
        if after.state is not before.state:
            tx.put_approval(bind(after, parts.keys))
            tx.append(note(after, EVENTS[after.state], now=now))
    return old


def _trusted(parts: Parts, approval: Approval) -> Approval:
    if not intact(approval, parts.keys):
        raise ApprovalConflict(
            f"approval {approval.id} was changed in the store by somebody without the key; it is void"
        )
    return approval
