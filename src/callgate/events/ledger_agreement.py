"""Whether the ledger says what the events say. Reads both, believes neither.

Keeps a state per call, and for calls under a key what was said of its row; no event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from callgate.events import vocabulary as own
from callgate.events.report import Findings
from callgate.events.row_digest import ROW_DIGEST, row_digest
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.event import Event
from callgate.model.levels import Happened
from callgate.ports import Keys, Reader

_PAGE = 1000
_ENDED = "ended"
"""Ended, and a later fact may or may not have changed what the ledger says."""

CLOSED_AS: dict[str, str] = {
    own.SUCCEEDED: AttemptState.SUCCEEDED.value,
    own.FAILED: AttemptState.FAILED.value,
    own.TIMED_OUT: AttemptState.FAILED.value,
    own.UNKNOWN: AttemptState.UNKNOWN.value,
}
LATER = frozenset({own.RESOLVED, own.SETTLED_LATE})
_STARTED = AttemptState.STARTED.value
_SUCCEEDED = AttemptState.SUCCEEDED.value
_FAILED = AttemptState.FAILED.value
_NONE = Happened.NONE.value


@runtime_checkable
class PagedLedger(Protocol):
    """A reader that can go through its ledger a page at a time."""

    def attempts_after(self, key: AttemptKey | None, limit: int) -> list[Attempt]:
        """Ledger rows in the order of their keys, after this one."""
        ...


@dataclass(slots=True)
class _Claimed:
    """What the events say of a call that took a key."""

    key: AttemptKey
    tool: str | None
    final: str | None
    asked: str | None
    approval: str | None
    effect: str | None = None
    digest: str | None = None
    seen: bool = False
    """Its row is there."""


class LedgerAgreement:
    """What the events say about calls, to be held against the ledger.

    Args:
        findings: Where what is wrong goes.
        keys: The store's, to compare all of a row; None compares what the events say openly.
    """

    def __init__(self, findings: Findings, keys: Keys | None = None) -> None:
        self._findings = findings
        self._keys = keys
        self._calls: dict[str, str] = {}
        self._claims: dict[str, _Claimed] = {}
        self._of_key: dict[AttemptKey, list[str]] = {}
        """The calls that took a key, in their order."""
        self._erased: set[str] = set()
        """Calls whose attempt is no longer told."""

    def attempted(self, event: Event) -> None:
        """Take a call that began."""
        call = event.call or ""
        if call in self._calls:
            self._findings.wrong(f"call {call} was attempted twice")
        self._calls[call] = _STARTED
        key = _key(event)
        if key is not None:
            self._claimed(event, key=key)
        elif event.payload is None:
            self._erased.add(call)

    def closed(self, event: Event, state: str) -> None:
        """Take the end of a call."""
        call = event.call or ""
        before = self._calls.get(call)
        if before is None:
            self._findings.wrong(f"call {call} was closed by {event.type} and never attempted")
        elif before != _STARTED:
            self._findings.wrong(f"call {call} was closed twice: {before}, then {event.type}")
        self._calls[call] = state
        self._told(event, call, effect=text_of(event, "effect") if state == _FAILED else None)

    def corrected(self, event: Event) -> None:
        """A person, `verify` or a late handler knew better; a late one that changed the row says so."""
        call = event.call or ""
        if self._calls.get(call, _STARTED) == _STARTED:
            self._findings.wrong(f"call {call} has a later fact, {event.type}, and was never closed")
        resolved = event.type == own.RESOLVED
        known = resolved or text_of(event, ROW_DIGEST) is not None
        state = text_of(event, "state") if known else None
        self._calls[call] = state or _ENDED
        if known and state == _FAILED:
            self._told(event, call, effect=_NONE if resolved else text_of(event, "effect"))
        elif known or event.payload is None:
            self._told(event, call, effect=None)

    def compare(self, reader: Reader) -> None:
        """Hold the ledger against the events; `reader` must show exactly the events that were noted."""
        for row in _rows(reader):
            self._compare_row(row)
        self._look_for_lost_rows(reader)
        self._look_for_open_calls(reader)

    def _claimed(self, event: Event, *, key: AttemptKey) -> None:
        call = event.call or ""
        final = text_of(event, "fingerprint")
        self._claims[call] = _Claimed(
            key=key,
            tool=text_of(event, "tool"),
            final=final,
            asked=text_of(event, "asked_fingerprint") or final,
            approval=text_of(event, "approval_id"),
        )
        before = self._of_key.setdefault(key, [])
        if before and not self._was_free(before[-1]):
            although = f"although its call {before[-1]} is {self._calls[before[-1]]}"
            self._findings.wrong(f"key {key.key!r} of {key.principal} ran again as call {call}, {although}")
        before.append(call)

    def _was_free(self, call: str) -> bool:
        """Whether a key may be taken after this call: it failed without effect, or is unknown and idempotent."""
        state, effect = self._calls[call], self._claims[call].effect
        return state not in {_STARTED, _SUCCEEDED} and not (state == _FAILED and effect not in {None, _NONE})

    def _told(self, event: Event, call: str, *, effect: str | None) -> None:
        claimed = self._claims.get(call)
        if claimed is not None:
            claimed.effect, claimed.digest = effect, text_of(event, ROW_DIGEST)

    def _compare_row(self, row: Attempt) -> None:
        told, claimed = self._calls.get(row.call_id), self._claims.get(row.call_id)
        what = f"the ledger row of key {row.key.key!r} ({row.tool}, call {row.call_id})"
        if told is None:
            self._findings.wrong(f"{what} says {row.state.value}, and no event says that it was attempted")
            return
        if claimed is not None:
            claimed.seen = True
        elif row.call_id not in self._erased:
            self._findings.wrong(f"{what} is of a call that took no key, say the events")
        for difference in self._differences(row, told, claimed=claimed):
            self._findings.wrong(f"{what} {difference}")

    def _differences(self, row: Attempt, told: str, *, claimed: _Claimed | None) -> Iterator[str]:
        if told == _ENDED:
            if row.state is AttemptState.STARTED:
                yield "says started, and the events say that it ended"
        elif told != row.state.value:
            yield f"says {row.state.value}, and the events say {told}"
            return
        if claimed is None:
            return
        changed = list(_changed(row, claimed))
        yield from changed or self._hidden(row, claimed)
        yield from self._out_of_turn(row)

    def _hidden(self, row: Attempt, claimed: _Claimed) -> Iterator[str]:
        """What only the key shows: the recorded outcome, and everything else that the events do not tell openly."""
        if self._keys is None or claimed.digest is None or row_digest(self._keys, row) == claimed.digest:
            return
        yield "was edited: what it says, or the outcome in it, is not what was recorded"

    def _out_of_turn(self, row: Attempt) -> Iterator[str]:
        calls = self._of_key.get(row.key, [])
        if calls and calls[-1] != row.call_id:
            yield f"is not of the last call under that key, which was {calls[-1]}"
        elif len(calls) > row.tries or (len(calls) < row.tries and not self._erased):
            yield f"counts {row.tries} calls under that key, and the events {len(calls)}: a row was removed or put in"

    def _look_for_lost_rows(self, reader: Reader) -> None:
        """A call that has no row of its own was followed by another under its key; if not, its key is free again."""
        for call, claimed in self._claims.items():
            if not claimed.seen and reader.attempt(claimed.key) is None:
                key = claimed.key.key
                self._findings.wrong(f"the ledger row of key {key!r} (call {call}) is gone: its call could run again")

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


def _changed(row: Attempt, told: _Claimed) -> Iterator[str]:
    if row.key != told.key:
        yield f"stands under another key than the events say: {told.key.key!r} of {told.key.principal}"
    if row.tool != told.tool:
        yield f"is of another tool than the events say: {told.tool}"
    if told.final is not None and (row.fingerprint, row.final_fingerprint) != (told.asked, told.final):
        yield "has the fingerprint of another call than the events say"
    if row.approval_id != told.approval:
        yield f"names approval {row.approval_id}, and the events {told.approval}"
    if told.effect is not None and (row.happened is None or row.happened.value != told.effect):
        left = "nothing of its effect" if row.happened is None else f"that its effect was {row.happened.value}"
        yield f"says {left}, and the events say {told.effect}"


def _rows(reader: Reader) -> Iterator[Attempt]:
    if not isinstance(reader, PagedLedger):
        yield from reader.attempts()
        return
    key: AttemptKey | None = None
    while page := reader.attempts_after(key, _PAGE):
        yield from page
        key = page[-1].key


def text_of(event: Event, name: str) -> str | None:
    """A text in an event's payload; None if it is erased or has something else there."""
    payload = event.payload
    value = payload.get(name) if isinstance(payload, dict) else None
    return value if isinstance(value, str) else None


def _key(event: Event) -> AttemptKey | None:
    principal, session, key = (text_of(event, name) for name in ("principal", "session", "key"))
    if principal is None or session is None or key is None:
        return None
    return AttemptKey(principal, session, key)
