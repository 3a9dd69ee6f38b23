"""Index files: SQLite files for what can be made again from its sources, so that a broken one is made anew.

Several processes may use one at a time, and nobody but its owner reads it: it holds what its sources say. Knows nothing
of what is kept in one: tables, and what to do where they are lost, are its category's own.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Tables:
    """What an index file has in it."""

    version: int
    """Of the tables and of what is put into them; a file of another one is made anew."""
    schema: str
    """The statements that make them."""


def open_file(place: Path | None, tables: Tables, *, patience: float) -> sqlite3.Connection:
    """Open an index file, and make it, or its tables, where there are none of this version.

    Args:
        place: Where it lies; None: in memory.
        tables: What it has in it.
        patience: Seconds to wait for another process that writes.

    Raises:
        OSError: It cannot be made.
        sqlite3.Error: It cannot be used; `is_broken` says whether making it anew would help.
    """
    if place is not None:
        _make_private(place)
    connection = sqlite3.connect(place or ":memory:", timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        if not is_current(connection, tables):
            _make(connection, tables)
    except BaseException:
        connection.close()
        raise
    return connection


def forget(place: Path) -> None:
    """Remove an index file that cannot be read; who still has it open goes on with the removed one."""
    for ending in ("", "-wal", "-shm"):
        place.with_name(place.name + ending).unlink(missing_ok=True)


def is_broken(error: sqlite3.Error) -> bool:
    """Whether what is in the file is to blame, and not that it is busy, full or not to be written."""
    if isinstance(error, sqlite3.OperationalError):
        return str(error).startswith(("no such", "malformed", "vtable constructor failed"))
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.ProgrammingError)


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """All or nothing of what is written inside."""
    with _between(connection, "BEGIN IMMEDIATE"):
        yield


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Generator[None]:
    """All that is read inside is as it was at one moment, whatever others write meanwhile."""
    with _between(connection, "BEGIN"):
        yield


@contextlib.contextmanager
def _between(connection: sqlite3.Connection, begin: str) -> Generator[None]:
    connection.execute(begin)
    try:
        yield
    except BaseException:
        if connection.in_transaction:  # after some errors SQLite has ended it by itself
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _make_private(place: Path) -> None:
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        place.touch(mode=0o600, exist_ok=False)


def is_current(connection: sqlite3.Connection, tables: Tables) -> bool:
    """Whether an open file has these tables in it."""
    return connection.execute("PRAGMA user_version").fetchone() == (tables.version,)


def _make(connection: sqlite3.Connection, tables: Tables) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    with transaction(connection):
        if not is_current(connection, tables):  # another process may have been first
            _begin_anew(connection, tables)


def _begin_anew(connection: sqlite3.Connection, tables: Tables) -> None:
    """Make the tables, whatever is there."""
    # Virtual tables first: they take the tables behind them along.
    for kind in ("sql LIKE 'CREATE VIRTUAL%'", "type = 'table' AND name NOT LIKE 'sqlite_%'"):
        for (table,) in connection.execute(f"SELECT name FROM sqlite_master WHERE {kind}").fetchall():  # noqa: S608 - ours
            connection.execute(f'DROP TABLE "{table}"')
    statement = ""
    for line in tables.schema.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""
    connection.execute(f"PRAGMA user_version = {tables.version}")
