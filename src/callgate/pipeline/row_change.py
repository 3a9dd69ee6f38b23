"""A changed row of the ledger and the event that tells of it, written together: each can be held to the other.

Nobody else writes a row but the claim, which makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.events.later_facts import LATER
from callgate.events.row_digest import ROW_BEFORE, ROW_DIGEST, found_row, row_digest
from callgate.ledger.transitions import Answer
from callgate.model.canonical import dumps

if TYPE_CHECKING:
    from callgate.model.attempt import Attempt
    from callgate.model.event import Draft, Written
    from callgate.pipeline.parts import Parts
    from callgate.ports import Transaction

_LATE = Answer.LATE  # looking a member up takes as long as many a step


def write_row(parts: Parts, tx: Transaction, row: Attempt, draft: Draft, answer: Answer) -> None:
    """Write the row as a fact left it, and the event with the digest of what the row says now.

    What is learned later rests on what the row said: that is told as well, as it was found.
    """
    more = {ROW_DIGEST: row_digest(parts.keys, row)}
    if draft.type in LATER:
        found = tx.attempt(row.key)
        assert found is not None  # noqa: S101 - it has changed
        more[ROW_BEFORE] = found_row(parts.keys, found)
    tx.put_attempt(row)
    if answer is _LATE:
        more["state"] = row.state.value
    draft.payload = with_more(draft.payload, more)
    tx.append(draft)


def with_more(said: dict[str, Any] | Written, more: dict[str, str]) -> dict[str, Any] | Written:
    """The payload, and what it says besides."""
    if isinstance(said, dict):
        return said | more
    _, own, shared = said
    own += b"," + dumps(more)[1:-1]
    return own + shared, own, shared
