"""What the id of a question stands for, as time left it: one approval, or all approvals of a plan. Decides nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from callgate.approvals.bind import intact
from callgate.approvals.decide import expire
from callgate.approvals.plans import as_one, decided, is_whole
from callgate.errors import ApprovalConflict, ApprovalNotFound
from callgate.events.approval_agreement import STATES, contradiction
from callgate.events.vocabulary import APPROVAL_EVENTS
from callgate.model.approval import OPEN_STATES, Approval
from callgate.pipeline.approval_events import put_change

if TYPE_CHECKING:
    from callgate.pipeline.parts import Parts
    from callgate.ports import Reader, Transaction

_TOLD = tuple(STATES)


class UnderOneId(NamedTuple):
    """What is asked under one id."""

    rows: tuple[Approval, ...]
    plan: bool = False

    @property
    def shown(self) -> Approval:
        """As people see it."""
        return as_one(self.rows) if self.plan else self.rows[0]

    def answered(self, answer: Approval) -> UnderOneId:
        """With the answer that was given to what is shown."""
        return UnderOneId(tuple(decided(self.rows, answer)), plan=True) if self.plan else UnderOneId((answer,))


def find(parts: Parts, reader: Reader, approval_id: str) -> UnderOneId:
    """The question with that id.

    Raises:
        ApprovalNotFound: There is none.
        ApprovalConflict: It was changed by somebody without the key, or put back as it was before.
    """
    found = reader.approval(approval_id)
    if found is not None:
        return UnderOneId((trusted(parts, reader, found),))
    rows = reader.approvals_of_plan(approval_id)
    if not rows:
        raise ApprovalNotFound(f"Unknown approval: {approval_id}")
    for row in rows:
        trusted(parts, reader, row)
    if not is_whole(rows, parts.keys.fingerprint):
        message = f"the plan {approval_id} was changed in the store by somebody without the key; it is void"
        raise ApprovalConflict(message)
    return UnderOneId(tuple(rows), plan=True)


def whole(parts: Parts, reader: Reader, question: UnderOneId) -> UnderOneId:
    """All that is decided together with this question: itself, or the plan it is a part of.

    Raises:
        ApprovalConflict: As `find`.
    """
    part = question.rows[0].part
    return question if question.plan or part is None else find(parts, reader, part.plan_id)


def aged(question: UnderOneId, now: float) -> UnderOneId:
    """The question as the passing of time leaves it; the same one if it leaves it as it is."""
    rows = tuple(expire(row, now) for row in question.rows)
    same = all(after is before for after, before in zip(rows, question.rows, strict=True))
    return question if same else question._replace(rows=rows)


def write_age(parts: Parts, tx: Transaction, question: UnderOneId, now: float) -> UnderOneId:
    """The same, made durable: an expiry that is seen once stays, and that of a plan is that of all its calls."""
    old = aged(question, now)
    written = (
        after if after.state is before.state else put_change(parts, tx, after, APPROVAL_EVENTS[after.state], now=now)
        for before, after in zip(question.rows, old.rows, strict=True)
    )
    return old._replace(rows=tuple(written))


def trusted(parts: Parts, reader: Reader, approval: Approval) -> Approval:
    """The approval, if it is as somebody with the key left it last.

    Raises:
        ApprovalConflict: It was changed, or an older row of it was put back.
    """
    if not intact(approval, parts.keys):
        raise ApprovalConflict(
            f"approval {approval.id} was changed in the store by somebody without the key; it is void"
        )
    # Nothing comes of one that is closed, so that its events may be erased.
    if approval.state in OPEN_STATES:
        otherwise = contradiction(approval, reader.events(types=_TOLD, call=approval.call_id))
        if otherwise is not None:
            raise ApprovalConflict(f"{otherwise}; it is void")
    return approval
