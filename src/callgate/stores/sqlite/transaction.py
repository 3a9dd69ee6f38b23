"""One atomic unit of work on the SQLite store: everything it may change."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

import orjson

from callgate.events.chain import Appender
from callgate.events.recordable import recordable_bytes
from callgate.model.approval import Approval, Grant
from callgate.ports import Checkpoint, Reading
from callgate.stores.sqlite.approvals import put_approval, put_grant
from callgate.stores.sqlite.events import SQL as EVENTS
from callgate.stores.sqlite.known import Known
from callgate.stores.sqlite.projections import to_columns
from callgate.stores.sqlite.reader import SQL
from callgate.stores.sqlite.waiting import Waiting

_PRUNES_PER_BOUND = 32


class ApprovalWriter(Waiting):
    """Puts questions to people and standing answers."""

    def put_approval(self, approval: Approval) -> None:
        self._write_first()
        put_approval(self.db, approval)

    def put_grant(self, grant: Grant) -> None:
        self._write_first()
        put_grant(self.db, grant)


class DocumentWriter(ApprovalWriter):
    """Keeps and forgets what belongs to tools."""

    def put_document(self, area: str, key: str, body: dict[str, Any]) -> None:  # noqa: PLR0917
        self.do(SQL["put_document"], area, key, recordable_bytes(body).decode())

    def drop_document(self, area: str, key: str) -> bool:
        return self.do(SQL["drop_document"], area, key) > 0


class SqliteTransaction(DocumentWriter):
    """Everything a unit of work may change."""

    def __init__(self, db: sqlite3.Connection, known: Known, *, appender: Appender, readings: int) -> None:
        super().__init__(db, known, appender=appender)
        self._readings = readings
        self._unpruned = readings  # a process that remembers a single reading prunes, too

    def put_sealed(self, sealed_id: str, blob: bytes, *, keep_until: float | None) -> None:
        self.wrote = True
        self._sealed.append((sealed_id, bytearray(blob), keep_until))  # bound in less time than bytes

    def drop_sealed(self, *, before: float) -> int:
        return self.do(SQL["drop_sealed"], before)

    def erase_payloads(self, event_ids: Sequence[str]) -> int:
        return sum(self.do(EVENTS["erase"], event_id) for event_id in event_ids)

    def put_checkpoint(self, checkpoint: Checkpoint) -> None:
        heads = orjson.dumps({stream: list(head) for stream, head in checkpoint.heads.items()}).decode()
        values = (checkpoint.id, checkpoint.time, checkpoint.stream, heads, checkpoint.key_id, checkpoint.signature)
        self.do(SQL["put_checkpoint"], *values)

    def put_reading(self, user: str, project: str, path: str, reading: Reading) -> None:  # noqa: PLR0917
        self.do(SQL["put_reading"], user, project, path, reading.digest, reading.at)
        self._unpruned += 1
        if self._unpruned > self._readings // _PRUNES_PER_BOUND:
            self._unpruned = 0
            self.do(SQL["drop_readings"], self._readings)

    def put_meta(self, name: str, value: str) -> None:
        self.do(SQL["put_meta"], name, value)

    def put_projection(self, name: str, key: str, body: dict[str, Any]) -> None:  # noqa: PLR0917
        self.do(SQL["put_projection"], name, key, *to_columns(body))

    def clear_projection(self, name: str) -> None:
        self.do(SQL["clear_projection"], name)
