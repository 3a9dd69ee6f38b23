"""Agreement: what the events say, to be held against the ledger and the approvals. Hands each event to who knows it."""

from __future__ import annotations

from collections.abc import Iterable

from callgate.events import vocabulary as own
from callgate.events.approval_agreement import STATES, ApprovalAgreement, Question
from callgate.events.ledger_agreement import CLOSED_AS, LATER, LedgerAgreement, PagedLedger
from callgate.events.report import Findings
from callgate.model.event import Event
from callgate.ports import Keys, Reader

__all__ = ["Agreement", "PagedLedger", "Question"]


class Agreement:
    """What the events say about calls and approvals.

    Args:
        findings: Where what is wrong goes.
        keys: The store's, where they are at hand; None compares what can be compared without.
    """

    def __init__(self, findings: Findings, keys: Keys | None = None) -> None:
        self._ledger = LedgerAgreement(findings, keys)
        self._approvals = ApprovalAgreement(findings)

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

    def compare_ledger(self, reader: Reader) -> None:
        """Hold the ledger against the events; `reader` must show exactly the events that were noted."""
        self._ledger.compare(reader)

    def compare_approvals(self, questions: Iterable[Question]) -> None:
        """Hold all approvals against the events, as `compare_ledger`."""
        self._approvals.compare(questions)
