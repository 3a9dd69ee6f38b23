"""One atomic unit of work on the memory store: changes are logged for undoing, drafts kept until it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from callgate.events.recordable import read_back, recordable_bytes
from callgate.model.approval import Approval, ApprovalState, Grant
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.model.event import Draft
from callgate.ports import Checkpoint, Reading
from callgate.stores.memory.log import EventLog
from callgate.stores.memory.reader import MemoryReader
from callgate.stores.memory.tables import Fingerprinted, Tables

_SUCCEEDED = AttemptState.SUCCEEDED


class LedgerWriter(MemoryReader):
    """Puts ledger rows and keeps their indexes."""

    def __init__(self, tables: Tables, log: EventLog, *, readings: int) -> None:
        super().__init__(tables, log)
        self.drafts: list[Draft] = []
        self._readings = readings

    def put_attempt(self, attempt: Attempt) -> None:
        tables = self._tables
        before = tables.attempts.get(attempt.key)
        tables.put(tables.attempts, attempt.key, attempt)
        tables.put(tables.calls, attempt.call_id, attempt.key)
        if before is not None and before.unresolved:
            self._note_unresolved(before, present=False)
        if attempt.unresolved:
            self._note_unresolved(attempt, present=True)
        elif attempt.state is _SUCCEEDED and attempt.ended_at is not None:
            self._note_success(attempt, attempt.ended_at)

    def add_attempt(self, attempt: Attempt) -> None:
        if attempt.key in self._tables.attempts:
            message = "the ledger has a row of this key already"
            raise KeyError(message)
        self.put_attempt(attempt)

    def _note_unresolved(self, attempt: Attempt, *, present: bool) -> None:
        for place in _fingerprints(attempt):
            keys: tuple[AttemptKey, ...] = self._tables.unresolved.get(place, ())
            keys = (*keys, attempt.key) if present else tuple(key for key in keys if key != attempt.key)
            self._tables.put(self._tables.unresolved, place, keys)

    def _note_success(self, attempt: Attempt, at: float) -> None:
        for place in _fingerprints(attempt):
            last = self._tables.succeeded.get(place)
            self._tables.put(self._tables.succeeded, place, at if last is None else max(last, at))


class ApprovalWriter(LedgerWriter):
    """Puts questions to people and standing answers, and counts those that wait."""

    def put_approval(self, approval: Approval) -> None:
        tables = self._tables
        before = tables.approvals.get(approval.id)
        kept = replace(approval, preview=_plain(approval.preview), origins=_plain(approval.origins))
        tables.put(tables.approvals, approval.id, kept)
        if before is None:
            self._file(approval)
        if before is not None and before.state is ApprovalState.PENDING:
            tables.drop(self._waiting(before), before.id)
        if approval.state is ApprovalState.PENDING:
            question = approval.id if approval.part is None else approval.part.plan_id
            tables.put(self._waiting(approval), approval.id, (approval.expires_at, question))

    def _file(self, approval: Approval) -> None:
        tables, part = self._tables, approval.part
        place = (approval.principal, approval.session, approval.tool, approval.asked_fingerprint)
        tables.put(tables.keyed, (*place, approval.key), approval.id)
        if part is None:
            tables.put(tables.latest, place, approval.id)
            return
        tables.put(tables.plans, part.plan_id, (*tables.plans.get(part.plan_id, ()), approval.id))
        tables.put(tables.planned, (approval.principal, approval.session, part.digest), part.plan_id)

    def _waiting(self, approval: Approval) -> dict[str, tuple[float, str]]:
        return self._tables.pending.setdefault((approval.principal, approval.session), {})

    def put_grant(self, grant: Grant) -> None:
        self._tables.put(self._tables.grants, grant.id, replace(grant, pattern=_plain(grant.pattern)))


class DocumentWriter(ApprovalWriter):
    """Keeps and forgets what belongs to tools."""

    def put_document(self, area: str, key: str, body: dict[str, Any]) -> None:  # noqa: PLR0917
        self._tables.put_document(area, key, recordable_bytes(body))

    def drop_document(self, area: str, key: str) -> bool:
        return self._tables.drop_document(area, key)


class MemoryTransaction(DocumentWriter):
    """Everything a unit of work may change."""

    def put_sealed(self, sealed_id: str, blob: bytes, *, keep_until: float | None) -> None:
        self._tables.put(self._tables.sealed, sealed_id, (blob, keep_until))

    def drop_sealed(self, *, before: float) -> int:
        sealed = self._tables.sealed
        ended = [name for name, (_, until) in sealed.items() if until is not None and until < before]
        for name in ended:
            self._tables.drop(sealed, name)
        return len(ended)

    def append(self, draft: Draft) -> None:
        self.drafts.append(draft)

    def erase_payloads(self, event_ids: Sequence[str]) -> int:
        self._show()
        return sum(self._log.erase(event_id) for event_id in event_ids)

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        kept = replace(checkpoint, heads=dict(checkpoint.heads))
        self._tables.put(self._tables.checkpoints, checkpoint.id, kept)

    def put_reading(self, user: str, project: str, path: str, reading: Reading) -> None:  # noqa: PLR0917
        readings = self._tables.readings
        place = (user, project, path)
        if place in readings:
            self._tables.drop(readings, place)
        self._tables.put(readings, place, reading)
        if len(readings) > self._readings:
            self._tables.drop(readings, next(iter(readings)))

    def put_meta(self, name: str, value: str) -> None:
        self._tables.put(self._tables.meta, name, value)

    def put_projection(self, name: str, key: str, body: dict[str, Any]) -> None:  # noqa: PLR0917
        if name not in self._tables.projections:
            self._tables.put(self._tables.projections, name, {})
        self._tables.put(self._tables.projections[name], key, recordable_bytes(body))

    def clear_projection(self, name: str) -> None:
        if name in self._tables.projections:
            self._tables.drop(self._tables.projections, name)

    def _show(self) -> None:
        self._log.show(self.drafts)


def _fingerprints(attempt: Attempt) -> tuple[Fingerprinted, ...]:
    principal, session, _ = attempt.key
    asked = (principal, session, attempt.fingerprint)
    if attempt.final_fingerprint == attempt.fingerprint:
        return (asked,)
    return (asked, (principal, session, attempt.final_fingerprint))


def _plain(value: Any) -> Any:
    """A copy that holds what any store would: JSON."""
    return read_back(recordable_bytes(value))
