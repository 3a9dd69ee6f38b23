"""Agreement: whether the ledger and the approvals say what the events say. Reads both, believes neither.

Keeps a state per call and per approval, and no event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from callgate.events import vocabulary as own
from callgate.events.report import Findings
from callgate.model.approval import ApprovalState
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.event import Event
from callgate.ports import Reader

_PAGE = 1000
_ENDED = "ended"
"""Ended, and a later fact may or may not have changed what the ledger says."""

_CLOSED_AS: dict[str, str] = {
    own.SUCCEEDED: AttemptState.SUCCEEDED.value,
    own.FAILED: AttemptState.FAILED.value,
    own.TIMED_OUT: AttemptState.FAILED.value,
    own.UNKNOWN: AttemptState.UNKNOWN.value,
}
_APPROVAL_STATES: dict[str, str | None] = {
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
_STARTED = AttemptState.STARTED.value
_USED = ApprovalState.USED.value


@runtime_checkable
class PagedLedger(Protocol):
    """A reader that can go through its ledger a page at a time."""

    def attempts_after(self, key: AttemptKey | None, limit: int) -> list[Attempt]:
        """Ledger rows in the order of their keys, after this one."""
        ...


class Question(NamedTuple):
    """What is compared of an approval."""

    id: str
    state: str
    call_id: str
    tool: str


class Agreement:
    """What the events say about calls and approvals, to be held against the rows."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._calls: dict[str, str] = {}
        self._keyed: set[str] = set()
        """Calls that must have a ledger row, and none was seen yet."""
        self._approvals: dict[str, str] = {}
        self._silent: set[str | None] = set()
        """Calls with approval events whose payload is erased: what those said is not known."""

    def note(self, events: Iterable[Event]) -> None:
        """Take the next events, in the store's order."""
        for event in events:
            kind = event.type
            if kind == own.ATTEMPTED:
                self._attempted(event)
            elif kind in _CLOSED_AS:
                self._closed(event, _CLOSED_AS[kind])
            elif kind in {own.RESOLVED, own.SETTLED_LATE}:
                self._corrected(event)
            elif kind in _APPROVAL_STATES:
                self._asked(event, _APPROVAL_STATES[kind])

    def compare_ledger(self, reader: Reader) -> None:
        """Hold the ledger against the events; `reader` must show exactly the events that were noted."""
        for row in _rows(reader):
            self._compare_row(row)
        self._look_for_lost_rows(reader)
        self._look_for_open_calls(reader)

    def compare_approvals(self, questions: Iterable[Question]) -> None:
        """Hold all approvals against the events, as `compare_ledger`."""
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

    def _attempted(self, event: Event) -> None:
        call = event.call or ""
        if call in self._calls:
            self._findings.wrong(f"call {call} was attempted twice")
        self._calls[call] = _STARTED
        payload: Any = event.payload
        if isinstance(payload, dict) and payload.get("key") is not None:  # pyright: ignore[reportUnknownMemberType]
            self._keyed.add(call)

    def _closed(self, event: Event, state: str) -> None:
        call = event.call or ""
        before = self._calls.get(call)
        if before is None:
            self._findings.wrong(f"call {call} was closed by {event.type} and never attempted")
        elif before != _STARTED:
            self._findings.wrong(f"call {call} was closed twice: {before}, then {event.type}")
        self._calls[call] = state

    def _corrected(self, event: Event) -> None:
        """A person, `verify` or a late handler knew better; whether a late one still changed the row is not said."""
        call = event.call or ""
        if self._calls.get(call, _STARTED) == _STARTED:
            self._findings.wrong(f"call {call} has a later fact, {event.type}, and was never closed")
        state = _text(event, "state") if event.type == own.RESOLVED else None
        self._calls[call] = state or _ENDED

    def _asked(self, event: Event, state: str | None) -> None:
        approval = _text(event, "approval_id")
        if approval is None:
            self._silent.add(event.call)
            return
        if event.type == own.USED and self._approvals.get(approval) == _USED:
            self._findings.wrong(f"approval {approval} was used twice")
        told = _text(event, "state") or state
        if told is not None:
            self._approvals[approval] = told

    def _compare_row(self, row: Attempt) -> None:
        self._keyed.discard(row.call_id)
        told = self._calls.get(row.call_id)
        what = f"the ledger row of key {row.key.key!r} ({row.tool}, call {row.call_id})"
        if told is None:
            self._findings.wrong(f"{what} says {row.state.value}, and no event says that it was attempted")
        elif told == _ENDED:
            if row.state is AttemptState.STARTED:
                self._findings.wrong(f"{what} says started, and the events say that it ended")
        elif told != row.state.value:
            self._findings.wrong(f"{what} says {row.state.value}, and the events say {told}")

    def _look_for_lost_rows(self, reader: Reader) -> None:
        """A call that has no row of its own was followed by another under its key; if not, its key is free again."""
        for call in self._keyed:
            attempted = reader.events(call=call, types=[own.ATTEMPTED], limit=1)
            key = _key(attempted[0]) if attempted else None
            if key is not None and reader.attempt(key) is None:
                self._findings.wrong(
                    f"the ledger row of key {key.key!r} (call {call}) is gone: its call could run again"
                )

    def _look_for_open_calls(self, reader: Reader) -> None:
        unfinished = 0
        for call, state in self._calls.items():
            if state != _STARTED:
                continue
            row = reader.attempt_of_call(call)
            # One with a row was compared with it already; a read without one ends with its process.
            unfinished += row is None
        if unfinished:
            self._findings.note(
                f"{unfinished} calls without a ledger row have no closing event: they run, or their process ended"
            )


def _rows(reader: Reader) -> Iterator[Attempt]:
    if not isinstance(reader, PagedLedger):
        yield from reader.attempts()
        return
    key: AttemptKey | None = None
    while page := reader.attempts_after(key, _PAGE):
        yield from page
        key = page[-1].key


def _text(event: Event, name: str) -> str | None:
    payload: Any = event.payload
    value = payload.get(name) if isinstance(payload, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return value if isinstance(value, str) else None


def _key(event: Event) -> AttemptKey | None:
    principal, session, key = (_text(event, name) for name in ("principal", "session", "key"))
    if principal is None or session is None or key is None:
        return None
    return AttemptKey(principal, session, key)
