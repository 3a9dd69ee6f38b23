"""printf and format, as SQLite has them, but for texts that are too long.

SQLite writes a character as often as it is told to, which may take it half a minute in one step that nobody can stop,
and gives NULL for a text that is too long. Here neither is begun or given: the query is told.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Any

# A zero may be read as a flag or as a digit: what was read stays read, or many would be tried in every way.
_REPEATED = re.compile(r"%[-+ #!0,]*+(?:\*|\d+)?+\.(\*|\d+)l{0,2}c")
"""A character, and how often: nothing else is written in a way that takes long."""


class Printf:
    """SQLite's own, asked in a database of its own."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._own = sqlite3.connect(":memory:", cached_statements=16)
        self._own.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
        self.trouble: str | None = None
        """What is wrong with the text that was asked for last."""

    def offer(self, connection: sqlite3.Connection) -> None:
        """Take the place of SQLite's own functions."""
        for name in ("printf", "format"):
            connection.create_function(name, -1, self._text, deterministic=True)

    def close(self) -> None:
        """End its database."""
        self._own.close()

    def _text(self, *given: Any) -> Any:
        if not given or given[0] is None:
            return None
        template = given[0].decode("utf-8", "replace") if isinstance(given[0], bytes) else str(given[0])
        for often in _REPEATED.findall(template):
            if often == "*" or int(often) > self._longest:
                raise self._unfit("printf repeats a character too often, or * times; write how often, in digits")
        marks = ", ".join("?" * len(given))
        (made,) = self._own.execute(f"SELECT printf({marks})", given).fetchone()
        if made is None:
            raise self._unfit(f"printf makes a text of more than {self._longest} bytes")
        return made

    def _unfit(self, why: str) -> ValueError:
        self.trouble = why
        return ValueError(why)
