"""Approvals and grants: how they are read and written. Decides nothing about them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

import orjson

from callgate.events.recordable import read_back, recordable_bytes
from callgate.model.approval import Approval, ApprovalState, Grant, GrantScope, Listed, Part, Vote
from callgate.model.layer import ConfirmBy
from callgate.model.levels import Assurance, Risk
from callgate.stores.sqlite.attempts import AttemptReader
from callgate.stores.sqlite.queries import ALL
from callgate.stores.sqlite.readable import readable
from callgate.stores.sqlite.statements import load, newest_first

SQL = load("approvals")
_NEWEST = newest_first(SQL)
_MEANT = {
    "states": "state IN (SELECT value FROM json_each(?))",
    "session": "session = ?",
    # The letter after the stroke ends what is below.
    "within": "(session = ? OR session >= ? || '/' AND session < ? || '0')",
    "principal": "principal = ?",
    "overdue": "CASE WHEN json_valid(body) THEN json_extract(body, '$.expires_at') <= ? ELSE 1 END",
    "before": "number < (SELECT min(number) FROM approvals WHERE id = ? OR plan_id = ?)",
    "behind": "number > (SELECT max(number) FROM approvals WHERE id = ? OR plan_id = ?)",
}
"""Which approvals are meant, as SQLite is asked for them."""
_APPROVAL = tuple(Approval.__slots__)
_GRANT = tuple(Grant.__slots__)
_body_of_approval = readable("approvals")(read_back)
_body_of_grant = readable("grants")(read_back)


class ApprovalReader(AttemptReader):
    """Answers about questions to people, and standing answers."""

    def approval(self, approval_id: str) -> Approval | None:
        return self._approval(SQL["by_id"], approval_id)

    def latest_approval(  # noqa: PLR0917
        self, principal: str, session: str, tool: str, fingerprint: str, *, key: str | None = None
    ) -> Approval | None:
        return self._approval(SQL["latest"], fingerprint, session, principal, tool, key, key)

    def approvals_of_plan(self, plan_id: str) -> list[Approval]:
        return [_approval(row) for row in self._ask(SQL["of_plan"], plan_id)]

    def latest_plan(self, principal: str, session: str, digest: str) -> str | None:  # noqa: PLR0917
        return self._one(SQL["latest_plan"], digest, session, principal)

    def approvals(
        self,
        *,
        states: Iterable[ApprovalState] | None = None,
        session: str | None = None,
        within: str | None = None,
        principal: str | None = None,
        overdue: float | None = None,
        behind: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Approval]:
        among = None if states is None else orjson.dumps([state.value for state in states]).decode()
        asked = {"states": among, "session": session, "within": within, "principal": principal, "overdue": overdue}
        wanted = {**asked, ("before" if newest_first else "behind"): behind}
        meant = {_MEANT[name]: value for name, value in wanted.items() if value is not None}
        statement = (_NEWEST if newest_first else SQL)["listed"].replace("/* meant */", " AND ".join(meant) or "1")
        values = [value for text, value in meant.items() for _ in range(text.count("?"))]
        found = self._ask(statement, *values, ALL if limit is None else limit)
        return [_approval(row) for row in found]

    def pending_count(self, principal: str, session: str, *, now: float | None = None) -> int:
        if now is None:
            return self._one(SQL["pending"], session, principal)
        return self._one(SQL["pending_by"], session, principal, now)

    def all_pending_count(self, *, now: float) -> int:
        return self._one(SQL["all_pending_by"], now)

    def grants(self, *, principal: str | None = None, tool: str | None = None) -> list[Grant]:
        found = self._ask(SQL["grants"], principal) if tool is None else self._ask(SQL["grants_for"], principal, tool)
        return [_grant(row) for row in found]

    def grant(self, grant_id: str) -> Grant | None:
        row = self._ask(SQL["grant"], grant_id).fetchone()
        return None if row is None else _grant(row)

    def _approval(self, statement: str, *values: Any) -> Approval | None:
        row = self._ask(statement, *values).fetchone()
        return None if row is None else _approval(row)


def put_approval(db: sqlite3.Connection, approval: Approval) -> None:
    """Insert or replace an approval."""
    body = {name: getattr(approval, name) for name in _APPROVAL} | {
        "state": approval.state.value,
        "risk": approval.risk.label,
        "by": approval.by.value,
        "assurance": approval.assurance.label,
        "votes": [[vote.by, vote.assurance.label, vote.at] for vote in approval.votes],
        "part": None if approval.part is None else asdict(approval.part),
        "calls": [asdict(call) for call in approval.calls],
    }
    db.execute(SQL["put"], (*_approval_columns(approval), recordable_bytes(body).decode()))


def put_grant(db: sqlite3.Connection, grant: Grant) -> None:
    """Insert or replace a grant."""
    body = {name: getattr(grant, name) for name in _GRANT} | {
        "max_risk": grant.max_risk.label,
        "scope": grant.scope.value,
    }
    db.execute(SQL["put_grant"], (*_grant_columns(grant), recordable_bytes(body).decode()))


@readable("approvals")
def to_approval(body: dict[str, Any]) -> Approval:
    """The approval a body stands for."""
    body["state"] = ApprovalState(body["state"])
    body["risk"] = Risk.parse(body["risk"])
    body["by"] = ConfirmBy(body["by"])
    body["assurance"] = Assurance.parse(body["assurance"])
    body["why"] = tuple(body["why"])
    body["resources"] = tuple(body["resources"])
    body["votes"] = tuple(Vote(by=by, assurance=_assurance(word), at=at) for by, word, at in body["votes"])
    # Rows from before there were plans have neither.
    part = body.get("part")
    body["part"] = None if part is None else Part(**part)
    body["calls"] = tuple(Listed(**call) for call in body.get("calls", ()))
    return Approval(**body)


@readable("grants")
def to_grant(body: dict[str, Any]) -> Grant:
    """The grant a body stands for."""
    body["max_risk"] = Risk.parse(body["max_risk"])
    body["scope"] = GrantScope(body["scope"])
    return Grant(**body)


@readable("approvals")
def _approval(row: tuple[Any, ...]) -> Approval:
    """The approval of a row. One that is found by what its body does not say is one that nobody sealed."""
    found = to_approval(_body_of_approval(row[0]))
    return found if row[1:] == _approval_columns(found) else replace(found, mac="")


@readable("grants")
def _grant(row: tuple[Any, ...]) -> Grant:
    """The grant of a row, as above."""
    found = to_grant(_body_of_grant(row[0]))
    return found if row[1:] == _grant_columns(found) else replace(found, mac="")


def _approval_columns(approval: Approval) -> tuple[Any, ...]:
    """All that an approval is found by."""
    columns = (approval.id, approval.state.value, approval.principal, approval.session, approval.tool)
    asked, part = (approval.asked_fingerprint, approval.key), approval.part
    return (*columns, *asked, *((None, None) if part is None else (part.plan_id, part.digest)))


def _grant_columns(grant: Grant) -> tuple[Any, ...]:
    """All that a grant is found by."""
    return grant.id, grant.principal, grant.tool, int(grant.revoked_at is not None)


def _assurance(word: str) -> Assurance:
    return Assurance[word.upper()]
