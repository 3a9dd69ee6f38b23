"""Whether the ledger says what the events say. Reads both, believes neither.

Keeps a state per call, and for calls under a key what was said of its row; no event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from callgate.events import vocabulary as own
from callgate.events.later_facts import state_learned
from callgate.events.report import Findings
from callgate.events.row_digest import ROW_BEFORE, ROW_DIGEST, is_another, is_digest_of
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.event import Event
from callgate.model.levels import Happened
from callgate.ports import Keys, Reader

_PAGE = 1000
_ENDED = "ended"
"""Ended, and a later fact that cannot be read may have changed what the ledger says."""

CLOSED_AS: dict[str, str] = {
    own.SUCCEEDED: AttemptState.SUCCEEDED.value,
    own.FAILED: AttemptState.FAILED.value,
    own.TIMED_OUT: AttemptState.FAILED.value,
    own.UNKNOWN: AttemptState.UNKNOWN.value,
}
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
    """What its row says, under the key; None while it runs, and once that is erased."""
    past: tuple[str, ...] = ()
    """What its row said before."""
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
        self._unproven = 0
        """How many rows only had what the events say openly to be held against."""

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
        known = resolved or event.payload is None or text_of(event, ROW_DIGEST) is not None
        if not known and self._keys is not None:
            return  # the end of a handler that came too late to change its row
        state = state_learned(event) if known else None
        if state is None and known and event.payload is not None:
            self._over(event, call)
            return
        self._calls[call] = state or _ENDED
        if known:
            effect = _NONE if resolved else text_of(event, "effect")
            self._told(event, call, effect=effect if state == _FAILED else None)

    def _over(self, event: Event, call: str) -> None:
        """Nothing runs any more under a row that says what it said."""
        claimed = self._claims.get(call)
        self._told(event, call, effect=None if claimed is None else claimed.effect)

    def compare(self, reader: Reader) -> None:
        """Hold the ledger against the events; `reader` must show exactly the events that were noted."""
        for row in _rows(reader):
            self._compare_row(row)
        if self._unproven:
            self._findings.note(f"{self._unproven} ledger rows were compared in part: events about them are erased")
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
        if before:
            self._taken_again(event, before[-1], key=key)
        before.append(call)

    def _taken_again(self, event: Event, before: str, *, key: AttemptKey) -> None:
        again = f"key {key.key!r} of {key.principal} ran again as call {event.call}"
        if not self._was_free(before):
            self._findings.wrong(f"{again}, although its call {before} is {self._calls[before]}")
        # Both were said by who has the key: the row was edited in between, however it looks by now.
        if is_another(self._claims[before].digest, text_of(event, ROW_BEFORE)):
            self._findings.wrong(f"{again} over a row that was edited: it was not what was recorded of call {before}")

    def _was_free(self, call: str) -> bool:
        """Whether a key may be taken after this call: it failed without effect, or is unknown and idempotent."""
        state, effect = self._calls[call], self._claims[call].effect
        return state not in {_STARTED, _SUCCEEDED} and not (state == _FAILED and effect not in {None, _NONE})

    def _told(self, event: Event, call: str, *, effect: str | None) -> None:
        claimed = self._claims.get(call)
        if claimed is None:
            return
        digest = text_of(event, ROW_DIGEST)
        if self._keys is not None and event.payload is not None:
            self._proven(event, claimed, digest=digest)
        if is_another(claimed.digest, text_of(event, ROW_BEFORE)):
            what = f"{event.type} of call {call}, which took key {claimed.key.key!r},"
            self._findings.wrong(f"{what} is about a row that was edited: it was not what was recorded of it before")
        if claimed.digest is not None and claimed.digest != digest:
            claimed.past += (claimed.digest,)
        claimed.effect, claimed.digest = effect, digest

    def _proven(self, event: Event, claimed: _Claimed, *, digest: str | None) -> None:
        """Everything that changes a row says so under the key; what does not was written by somebody without it."""
        what = f"{event.type} of call {event.call}, which took key {claimed.key.key!r},"
        if digest is None:
            self._findings.wrong(f"{what} does not prove what its row says: nobody with the key wrote that")
        elif digest in claimed.past:
            self._findings.wrong(f"{what} repeats what its row said before it was changed: a copy was put in")

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
        if self._keys is None:
            return
        if claimed.digest is None:
            self._unproven += row.state is not AttemptState.STARTED
        elif not is_digest_of(claimed.digest, row, keys=self._keys):
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
