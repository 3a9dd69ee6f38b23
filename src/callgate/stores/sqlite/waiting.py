"""What waits to be written in one commit, and how it is written together or taken back."""

from __future__ import annotations

import sqlite3
from typing import Any

from callgate.events.chain import Appender, Row
from callgate.model.event import Draft
from callgate.ports import Head
from callgate.stores.sqlite.attempts import SQL as ATTEMPTS
from callgate.stores.sqlite.events import SQL as EVENTS
from callgate.stores.sqlite.events import to_insert
from callgate.stores.sqlite.known import Known
from callgate.stores.sqlite.ledger import LedgerWriter
from callgate.stores.sqlite.reader import SQL

_STATEMENTS = (ATTEMPTS["claim"], ATTEMPTS["insert"], ATTEMPTS["progress"], ATTEMPTS["success"], SQL["put_sealed"])
"""In the order in which they are written; the last of the lists, the events, has its own way."""
_NOTHING = (0,) * (len(_STATEMENTS) + 1)


class Waiting(LedgerWriter):
    """Writes of one commit. Those of the hot path wait for its end; any read that could miss them sends them first."""

    def __init__(self, db: sqlite3.Connection, known: Known, *, appender: Appender) -> None:
        super().__init__(db, known)
        self._appender = appender
        self._sealed: list[tuple[str, bytearray, float | None]] = []
        self.drafts: list[Draft] = []
        self.rows: list[Row] = []
        """Events of this commit that are in the database."""
        self.first = 0
        """The position of the first of them."""
        hot = (self._claims, self._inserts, self._progress, self._successes, self._sealed, self.drafts)
        self._lists: tuple[list[Any], ...] = hot
        self._mark = _NOTHING
        self._changes = 0

    @property
    def changed(self) -> bool:
        """Whether this commit has anything to make durable."""
        return self.db.total_changes != self._changes

    @property
    def tip(self) -> Head:
        """The last event chained so far."""
        return self._appender.tip

    def append(self, draft: Draft) -> None:
        self.wrote = True
        self.drafts.append(draft)

    def begin(self) -> None:
        """Start another commit."""
        self._seen.clear()
        self._changes = self.db.total_changes
        self.rows = []
        self.first = 0
        self.begin_unit()

    def begin_unit(self) -> None:
        """What is put from here on belongs to the next unit."""
        self.wrote = self.dirtied = False
        self._mark = tuple(map(len, self._lists))

    def drop_unit(self) -> bool:
        """Take back the running unit's writes; False when some have reached the database."""
        if self.dirtied:
            return False
        if self.wrote:
            for waiting, mark in zip(self._lists, self._mark, strict=True):
                del waiting[mark:]
            # What is known speaks of rows just dropped; what remains must be in the database before it is forgotten.
            self.flush()
            self._known.forget()
            self._seen.clear()
        return True

    def rewind(self, tip: Head, events: int) -> None:
        """Drop what waits, and what was chained after `tip`: the database is back where it was then."""
        for waiting in self._lists:
            waiting.clear()
        self._changed.clear()
        self._seen.clear()
        self._known.forget()
        self._appender.rewind(tip)
        del self.rows[events:]

    def flush(self) -> None:
        if self.wrote:
            self.dirtied = True
        for statement, waiting in zip(_STATEMENTS, self._lists, strict=False):
            if waiting:
                self.db.executemany(statement, waiting)
                waiting.clear()
        self._changed.clear()
        self._write_stretch()
        if self.drafts:
            self._write_events()
        self._mark = _NOTHING

    def _write_events(self) -> None:
        known = self._known
        if known.position is None:
            known.position = int(self.db.execute(EVENTS["last_position"]).fetchone()[0])
        rows = self._appender.rows(self.drafts)
        self.drafts.clear()
        first = known.position + 1
        self.first = self.first or first
        self.db.executemany(*to_insert(rows, first))
        known.position += len(rows)
        self.rows += rows

    def _ask(self, statement: str, *values: Any) -> sqlite3.Cursor:
        self.flush()
        return self.db.execute(statement, values)

    def do(self, statement: str, *values: Any) -> int:
        """Write at once; how many rows."""
        self._write_first()
        return self.db.execute(statement, values).rowcount

    def _write_first(self) -> None:
        self.wrote = True
        self.flush()
