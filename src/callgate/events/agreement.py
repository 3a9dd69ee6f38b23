"""Agreement: what the events say, to be held against ledger, approvals and grants. Hands each event to who knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from callgate.events import vocabulary as own
from callgate.events.approval_agreement import STATES, ApprovalAgreement, Question, question
from callgate.events.grant_agreement import KINDS, GrantAgreement
from callgate.events.later_facts import LATER
from callgate.events.ledger_agreement import CLOSED_AS, LedgerAgreement, PagedLedger
from callgate.events.report import Findings
from callgate.model.approval import Approval, Grant
from callgate.model.event import Event
from callgate.ports import Keys, Reader

__all__ = ["Agreement", "Intact", "PagedLedger", "Question", "question"]

Intact = Callable[[Approval | Grant], bool]


class Agreement:
    """What the events say about calls, approvals and grants.

    Args:
        findings: Where what is wrong goes.
        keys: The store's, where they are at hand; None compares what can be compared without.
        intact: Whether an approval or grant is as somebody with the keys left it; None as above.
    """

    def __init__(self, findings: Findings, keys: Keys | None = None, *, intact: Intact | None = None) -> None:
        self._ledger = LedgerAgreement(findings, keys)
        self._approvals = ApprovalAgreement(findings)
        self._grants = GrantAgreement(findings, intact)

    def note(self, events: Iterable[Event]) -> None:
        """Take the next events, in the store's order."""
        for event in events:
            kind = event.type
            if kind == own.ATTEMPTED:
                self._ledger.attempted(event)
            elif kind in CLOSED_AS:
                self._ledger.closed(event, CLOSED_AS[kind])
            elif kind in LATER:
                self._ledger.corrected(event)
            elif kind in STATES:
                self._approvals.asked(event, STATES[kind])
            elif kind in KINDS:
                self._grants.said(event)

    def compare_ledger(self, reader: Reader) -> None:
        """Hold the ledger against the events; `reader` must show exactly the events that were noted."""
        self._ledger.compare(reader)

    def compare_approvals(self, questions: Iterable[Question]) -> None:
        """Hold all approvals against the events, as `compare_ledger`."""
        self._approvals.compare(questions)

    def compare_grants(self, reader: Reader) -> None:
        """Hold all grants against the events, as `compare_ledger`."""
        self._grants.compare(reader)
