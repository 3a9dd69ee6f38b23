"""A stream's first event, which cites the ends of the streams before it that nobody has cited yet."""

from __future__ import annotations

from collections.abc import Callable

from callgate.errors import RowUnreadable
from callgate.model.event import Draft
from callgate.ports import Head
from callgate.stores.sqlite.events import SQL, head_of
from callgate.stores.sqlite.transaction import SqliteTransaction


def open_stream(transaction: SqliteTransaction, *, opened: Draft, stream: str, alive: Callable[[str], bool]) -> None:
    """Enter a stream and append its opening event.

    Each opening cites what the ones before it could not: together they cite every end, and none grows with the number
    of processes that ever were. A stream whose process is gone and whose end is cited is not looked at again.
    """
    heads: dict[str, Head] = {}
    db = transaction.db
    for other, cited in db.execute(SQL["streams_in_use"]).fetchall():
        row = db.execute(SQL["head"], (other,)).fetchone()
        try:
            head = Head(-1, "") if row is None else head_of(row)
        except RowUnreadable:
            continue  # nobody can cite it, and verifying finds it
        # How far a stream was cited is a note to save work: one that was made unreadable has it cited once more.
        if not isinstance(cited, int) or head.sequence > cited:
            heads[other] = head
        transaction.do(SQL["cite_stream"], head.sequence, int(not alive(other)), other)
    transaction.do(SQL["add_stream"], stream)
    assert isinstance(opened.payload, dict)  # noqa: S101 - whoever opens a stream gives what it says as a value
    opened.payload["heads"] = {other: list(head) for other, head in heads.items()}
    opened.causes = tuple(head.hash for head in heads.values())
    transaction.append(opened)
