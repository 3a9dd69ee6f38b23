"""What every part of the reader stands on: a connection, and how a statement is put to it."""

from __future__ import annotations

import sqlite3
from typing import Any

ALL = -1
"""SQLite's word for no limit."""
BEHIND_ALL_TEXT = b""
"""SQLite sorts every blob behind every text."""


class Queries:
    """Puts statements to one connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        """The connection."""

    def _ask(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """The rows of a statement. A transaction writes what waits before it asks."""
        return self.db.execute(statement, values)

    def _one(self, statement: str, *values: Any) -> Any:
        """The first column of the first row, or None."""
        row = self._ask(statement, *values).fetchone()
        return None if row is None else row[0]
