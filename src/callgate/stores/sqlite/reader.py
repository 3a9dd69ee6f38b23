"""What can be asked of the SQLite store: everything the port's reader promises."""

from __future__ import annotations

from typing import Any

from callgate.events.recordable import read_back
from callgate.ports import Checkpoint, Head, Reading
from callgate.stores.sqlite.events import EventReader
from callgate.stores.sqlite.queries import ALL
from callgate.stores.sqlite.statements import load

SQL = load("rest")


class SqliteReader(EventReader):
    """A view of everything, as of the connection's open transaction."""

    def sealed(self, sealed_id: str) -> bytes | None:
        return self._one(SQL["sealed"], sealed_id)

    def checkpoints(self) -> list[Checkpoint]:
        return [_checkpoint(row) for row in self._ask(SQL["checkpoints"])]

    def reading(self, user: str, project: str, path: str) -> Reading | None:  # noqa: PLR0917
        row = self._ask(SQL["reading"], user, project, path).fetchone()
        return None if row is None else Reading(*row)

    def meta(self, name: str) -> str | None:
        return self._one(SQL["meta"], name)

    def projection(self, name: str, key: str) -> dict[str, Any] | None:
        body = self._one(SQL["projection"], name, key)
        return None if body is None else read_back(body)

    def projections(self, name: str, *, limit: int | None = None, newest_first: bool = False) -> list[dict[str, Any]]:
        statement = SQL["projections_newest"] if newest_first else SQL["projections"]
        return [read_back(row[0]) for row in self._ask(statement, name, ALL if limit is None else limit)]


def _checkpoint(row: tuple[Any, ...]) -> Checkpoint:
    heads = {stream: Head(*head) for stream, head in read_back(row[3]).items()}
    return Checkpoint(id=row[0], time=row[1], stream=row[2], heads=heads, key_id=row[4], signature=row[5])
