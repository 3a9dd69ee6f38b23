"""Ledger rows inside a transaction: read at most once, written together. Everything else writes through it."""

from __future__ import annotations

import sqlite3
from abc import abstractmethod
from typing import Any

from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.ports import Past
from callgate.stores.sqlite.attempts import (
    SQL,
    find_unresolved,
    is_progress,
    to_attempt,
    to_claim,
    to_progress,
    to_row,
    to_success,
)
from callgate.stores.sqlite.known import Known, Stretch
from callgate.stores.sqlite.reader import SqliteReader

_BY_KEY = SQL["by_key"]
_STARTED = AttemptState.STARTED
_SUCCEEDED = AttemptState.SUCCEEDED


class LedgerWriter(SqliteReader):
    """Reads and puts ledger rows. One that waits to be written is known or noted as changed: no read misses it."""

    def __init__(self, db: sqlite3.Connection, known: Known) -> None:
        super().__init__(db)
        self._known = known
        self._claims: list[tuple[Any, ...]] = []
        self._inserts: list[tuple[Any, ...]] = []
        self._progress: list[tuple[Any, ...]] = []
        self._successes: list[tuple[Any, ...]] = []
        self._seen: dict[AttemptKey, tuple[int, Attempt | None]] = {}
        """Rows read in this commit and not written since; None is a free key."""
        self._changed: set[AttemptKey] = set()
        """Keys whose rows wait to be written and are not known."""
        self.wrote = False
        """Whether the running unit has put anything."""
        self.dirtied = False
        """Whether any of that has reached the database already."""

    @abstractmethod
    def flush(self) -> None:
        """Write what waits."""

    def attempt(self, key: AttemptKey) -> Attempt | None:
        known = self._known.started.get(key)
        if known is not None:
            return known[1]
        return self._look(key)[1]

    def holder(self, key: AttemptKey) -> tuple[int, str, str] | None:
        row = self.attempt(key)
        return None if row is None else (row.fence, row.owner, row.call_id)

    def past(self, key: AttemptKey, fingerprint: str, since: float) -> Past:  # noqa: PLR0917
        self.flush()
        return super().past(key, fingerprint, since)

    def unresolved(self, principal: str, session: str, fingerprint: str) -> Attempt | None:  # noqa: PLR0917
        known = self._known
        if known.unresolved is None:
            known.unresolved = bool(self._one(SQL["any_unresolved"]))
        if not known.unresolved:
            return None
        if self._changed:
            self.flush()
        return find_unresolved(self.db, (fingerprint, session, principal))

    def put_attempt(self, attempt: Attempt) -> None:
        self.wrote = True
        key = attempt.key
        number, old = self._known.started.pop(key, None) or self._look(key)
        self._seen.pop(key, None)
        stretch = self._stretch(attempt.ended_at) if attempt.state is _SUCCEEDED else None
        if old is None:
            number = self._insert(attempt, stretch)
        elif is_progress(old, attempt):
            self._go_on(number, attempt, stretch=stretch)
        else:
            self.flush()
            self.db.execute(SQL["replace"], (*to_row(number, attempt, stretch=stretch)[1:], number))
            self.dirtied = True
        self._note(key, number, old, attempt)

    def add_attempt(self, attempt: Attempt) -> None:
        self.wrote = True
        stretch = self._stretch(attempt.ended_at) if attempt.state is _SUCCEEDED else None
        self._note(attempt.key, self._insert(attempt, stretch), None, attempt)

    def _insert(self, attempt: Attempt, stretch: int | None) -> int:
        number = self._next_number()
        claim = to_claim(number, attempt)
        if claim is None:
            self._inserts.append(to_row(number, attempt, stretch=stretch))
        else:
            self._claims.append(claim)
        return number

    def _go_on(self, number: int, attempt: Attempt, *, stretch: int | None) -> None:
        success = to_success(number, attempt, stretch=stretch)
        if success is None:
            self._progress.append(to_progress(number, attempt, stretch=stretch))
        else:
            # Written after the others: whatever changes a row that has ended reads it first, which writes what waits.
            self._successes.append(success)

    def _note(self, key: AttemptKey, number: int, old: Attempt | None, new: Attempt) -> None:  # noqa: PLR0917
        if new.state is _STARTED and new.outcome is None:
            self._known.started[key] = (number, new)
        else:
            self._changed.add(key)
        if new.unresolved:
            self._known.unresolved = True
        elif old is not None and old.unresolved:
            self._known.unresolved = None

    def _look(self, key: AttemptKey) -> tuple[int, Attempt | None]:
        if key in self._changed:
            self.flush()
        seen = self._seen.get(key)
        if seen is None:
            row = self.db.execute(_BY_KEY, key).fetchone()
            seen = (0, None) if row is None else (row[0], to_attempt(row))
            self._seen[key] = seen
        return seen

    def _stretch(self, ended_at: float | None) -> int | None:
        if ended_at is None:
            return None
        stretch = self._known.stretch
        if stretch is None:
            stretch = self._known.stretch = Stretch(*(self.db.execute(SQL["last_stretch"]).fetchone() or (1, 0)))
        if stretch.full:
            self._write_stretch()
            stretch = self._known.stretch = Stretch(stretch.number + 1, 0)
        return stretch.add(ended_at)

    def _write_stretch(self) -> None:
        stretch = self._known.stretch
        if stretch is not None and stretch.latest is not None:
            self.db.execute(SQL["put_stretch"], (stretch.number, stretch.entries, stretch.latest))
            stretch.latest = None

    def _next_number(self) -> int:
        last = self._known.attempt_id
        if last is None:
            last = int(self.db.execute(SQL["last_id"]).fetchone()[0])
        self._known.attempt_id = last + 1
        return last + 1
