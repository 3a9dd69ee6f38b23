"""Whether the approvals say what the events say. Reads both, believes neither."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from callgate.events import vocabulary as own
from callgate.events.ledger_agreement import text_of
from callgate.events.report import Findings
from callgate.model.approval import ApprovalState
from callgate.model.event import Event

STATES: dict[str, str | None] = {
    own.GATE_REQUIRED: ApprovalState.PENDING.value,
    own.VOTED: ApprovalState.PENDING.value,
    own.EDITED: None,
    own.APPROVED: ApprovalState.APPROVED.value,
    own.REJECTED: ApprovalState.REJECTED.value,
    own.ANSWERED: ApprovalState.ANSWERED.value,
    own.EXPIRED: ApprovalState.EXPIRED.value,
    own.WITHDRAWN: ApprovalState.WITHDRAWN.value,
    own.USED: ApprovalState.USED.value,
}
_USED = ApprovalState.USED.value


class Question(NamedTuple):
    """What is compared of an approval."""

    id: str
    state: str
    call_id: str
    tool: str


class ApprovalAgreement:
    """What the events say about approvals, to be held against them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._approvals: dict[str, str] = {}
        self._silent: set[str | None] = set()
        """Calls with approval events whose payload is erased: what those said is not known."""

    def asked(self, event: Event, state: str | None) -> None:
        """Take an event about an approval."""
        approval = text_of(event, "approval_id")
        if approval is None:
            self._silent.add(event.call)
            return
        if event.type == own.USED and self._approvals.get(approval) == _USED:
            self._findings.wrong(f"approval {approval} was used twice")
        told = text_of(event, "state") or state
        if told is not None:
            self._approvals[approval] = told

    def compare(self, questions: Iterable[Question]) -> None:
        """Hold all approvals against the events."""
        unheard = dict(self._approvals)
        for approval in questions:
            told = unheard.pop(approval.id, None)
            if told == approval.state or approval.call_id in self._silent:
                continue
            what = f"approval {approval.id} ({approval.tool})"
            if told is None:
                self._findings.wrong(f"{what} is {approval.state}, and no event says that anyone asked")
            else:
                self._findings.wrong(f"{what} is {approval.state}, and the events say {told}")
        for approval_id, told in unheard.items():
            self._findings.wrong(f"approval {approval_id} is gone, and the events say {told}")
        if self._silent:
            self._findings.note(
                f"approvals of {len(self._silent)} calls were not compared: events about them are erased"
            )
