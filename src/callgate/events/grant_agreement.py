"""Whether the grants say what the events say. Reads both, believes neither."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from callgate.events import vocabulary as own
from callgate.events.ledger_agreement import text_of
from callgate.events.report import Findings
from callgate.model.approval import Grant
from callgate.model.event import Event
from callgate.ports import Reader

KINDS = frozenset({own.GRANT_CREATED, own.GRANT_REVOKED})
_SAID = ("tool", "principal", "granted_by", "max_risk", "definition_hash", "scope", "scope_id", "until")


class GrantAgreement:
    """What the events say about grants, to be held against them.

    Args:
        findings: Where what is wrong goes.
        intact: Whether a grant is as somebody with the key left it; None where there is no key to say so.
    """

    def __init__(self, findings: Findings, intact: Callable[[Grant], bool] | None = None) -> None:
        self._findings = findings
        self._intact = intact
        self._grants: dict[str, dict[str, Any]] = {}
        self._revoked: set[str] = set()

    def said(self, event: Event) -> None:
        """Take an event about a grant. Its trace is the grant, also when its payload is erased."""
        grant_id = text_of(event, "grant_id") or event.trace
        if event.type == own.GRANT_REVOKED:
            self._revoked.add(grant_id)
            self._grants.setdefault(grant_id, {})
            return
        payload = event.payload or {}
        self._grants[grant_id] = {name: payload[name] for name in _SAID if name in payload}

    def compare(self, reader: Reader) -> None:
        """Hold the grants against the events."""
        for grant in reader.grants():
            if grant.id not in self._grants:
                self._findings.wrong(f"grant {grant.id} ({grant.tool}) stands, and no event says that anyone gave it")
        for grant_id, said in self._grants.items():
            grant = reader.grant(grant_id)
            if grant is None:
                self._findings.wrong(f"grant {grant_id} is gone, and the events tell of it")
            else:
                self._compare(grant, said)

    def _compare(self, grant: Grant, said: dict[str, Any]) -> None:
        what = f"grant {grant.id} ({grant.tool})"
        if self._intact is not None and not self._intact(grant):
            self._findings.wrong(f"{what} was edited by somebody without the key")
        if (grant.revoked_at is not None) != (grant.id in self._revoked):
            stands = "stands" if grant.revoked_at is None else "is revoked"
            told = "was revoked" if grant.id in self._revoked else "was not"
            self._findings.wrong(f"{what} {stands}, and the events say that it {told}")
        row = _row(grant)
        for name, value in said.items():
            if row[name] != value:
                self._findings.wrong(f"{what} has another {name} than the events say")


def _row(grant: Grant) -> dict[str, Any]:
    body = {name: getattr(grant, name) for name in _SAID}
    return body | {"max_risk": grant.max_risk.label, "scope": grant.scope.value}
