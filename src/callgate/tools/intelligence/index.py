"""Index: what is known of one project, in SQLite. Knows nothing of files or parsers.

Several threads and processes may use one at a time: writes are short transactions, and what two of them write twice is
the same.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from callgate.tools.index_files import Tables, forget, is_broken, open_file, transaction
from callgate.tools.intelligence.words import names_in, spoken

_TABLES = Tables(2, (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8"))
_PATIENCE = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A file as it is to be known."""

    path: str
    language: str
    state: str
    unsettled: bool
    digest: str
    trouble: str = ""
    found: dict[str, Any] | None = None
    """What was extracted from it; None where it could not be."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the index says of a file, to be compared with the file."""

    id: int
    state: str
    unsettled: bool
    digest: str
    language: str


class Index:
    """One project's index, open."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, statement: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[Any]:
        """What a query finds."""
        return self._connection.execute(statement, values).fetchall()

    def files(self) -> dict[str, Known]:
        """Every file, by path."""
        found = self.rows("SELECT path, id, state, unsettled, digest, language FROM files")
        return {path: Known(id_, state, bool(unsettled), *rest) for path, id_, state, unsettled, *rest in found}

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """One transaction; nothing of it stays when it does not end well."""
        return transaction(self._connection)

    def put(self, entry: Entry) -> None:
        """Take in a file, in the place of what was known of it."""
        self.drop([entry.path])
        found = entry.found or {"lines": 0, "symbols": [], "references": {}, "chunks": []}
        values = (entry.path, entry.language, entry.state, entry.unsettled, entry.digest, found["lines"], entry.trouble)
        file = self._connection.execute(
            "INSERT INTO files (path, language, state, unsettled, digest, lines, trouble) VALUES (?, ?, ?, ?, ?, ?, ?)",
            values,
        ).lastrowid
        self._put_symbols(file, found["symbols"])
        self._put_chunks(file, found["chunks"])
        self._connection.executemany(
            "INSERT INTO names (name, file, places, uses) VALUES (?, ?, ?, ?)",
            [(name, file, places, _uses(places)) for name, places in found["references"].items()],
        )

    def _put_symbols(self, file: int | None, symbols: Iterable[dict[str, Any]]) -> None:
        for each in symbols:
            values = (each["name"], each["name"].lower(), each["qualified"], each["kind"], each["line"], each["end"])
            id_ = self._connection.execute(
                "INSERT INTO symbols (file, name, folded, qualified, kind, line, last, signature, doc)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (file, *values, each["signature"], each["doc"]),
            ).lastrowid
            self._connection.execute(
                "INSERT INTO symbol_words (rowid, words, doc) VALUES (?, ?, ?)",
                (id_, spoken(each["qualified"].split(".")), spoken(names_in(each["doc"]))),
            )

    def _put_chunks(self, file: int | None, chunks: Iterable[tuple[int, int, str]]) -> None:
        for line, last, words in chunks:
            id_ = self._connection.execute(
                "INSERT INTO chunks (file, line, last) VALUES (?, ?, ?)", (file, line, last)
            ).lastrowid
            self._connection.execute("INSERT INTO chunk_words (rowid, words) VALUES (?, ?)", (id_, words))

    def touch(self, path: str, *, state: str, unsettled: bool) -> None:
        """Note that a file has other times, and is the same."""
        values = (state, unsettled, path)
        self._connection.execute("UPDATE files SET state = ?, unsettled = ? WHERE path = ?", values)

    def rename(self, old: str, new: str, *, state: str, unsettled: bool) -> None:
        """Note that a file has another path."""
        self.drop([new])
        values = (new, state, unsettled, old)
        self._connection.execute("UPDATE files SET path = ?, state = ?, unsettled = ? WHERE path = ?", values)

    def drop(self, paths: Iterable[str]) -> None:
        """Forget files."""
        for path in paths:
            for (file,) in self.rows("SELECT id FROM files WHERE path = ?", (path,)):
                for table, of in (("symbol_words", "symbols"), ("chunk_words", "chunks")):
                    self._connection.execute(
                        f"DELETE FROM {table} WHERE rowid IN (SELECT id FROM {of} WHERE file = ?)",  # noqa: S608 - our names
                        (file,),
                    )
                for table in ("symbols", "chunks", "names"):
                    self._connection.execute(f"DELETE FROM {table} WHERE file = ?", (file,))  # noqa: S608 - our names
                self._connection.execute("DELETE FROM files WHERE id = ?", (file,))


def _uses(places: str) -> int:
    """How many of the places use what is defined under the name; a module of the name is something else."""
    return sum(letter.isalpha() and letter != "m" for letter in places)


def open_index(place: Path | None) -> sqlite3.Connection:
    """Open an index, and make it where there is none of this version, or what is there is no index.

    Args:
        place: Its file; None: in memory.
    """
    try:
        return _prepared(place)
    except OSError as error:
        raise sqlite3.OperationalError(f"its file cannot be made: {error}") from error
    except sqlite3.Error as error:
        if place is None or not is_broken(error):
            raise
    forget(place)
    return _prepared(place)


def _prepared(place: Path | None) -> sqlite3.Connection:
    connection = open_file(place, _TABLES, patience=_PATIENCE)
    try:
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("SELECT max(state || digest) FROM files").fetchone()  # damage shows where it is read
    except BaseException:
        connection.close()
        raise
    return connection
