"""Erasure: payloads are forgotten, and that they were is recorded. The chain of events still verifies."""

from __future__ import annotations

from typing import NamedTuple

from callgate.events.projections import forget
from callgate.events.selection import Selection
from callgate.events.vocabulary import ERASED, KEPT, KINDS
from callgate.model.event import Draft, Event
from callgate.model.ids import uuid7
from callgate.ports import Clock, Reader, Store, Transaction

_UNIT = 500


class Erasure(NamedTuple):
    """What one unit of work erased, and where the next goes on."""

    erased: int
    after: int
    last: bool


def erasable(reader: Reader, selection: Selection) -> tuple[int, int]:
    """Of how many events there is content to erase, and of how many calls they tell."""
    events, calls = 0, set[str | None]()
    for page in selection.pages(reader):
        found = [event for event in page if _is_erasable(event)]
        events += len(found)
        calls.update(event.call for event in found)
    return events, len(calls - {None})


def erase(
    tx: Transaction,
    selection: Selection,
    *,
    by: str,
    why: str,
    now: float,
    trace: str | None = None,
    after: int = 0,
) -> Erasure:
    """Forget the payloads and salts of the selected among the next events, and record which, by whom and why.

    Events that others rest on (openings, checkpoints, erasures) keep theirs. What was worked out from the events is
    made again without them. Sealed arguments, the ledger and approvals are not touched.

    Raises:
        ValueError: Nobody is named, or no reason.
    """
    if not by.strip() or not why.strip():
        raise ValueError("an erasure needs the name of who does it, and why")
    page = selection.page(tx, after=after, size=_UNIT)
    ids = [event.id for event in page.events if _is_erasable(event)]
    if ids:
        tx.erase_payloads(ids)
        payload = {"events": ids, "by": by, "why": why, "selection": selection.to_json()}
        severity = KINDS[ERASED].severity
        tx.append(Draft(type=ERASED, time=now, trace=trace or uuid7(), severity=severity, payload=payload))
        forget(tx)
    return Erasure(len(ids), page.after, page.last)


async def erase_selected(store: Store, selection: Selection, *, by: str, why: str, clock: Clock) -> int:
    """Erase everything that is selected now, in units of bounded size; how many payloads there were.

    Raises:
        ValueError: Nobody is named, or no reason.
        StoreUnavailable: The store takes nothing; what was erased before stays erased and recorded.
    """
    await store.flush()
    trace = uuid7()
    total, after, last = 0, 0, False
    while not last:
        done = await store.write(
            lambda tx, start=after: erase(tx, selection, by=by, why=why, now=clock.now(), trace=trace, after=start)
        )
        total, after, last = total + done.erased, done.after, done.last
    return total


def _is_erasable(event: Event) -> bool:
    return event.type not in KEPT and event.payload is not None
