"""The ledger's rows: how one is read and written. Decides nothing about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from callgate.errors import RowUnreadable
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.levels import Happened
from callgate.ports import Past
from callgate.stores.sqlite.queries import ALL, Queries
from callgate.stores.sqlite.readable import readable
from callgate.stores.sqlite.statements import load, newest_first

SQL = load("attempts")
_HOLDER = SQL["holder"]
_PAST = SQL["past"]
_NEWEST = newest_first(SQL)
_BEHIND = "/* behind */"
_BEHIND_IT = "AND id > (SELECT max(id) FROM attempts WHERE call_id = ?)"
_BEFORE_IT = "AND id < (SELECT max(id) FROM attempts WHERE call_id = ?)"
_BY_KEY = SQL["by_key"]
_STARTED, _SUCCEEDED = AttemptState.STARTED, AttemptState.SUCCEEDED
_STATES = {state.value: state for state in AttemptState}
_SHORT = 16
"""How much of a fingerprint is in the index of successes."""
_HAPPENED = {None: None} | {word.value: word for word in Happened}


class AttemptReader(Queries):  # noqa: PLR0904 - as many as its port has
    """Answers about ledger rows."""

    def attempt(self, key: AttemptKey) -> Attempt | None:
        row = self.db.execute(_BY_KEY, key).fetchone()
        return None if row is None else to_attempt(row)

    def attempt_of_call(self, call_id: str) -> Attempt | None:
        return self._attempt(SQL["by_call"], call_id)

    def unresolved(self, principal: str, session: str, fingerprint: str) -> Attempt | None:  # noqa: PLR0917
        return find_unresolved(self.db, (fingerprint, session, principal))

    def succeeded_since(self, principal: str, session: str, fingerprint: str, since: float) -> bool:  # noqa: PLR0917
        equal = (since, fingerprint[:_SHORT], session, since, principal, fingerprint)
        return bool(self._one(SQL["succeeded_since"], *equal) or self._one(SQL["edited_succeeded_since"], *equal))

    def holder(self, key: AttemptKey) -> tuple[int, str, str] | None:
        return self.db.execute(_HOLDER, key).fetchone()

    def past(self, key: AttemptKey, fingerprint: str, since: float) -> Past:  # noqa: PLR0917
        found = self._one(_PAST, *key, fingerprint, fingerprint[:_SHORT], since)
        # Mostly there is nothing at all, or no more than a success.
        return Past(
            self.attempt(key) if found & 1 else None,
            self.unresolved(key.principal, key.session, fingerprint) if found & 2 else None,
            found & 4 != 0,
        )

    def attempts(
        self,
        *,
        state: AttemptState | None = None,
        owner: str | None = None,
        behind: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Attempt]:
        name, *values = _listing(state, owner)
        found = self._listed(name, *values, behind=behind, limit=limit, newest_first=newest_first)
        return [to_attempt(row) for row in found]

    def unended(self, owner: str | None = None) -> list[Attempt]:
        whose = () if owner is None else (owner,)
        names = ("started", "unended") if owner is None else ("started_of_owner", "unended_of_owner")
        rows = [*self._ask(SQL[names[0]], *whose, ALL), *self._ask(SQL[names[1]], *whose)]
        rows.sort(key=_number)
        return list(_readable(rows))

    def open_attempts(
        self, *, behind: str | None = None, limit: int | None = None, newest_first: bool = False
    ) -> list[Attempt]:
        how: dict[str, Any] = {"behind": behind, "limit": limit, "newest_first": newest_first}
        rows = [row for name in ("unknowns", "possibles") for row in self._listed(name, **how)]
        rows.sort(key=_number, reverse=newest_first)
        return [to_attempt(row) for row in rows[:limit]]

    def open_count(self) -> int:
        return self._one(SQL["open"])

    def attempts_after(self, key: AttemptKey | None, limit: int) -> list[Attempt]:
        """Rows in the order of their keys, after this one: the whole ledger, a page at a time, for verifying."""
        found = self._ask(SQL["first_page"], limit) if key is None else self._ask(SQL["page_after"], *key, limit)
        return [to_attempt(row) for row in found]

    def _listed(
        self, name: str, *values: Any, behind: str | None, limit: int | None, newest_first: bool
    ) -> sqlite3.Cursor:
        statement, most = (_NEWEST if newest_first else SQL)[name], ALL if limit is None else limit
        if behind is None:
            return self._ask(statement, *values, most)
        return self._ask(statement.replace(_BEHIND, _BEFORE_IT if newest_first else _BEHIND_IT), *values, behind, most)

    def _attempt(self, statement: str, *values: Any) -> Attempt | None:
        row = self._ask(statement, *values).fetchone()
        return None if row is None else to_attempt(row)


def _number(row: tuple[Any, ...]) -> int:
    """Rows are compared by this alone: the rest of one that was edited may not be comparable."""
    return row[0]


def _readable(rows: Iterable[tuple[Any, ...]]) -> Iterator[Attempt]:
    """What can be read of some rows: one that was edited keeps nobody from the others, and verifying finds it."""
    for row in rows:
        with suppress(RowUnreadable):
            yield to_attempt(row)


def find_unresolved(db: sqlite3.Connection, place: tuple[str, str, str]) -> Attempt | None:
    """An unresolved row by fingerprint (asked or final), session and principal."""
    row = db.execute(SQL["unresolved"], place).fetchone() or db.execute(SQL["unresolved_edited"], place).fetchone()
    return None if row is None else to_attempt(row)


def _listing(state: AttemptState | None, owner: str | None) -> tuple[Any, ...]:
    """The name of the statement that has an index for the question, and its values."""
    if state is AttemptState.STARTED:
        return ("started",) if owner is None else ("started_of_owner", owner)
    if state is AttemptState.UNKNOWN and owner is None:
        return ("unknowns",)
    if state is None:
        return ("all",) if owner is None else ("all_of_owner", owner)
    return ("in_state", state.value) if owner is None else ("in_state_of_owner", state.value, owner)


@readable("attempts")
def to_attempt(row: tuple[Any, ...]) -> Attempt:
    """The attempt a row stands for."""
    outcome = row[21]
    return Attempt(
        key=AttemptKey(row[1], row[2], row[3]),
        call_id=row[4],
        trace_id=row[5],
        tool=row[6],
        definition_hash=row[7],
        fingerprint=row[8],
        final_fingerprint=row[9],
        state=_STATES[row[10]],
        happened=_HAPPENED[row[11]],
        owner=row[12],
        fence=row[13],
        tries=row[14],
        idempotent=row[15] == 1,
        has_verify=row[16] == 1,
        horizon=row[17],
        started_at=row[18],
        ended_at=row[19],
        deadline=row[20],
        outcome=None if outcome is None else outcome.encode(),
        approval_id=row[22],
        sealed_id=row[23],
        cause=row[24],
        resolved_by=row[25],
    )


def to_row(number: int, attempt: Attempt, *, stretch: int | None) -> tuple[Any, ...]:
    """The row of an attempt, as plain values: anything else costs SQLite's adapters."""
    happened = attempt.happened
    return (
        number,
        *attempt.key,
        attempt.call_id,
        attempt.trace_id,
        attempt.tool,
        attempt.definition_hash,
        attempt.fingerprint,
        attempt.final_fingerprint,
        attempt.state._value_,
        None if happened is None else happened._value_,
        attempt.owner,
        attempt.fence,
        attempt.tries,
        1 if attempt.idempotent else 0,
        1 if attempt.has_verify else 0,
        attempt.horizon,
        attempt.started_at,
        attempt.ended_at,
        attempt.deadline,
        _outcome(attempt),
        attempt.approval_id,
        attempt.sealed_id,
        attempt.cause,
        attempt.resolved_by,
        stretch,
    )


def to_progress(number: int, attempt: Attempt, *, stretch: int | None) -> tuple[Any, ...]:
    """The part of a row that changes while a call goes its way."""
    happened = attempt.happened
    return (
        attempt.state._value_,
        None if happened is None else happened._value_,
        attempt.owner,
        attempt.fence,
        attempt.tries,
        attempt.ended_at,
        attempt.deadline,
        _outcome(attempt),
        attempt.cause,
        attempt.resolved_by,
        stretch,
        number,
    )


def to_claim(number: int, attempt: Attempt) -> tuple[Any, ...] | None:
    """The row of a claim that asked nobody, which nearly all are; None for any other.

    Python's sqlite3 takes longer to bind a NULL than a text, so that rows with many of them have their own statements.
    """
    # fmt: off
    (
        key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, state, owner, fence, happened,
        tries, idempotent, has_verify, horizon, started_at, ended_at, deadline, outcome, approval_id, sealed_id, cause,
        resolved_by,
    ) = attempt
    if state is not _STARTED or sealed_id is None or not (
        happened is ended_at is deadline is outcome is approval_id is cause is resolved_by is None
    ):
        return None
    return (
        number, *key, call_id, trace_id, tool, definition_hash, fingerprint, final_fingerprint, owner, fence, tries,
        1 if idempotent else 0, 1 if has_verify else 0, horizon, started_at, sealed_id,
    )
    # fmt: on


def to_success(number: int, attempt: Attempt, *, stretch: int | None) -> tuple[Any, ...] | None:
    """As `to_progress` for a plain success; None for any other end."""
    outcome, ended_at = attempt.outcome, attempt.ended_at
    if attempt.state is not _SUCCEEDED or stretch is None or outcome is None:
        return None
    if not attempt.happened is attempt.deadline is attempt.cause is attempt.resolved_by is None:
        return None
    return attempt.owner, attempt.fence, attempt.tries, ended_at, outcome.decode(), stretch, number


def is_progress(old: Attempt, new: Attempt) -> bool:
    """Whether only that part differs, so that the indexes over the rest need not be touched."""
    return (
        old.call_id == new.call_id
        and old.fingerprint == new.fingerprint
        and old.final_fingerprint == new.final_fingerprint
        and old.trace_id == new.trace_id
        and old.sealed_id == new.sealed_id
        and old.approval_id == new.approval_id
        and old.started_at == new.started_at
        and old.horizon == new.horizon
        and old.definition_hash == new.definition_hash
        and old.tool == new.tool
        and old.idempotent == new.idempotent
        and old.has_verify == new.has_verify
    )


def _outcome(attempt: Attempt) -> str | None:
    return None if attempt.outcome is None else attempt.outcome.decode()
