"""Every change of a ledger row, decided by one pure function: `move(row, fact) -> Move`.

It knows no store, no clock and no handler; whoever calls it reads the row, applies the answer and records the event
in one transaction.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.levels import Happened


class Answer(enum.Enum):
    """What became of a fact."""

    CLAIMED = "claimed"
    """The caller now owns the key and may run."""
    RECORDED = "recorded"
    """The key has its outcome already."""
    RUNNING = "running"
    """Somebody runs it, or may still."""
    CONFLICT = "conflict"
    """The key belongs to another call."""
    BLOCKED = "blocked"
    """Unknown: nobody runs it before it is resolved."""
    APPLIED = "applied"
    LATE = "late"
    """Applied, after the row had already been given up as unknown."""
    ENDED = "ended"
    """Nothing runs under the row any more; what it says was known before, and stays."""
    STALE = "stale"
    """Refused: not the owner's, not this attempt's, or nothing to change."""


# Known by name: Python 3.11 takes ten times as long to find a member of an enum, and every effect asks for a dozen.
_CLAIMED, _RECORDED, _RUNNING, _CONFLICT, _BLOCKED, _APPLIED, _LATE, _ENDED, _STALE = Answer
_STARTED, _SUCCEEDED, _FAILED, _UNKNOWN = AttemptState
_NONE, _POSSIBLE, _DONE = Happened

EARLIER = "earlier"
"""Why a row is unknown whose last attempt did nothing: one before it may have."""
NESTED = "nested"
"""Why a call is not finished: a call inside it is not. The next attempt goes on with it, and speaks for both."""


class Claim(NamedTuple):
    """A call wants to run under a key."""

    key: AttemptKey
    call_id: str
    trace_id: str
    tool: str
    definition_hash: str
    fingerprint: str
    final_fingerprint: str
    owner: str
    now: float
    idempotent: bool = False
    has_verify: bool = False
    horizon: float = 0.0
    deadline: float | None = None
    approval_id: str | None = None
    sealed_id: str | None = None
    only_reads: bool = False
    """It may run again only because it reads: not where something inside of it may have taken effect."""


class Settle(NamedTuple):
    """The owner knows how its attempt ended, or knows that it cannot know."""

    call_id: str
    owner: str
    fence: int
    state: AttemptState
    now: float
    happened: Happened | None = None
    """Of a failure; and of a read that is unknown because something inside of it may have taken effect."""
    outcome: bytes | None = None
    cause: str | None = None
    ended: bool = True
    """False while the handler may still be running (a thread past its limit)."""


class OwnerGone(NamedTuple):
    """The process that ran it is proven gone."""

    owner: str
    now: float


class Silence(NamedTuple):
    """A judged call was not reported until its deadline."""

    call_id: str
    now: float


class Resolve(NamedTuple):
    """Somebody looked: it happened, or it did not."""

    happened: bool
    by: str
    now: float
    outcome: bytes | None = None
    asked_at: float | None = None
    """When `verify` was asked: *absent* counts only if the tool's horizon had passed since the attempt ended."""
    call_id: str | None = None
    """Whose attempt was looked at; a later one under the key is another question. None where there was only one."""


Fact = Claim | Settle | OwnerGone | Silence | Resolve


class Move(NamedTuple):
    """The answer, and the row as it stands after it."""

    answer: Answer
    row: Attempt | None

    @property
    def changed(self) -> bool:
        """Whether the row must be written."""
        answer = self.answer
        return answer is _APPLIED or answer is _CLAIMED or answer is _LATE or answer is _ENDED


def move(row: Attempt | None, fact: Fact) -> Move:
    """What becomes of the row of a key when `fact` is learned."""
    if isinstance(fact, Claim):
        return _claim(row, fact)
    if row is None:
        return Move(_STALE, None)
    if isinstance(fact, Settle):
        return _settle(row, fact)
    if isinstance(fact, OwnerGone):
        return _owner_gone(row, fact)
    if isinstance(fact, Silence):
        return _silence(row, fact)
    return _resolve(row, fact)


def look(row: Attempt | None, fingerprint: str, *, idempotent: bool, only_reads: bool = False) -> Answer:
    """What a claim would answer, without making one (the recall step)."""
    if row is None:
        return _CLAIMED
    if row.fingerprint != fingerprint:
        return _CONFLICT
    if row.state is _STARTED:
        return _RUNNING
    if row.state is _UNKNOWN:
        # A read repeats nothing, unless something inside of it may have taken effect.
        return _look_unknown(row, idempotent=idempotent and not (only_reads and row.happened is _POSSIBLE))
    if row.state is _FAILED and row.happened is _NONE:
        return _CLAIMED
    return _RECORDED


def _look_unknown(row: Attempt, *, idempotent: bool) -> Answer:
    if not idempotent:
        return _BLOCKED
    # Two attempts of an idempotent tool must not overlap: the last one has to have ended.
    return _RUNNING if row.ended_at is None else _CLAIMED


def _claim(row: Attempt | None, fact: Claim) -> Move:
    answer = look(row, fact.fingerprint, idempotent=fact.idempotent, only_reads=fact.only_reads)
    if answer is not _CLAIMED:
        return Move(answer, row)
    fence, tries, before, cause = 1, 1, None, None
    if row is not None:
        fence, tries = row.fence + 1, row.tries + 1
        before, cause = _left_before(row, fact)
    # By place: every effect comes this way, and names cost as much again.
    # fmt: off
    (
        key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, owner, now,
        idempotent, has_verify, horizon, deadline, approval_id, sealed_id, _,
    ) = fact
    claimed = Attempt(
        key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, _STARTED, owner,
        fence, before, tries, idempotent, has_verify, horizon, now, None, deadline, None, approval_id, sealed_id, cause,
    )
    # fmt: on
    return Move(answer, claimed)


def _left_before(row: Attempt, fact: Claim) -> tuple[Happened | None, str | None]:
    """What the attempts before this one may have left behind, and whether it only goes on where they stopped."""
    if row.state is not _UNKNOWN or fact.only_reads:
        return None, None
    # Of an unknown effect nobody knows that it did not happen.
    return _POSSIBLE, NESTED if row.cause == NESTED and row.happened is None else None


def _settle(row: Attempt, fact: Settle) -> Move:
    if (row.call_id, row.owner, row.fence) != (fact.call_id, fact.owner, fact.fence):
        return Move(_STALE, row)
    if row.state is _STARTED:
        return Move(_APPLIED, _ended(row, fact))
    if row.ended_at is None or row.state is _UNKNOWN:
        return _settle_late(row, fact)
    return Move(_STALE, row)


def _settle_late(row: Attempt, fact: Settle) -> Move:
    """The handler came back after the row was given up: what it says is truer than not knowing.

    Where somebody knew meanwhile, callers were told so: it takes nothing of that back.
    """
    known = row.resolved_by is not None
    if known or fact.state is _UNKNOWN:
        if row.ended_at is not None or not fact.ended:
            return Move(_STALE, row)
        return Move(_ENDED if known else _LATE, row._replace(ended_at=fact.now))
    return Move(_LATE, _ended(row, fact))


def _ended(row: Attempt, fact: Settle) -> Attempt:
    if row.happened is not None and row.state is not _FAILED:
        fact = _after_others(row, fact)
    # fmt: off
    (
        key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, _, owner, fence,
        _, tries, idempotent, has_verify, horizon, started_at, _, _, _, approval_id, sealed_id, _, resolved_by,
    ) = row
    # By place, as above: `_replace` takes three times as long.
    return Attempt(
        key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, fact.state, owner, fence,
        fact.happened, tries, idempotent, has_verify, horizon, started_at, fact.now if fact.ended else None, None,
        fact.outcome, approval_id, sealed_id, fact.cause, resolved_by,
    )
    # fmt: on


def _after_others(row: Attempt, fact: Settle) -> Settle:
    """An attempt that failed takes nothing back of what one before it may have done."""
    if fact.state is _UNKNOWN:
        stops_again = row.cause == fact.cause == NESTED
        return fact._replace(happened=None if stops_again else row.happened)
    if fact.state is _FAILED and not speaks_for_all(row, fact.happened):
        return fact._replace(state=_UNKNOWN, happened=row.happened, cause=fact.cause or EARLIER)
    return fact


def speaks_for_all(row: Attempt, happened: Happened | None) -> bool:
    """Whether a failed attempt knows what came of its key, whatever those before it may have left behind."""
    return row.happened is None or happened is _DONE or (row.cause == NESTED and happened is _POSSIBLE)


def _owner_gone(row: Attempt, fact: OwnerGone) -> Move:
    if row.owner != fact.owner:
        return Move(_STALE, row)
    if row.state is _STARTED:
        gone = row._replace(state=_UNKNOWN, cause="owner_died", ended_at=fact.now, fence=row.fence + 1)
        return Move(_APPLIED, gone)
    if row.ended_at is None:
        # A handler that outlived its limit died with its process; only now is it certain to have ended.
        return Move(_APPLIED, row._replace(ended_at=fact.now, fence=row.fence + 1))
    return Move(_STALE, row)


def _silence(row: Attempt, fact: Silence) -> Move:
    due = row.deadline is not None and fact.now >= row.deadline
    if row.call_id != fact.call_id or row.state is not _STARTED or not due:
        return Move(_STALE, row)
    return Move(_APPLIED, row._replace(state=_UNKNOWN, cause="unreported", ended_at=fact.now, deadline=None))


def _resolve(row: Attempt, fact: Resolve) -> Move:
    if not row.open_question or not _is_about(row, fact):
        return Move(_STALE, row)
    if fact.happened:
        resolved = row._replace(state=_SUCCEEDED, happened=None, outcome=fact.outcome)
    elif row.ended_at is None or (fact.asked_at is not None and fact.asked_at - row.ended_at < row.horizon):
        # It may still happen: the handler runs, or the other side had not shown everything yet.
        return Move(_RUNNING, row)
    else:
        resolved = row._replace(state=_FAILED, happened=_NONE, outcome=fact.outcome)
    return Move(_APPLIED, resolved._replace(resolved_by=fact.by, ended_at=row.ended_at))


def _is_about(row: Attempt, fact: Resolve) -> bool:
    """Whether this attempt was looked at. Of several under one key nobody knows which, unless they say so."""
    return row.tries == 1 if fact.call_id is None else fact.call_id == row.call_id
