"""What can be asked of the SQLite store: everything the port's reader promises."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from sys import maxunicode
from typing import Any

from callgate.errors import StoreError
from callgate.events.recordable import read_back
from callgate.model.canonical import dumps
from callgate.ports import Checkpoint, Document, Head, Reading
from callgate.stores.sqlite.connection import connect
from callgate.stores.sqlite.projections import ProjectionReader
from callgate.stores.sqlite.queries import ALL, BEHIND_ALL_TEXT
from callgate.stores.sqlite.readable import readable
from callgate.stores.sqlite.statements import load

SQL = load("rest")
_HALVES, _WHOLE_AGAIN = 0xD800, 0xE000
"""Between these are no letters, but halves of some."""
_TYPES = (str, float, str, str, str, bytes)
"""Of the parts of a checkpoint."""


class SqliteReader(ProjectionReader):
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

    def document(self, area: str, key: str) -> dict[str, Any] | None:
        body = self._one(SQL["document"], area, key)
        return None if body is None else read_back(body)

    def documents(
        self,
        area: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> list[Document]:
        first, end = _range(prefix, after, newest_first=newest_first)
        statement = SQL["documents_newest"] if newest_first else SQL["documents"]
        rows = self._ask(statement, area, first, end, ALL if limit is None else limit)
        return [Document(key, read_back(body)) for key, body in rows]


def checkpoints_in(path: Path) -> list[Checkpoint] | None:
    """The checkpoints of the store in a file, oldest first; None if they cannot be read."""
    try:
        with closing(connect(path, read_only=True)) as db:
            return [_checkpoint(row) for row in db.execute(SQL["checkpoints"])]
    except (sqlite3.Error, StoreError):
        return None


def _range(prefix: str, after: str | None, *, newest_first: bool) -> tuple[str, str | bytes]:
    """The first key of a listing, and the first that is no longer of it. Texts sort as their letters' numbers do."""
    end: str | bytes = BEHIND_ALL_TEXT
    stem = prefix.rstrip(chr(maxunicode))
    if stem:
        # The next letter that can be written: half letters cannot.
        last = ord(stem[-1]) + 1
        end = stem[:-1] + chr(_WHOLE_AGAIN if last == _HALVES else last)
    if after is None:
        return prefix, end
    if newest_first:
        return prefix, after if isinstance(end, bytes) or after < end else end
    return max(prefix, f"{after}\0"), end


@readable("checkpoints")
def _checkpoint(row: tuple[Any, ...]) -> Checkpoint:
    heads = {stream: Head(*head) for stream, head in read_back(row[3]).items()}
    # Whoever reads it counts with it and makes its digest, so it has to be one to its last part.
    if tuple(map(type, row)) != _TYPES or any((type(at), type(hash_)) != (int, str) for at, hash_ in heads.values()):
        raise TypeError("another type than was written")
    dumps([*row[:3], heads, row[4]])
    return Checkpoint(id=row[0], time=row[1], stream=row[2], heads=heads, key_id=row[4], signature=row[5])
