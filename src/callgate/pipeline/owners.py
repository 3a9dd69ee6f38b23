"""Owners: rows of a process that is proven gone become unknown, each with its event. Never by the wall clock."""

from __future__ import annotations

from callgate.events.vocabulary import KINDS, SETTLED_LATE, UNKNOWN
from callgate.ledger.transitions import Answer, OwnerGone, Silence, move
from callgate.model.attempt import Attempt, AttemptState
from callgate.model.event import Draft
from callgate.model.outcome import ErrorInfo
from callgate.pipeline.parts import Parts
from callgate.pipeline.row_change import write_row
from callgate.ports import Transaction

_LOOK_EVERY = 0.02


async def recover(parts: Parts) -> int:
    """At start: give up the rows of every owner that is gone; how many there were."""
    unended = await parts.store.read(lambda reader: reader.unended())
    owners = {row.owner for row in unended if row.owner != parts.store.owner}
    count = 0
    for owner in sorted(owners):
        if not parts.store.owner_alive(owner):
            count += await give_up(parts, owner)
            parts.store.forget_owner(owner)
    return count


def time_to_bury(parts: Parts) -> bool:
    """Whether `bury` is due: it looks at most every so often, as it costs a listing.

    A call that comes within that time of a death is as if it had come before it, while both ran.
    """
    return parts.clock.monotonic() - parts.looked_for_owners >= _LOOK_EVERY


async def bury(parts: Parts) -> None:
    """While running: give up the rows of owners that died since."""
    parts.looked_for_owners = parts.clock.monotonic()
    for owner in parts.store.gone_owners():
        await give_up(parts, owner)
        parts.store.forget_owner(owner)


async def give_up(parts: Parts, owner: str) -> int:
    """Give up every row that owner left behind; how many there were.

    A judged call is run by its host, which may be well: only its silence gives it up.
    """
    now = parts.clock.now()

    def unit(tx: Transaction) -> int:
        rows = [row for row in tx.unended(owner) if row.deadline is None]
        return sum(_apply(parts, tx, row, OwnerGone(owner=owner, now=now)) for row in rows)

    return await parts.store.write(unit)


async def fall_silent(parts: Parts) -> int:
    """Judged calls that were not reported until their deadline become unknown; how many there were."""
    now = parts.clock.now()
    unended = await parts.store.read(lambda reader: reader.unended())
    overdue = [row.key for row in unended if row.deadline is not None and row.deadline <= now]
    if not overdue:
        return 0

    def unit(tx: Transaction) -> int:
        rows = [row for row in map(tx.attempt, overdue) if row is not None]
        return sum(_apply(parts, tx, row, Silence(call_id=row.call_id, now=now)) for row in rows)

    return await parts.store.write(unit)


def _apply(parts: Parts, tx: Transaction, row: Attempt, fact: OwnerGone | Silence) -> int:
    step = move(row, fact)
    if step.answer is not Answer.APPLIED or step.row is None:
        return 0
    if row.state is AttemptState.STARTED:
        write_row(parts, tx, step.row, _given_up(step.row, fact.now), step.answer)
        return 1
    write_row(parts, tx, step.row, _over(step.row, fact.now), step.answer)
    return 0


def _over(row: Attempt, now: float) -> Draft:
    """A handler that outlived its limit ended with its process; the row says what it said."""
    return Draft(
        type=SETTLED_LATE,
        time=now,
        trace=row.trace_id,
        call=row.call_id,
        severity=KINDS[SETTLED_LATE].severity,
        payload={"tool": row.tool, "key": row.key.key},
    )


def _given_up(row: Attempt, now: float) -> Draft:
    message = (
        f"{row.tool} was running when its process ended"
        if row.cause == "owner_died"
        else f"{row.tool} was allowed, and its host never reported how it ended"
    )
    error = ErrorInfo(code="outcome_unknown", message=message, tool=row.tool).to_json()
    payload = {"tool": row.tool, "key": row.key.key, "cause": row.cause, "error": error, "tries": row.tries}
    return Draft(
        type=UNKNOWN,
        time=now,
        trace=row.trace_id,
        call=row.call_id,
        severity=KINDS[UNKNOWN].severity,
        payload=payload,
    )
