"""Whether the approvals say what the events say. Reads both, believes neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from callgate.events import vocabulary as own
from callgate.events.ledger_agreement import text_of
from callgate.events.report import Findings
from callgate.model.approval import Approval, ApprovalState
from callgate.model.event import Event

STATES: dict[str, str | None] = {**own.APPROVAL_STATES, own.EDITED: None, own.GOES_ON: None}
_USED = ApprovalState.USED.value
_SAID = {
    "principal": "asker",
    "session": "session",
    "key": "key",
    "what": "content",
    "by": "decider",
    "votes": "list of votes",
}
"""What events say of an approval, by the name it has there, and what a person calls it."""


class Question(NamedTuple):
    """What is compared of an approval."""

    id: str
    state: str
    call_id: str
    tool: str
    said: Mapping[str, Any] = {}
    """By the names that events use; what is not given is not compared."""
    intact: bool = True
    """Whether it is as somebody with the key left it, as far as that is known."""
    revision: int | None = None
    """Which of its changes it is as left by; None where that is not known."""


def question(approval: Approval, *, intact: bool = True) -> Question:
    """What is compared of an approval of the store."""
    said = {
        "principal": approval.principal,
        "session": approval.session,
        "key": approval.key,
        "what": approval.what,
        "by": approval.decided_by,
        "votes": [vote.by for vote in approval.votes],
    }
    names = (approval.id, approval.state.value, approval.call_id, approval.tool)
    return Question(*names, said, intact, approval.revision)


class ApprovalAgreement:
    """What the events say about approvals, to be held against them."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._approvals: dict[str, str] = {}
        self._said: dict[str, dict[str, Any]] = {}
        self._revisions: dict[str, int] = {}
        """The last change of each that an event tells of."""
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
        if not self._follows(event, approval):
            self._findings.wrong(f"{event.type} of approval {approval} repeats what was said of it: a copy was put in")
            return
        told = text_of(event, "state") or state
        if told is not None:
            self._approvals[approval] = told
        said = self._said.setdefault(approval, {})
        if event.type == own.EDITED:
            said.pop("what", None)
        said |= _said(event.payload or {})

    def _follows(self, event: Event, approval: str) -> bool:
        """Whether an event tells of a later change than those before it."""
        revision, before = (event.payload or {}).get("revision"), self._revisions.get(approval, 0)
        if not isinstance(revision, int):
            return not before  # from before changes were counted
        self._revisions[approval] = max(revision, before)
        return revision > before

    def compare(self, questions: Iterable[Question]) -> None:
        """Hold all approvals against the events."""
        unheard = dict(self._approvals)
        for approval in questions:
            self._compare(approval, unheard.pop(approval.id, None))
        for approval_id, told in unheard.items():
            self._findings.wrong(f"approval {approval_id} is gone, and the events say {told}")
        if self._silent:
            self._findings.note(
                f"approvals of {len(self._silent)} calls were not compared: events about them are erased"
            )

    def _compare(self, approval: Question, told: str | None) -> None:
        what = f"approval {approval.id} ({approval.tool})"
        if not approval.intact:
            self._findings.wrong(f"{what} was edited by somebody without the key: it is void")
        if approval.call_id in self._silent:
            return
        if told is None:
            self._findings.wrong(f"{what} is {approval.state}, and no event says that anyone asked")
            return
        for difference in self._differences(approval, told):
            self._findings.wrong(f"{what} {difference}")

    def _differences(self, approval: Question, told: str) -> Iterator[str]:
        if told != approval.state:
            yield f"is {approval.state}, and the events say {told}"
        said = _said(approval.said)
        for name, value in self._said.get(approval.id, {}).items():
            if name in said and said[name] != value:
                yield f"has another {_SAID[name]} than the events say"
        if approval.revision not in {None, self._revisions.get(approval.id, 0)}:
            yield "is not as its last event left it: an older row of it was put back, or an event put in"


def contradiction(approval: Approval, events: Iterable[Event]) -> str | None:
    """What the events of its call say otherwise about an approval than its row; None where both say the same.

    A row is under a seal, and so is every older one of it: which of them holds is known by the events alone. One that
    is erased may have said anything.
    """
    findings = Findings()
    agreement = ApprovalAgreement(findings)
    for event in events:
        named = text_of(event, "approval_id")
        if named is None:
            return f"events about approval {approval.id} are erased, so that nobody knows how it was decided"
        if named == approval.id:
            agreement.asked(event, STATES[event.type])
    agreement.compare([question(approval)])
    return None if findings.ok else findings.problems[0]


def _said(payload: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: payload[name] for name in _SAID if name in payload}
    if isinstance(said.get("what"), str):
        # Questions may be long, and are only compared.
        said["what"] = sha256(said["what"].encode("utf-8", "backslashreplace")).digest()
    return said
