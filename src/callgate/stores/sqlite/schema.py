"""Brings a database file to this version of the schema. Every change since version 1 is a numbered migration."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from callgate.errors import StoreError, StoreUnavailable
from callgate.model.ids import uuid7
from callgate.stores.sqlite.connection import connect, is_other
from callgate.stores.sqlite.projections import text_in

APPLICATION_ID = 0x43474154
"""Says `CGAT` in the file's header: the database is a Callgate store."""
_NAME = re.compile(r"(\d{4})_\w+\.sql")


class Migration(NamedTuple):
    """One step from a version to the next."""

    version: int
    name: str
    script: str


def migrations() -> list[Migration]:
    """Every step there is, in order."""
    folder = files("callgate.stores.sqlite").joinpath("migrations")
    return sorted(
        Migration(int(match[1]), file.name, file.read_text(encoding="utf-8"))
        for file in folder.iterdir()
        if (match := _NAME.fullmatch(file.name))
    )


def prepare(db: sqlite3.Connection, *, now: float) -> str:
    """Check that the database is ours, migrate it in one transaction, and return the store's id.

    Raises:
        StoreError: It belongs to another program, or to a newer Callgate.
        sqlite3.Error: It cannot be read or written.
    """
    steps = migrations()
    if _version(db) == steps[-1].version:
        return _store_id(db)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("BEGIN IMMEDIATE")
    try:
        _migrate(db, steps, now=now)
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    return _store_id(db)


def _migrate(db: sqlite3.Connection, steps: list[Migration], *, now: float) -> None:
    version = _version(db)
    if version > steps[-1].version:
        raise StoreError(
            f"the store has schema version {version}; this Callgate knows versions up to {steps[-1].version}: "
            "use the newer Callgate that wrote it"
        )
    if version == 0:
        _begin_store(db)
    db.create_function("text_in", 2, text_in, deterministic=True)
    for step in steps[version:]:
        for statement in _statements(step.script):
            db.execute(statement)
        db.execute("INSERT INTO schema_versions VALUES (?, ?, ?)", (step.version, step.name, now))
    db.execute("INSERT OR IGNORE INTO meta VALUES ('store_id', ?)", (uuid7(),))


def _begin_store(db: sqlite3.Connection) -> None:
    if db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_master)").fetchone()[0]:
        raise StoreError("this SQLite database belongs to another program; it was left as it is")
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    db.execute(
        "CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at REAL NOT NULL)"
    )


def _version(db: sqlite3.Connection) -> int:
    if db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        return 0
    return db.execute("SELECT max(version) FROM schema_versions").fetchone()[0]


def _store_id(db: sqlite3.Connection) -> str:
    return db.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchone()[0]


def holds(path: Path, store_id: str) -> bool:
    """Whether the store of that id is in a file; True if that cannot be told, as where it may not be read."""
    try:
        with closing(connect(path, read_only=True)) as db:
            return db.execute("SELECT value FROM meta WHERE name = 'store_id'").fetchone() == (store_id,)
    except StoreUnavailable:
        return True
    except sqlite3.Error as error:
        return not is_other(error)


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; a trigger's body is part of its statement."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
