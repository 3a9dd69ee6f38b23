"""Connections to one SQLite file: how they are set up, and what their errors mean to a person. Knows no table."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from urllib.parse import quote

from callgate.errors import StoreError, StoreUnavailable
from callgate.stores.sqlite import open_files

HEADER = b"SQLite format 3\x00"
OLDEST_SQLITE = (3, 40, 0)
_STATEMENTS_KEPT = 128
_READ_WAIT = 0.25
"""Readers wait for nobody, but for the moment in which another process mends the log of one that died."""
_SETUP_WAIT = 5.0
_SETTINGS = (
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA trusted_schema = OFF",
    # What is erased shall not stay in the file as free room; builds of SQLite differ in what they do by themselves.
    "PRAGMA secure_delete = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -16384",
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA journal_size_limit = 67108864",
)
_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the file cannot be written to",
    sqlite3.SQLITE_BUSY: "another process keeps it locked",
    sqlite3.SQLITE_LOCKED: "another connection keeps it locked",
    sqlite3.SQLITE_IOERR: "the disk reports an input/output error",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_PERM: "the file may not be opened",
    sqlite3.SQLITE_AUTH: "the file may not be opened",
    sqlite3.SQLITE_CORRUPT: "the file is damaged; restore it from a backup",
    sqlite3.SQLITE_NOTADB: "the file is not a database any more; restore it from a backup",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}


def create(path: Path, *, looking: bool = False) -> None:
    """Make the file and its folder, readable by their owner alone; leave what is there as it is.

    Args:
        path: The database.
        looking: Make nothing.

    Raises:
        StoreError: It cannot be made, is to be looked at and not there, or is not a database.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise StoreError(f"SQLite {sqlite3.sqlite_version} is too old; Callgate needs 3.40 or newer")
    try:
        # Where this process has it open it is a database, and closing it here would end the locks on it.
        header = open_files.unless_open(path, lambda: _read(path) if looking else _made(path), otherwise=HEADER)
    except OSError as error:
        raise StoreError(f"{path}: cannot open the store: {error.strerror or error}") from error
    if looking and not header:
        raise StoreError(f"there is no store at {path}")
    if header not in {b"", HEADER}:
        raise StoreError(f"{path} is not a Callgate store, and not an SQLite database at all; it was left as it is")


def _made(path: Path) -> bytes:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600))
    return _read(path)


def _read(path: Path) -> bytes:
    """How the file begins; nothing, where it is not there or was never written to."""
    if not path.exists():
        return b""
    with path.open("rb") as file:
        return file.read(len(HEADER))


def connect(path: Path, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode, usable from any thread, by one at a time.

    Raises:
        StoreUnavailable: This process was forked from one that had it open.
        sqlite3.Error: It cannot be opened.
    """
    mode = "ro" if read_only else "rw"
    connection = open_files.connect(
        path,
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=_READ_WAIT if read_only else _SETUP_WAIT,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_STATEMENTS_KEPT,
    )
    try:
        for setting in _SETTINGS:
            connection.execute(setting)
    except BaseException:
        connection.close()
        raise
    return connection


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another process or connection has what we want."""
    return _primary(error) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def is_other(error: sqlite3.Error) -> bool:
    """Whether the file is no database, or one without our tables."""
    return _primary(error) in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


def is_ours(error: BaseException) -> bool:
    """Whether the statement was wrong, and not the disk or the file."""
    return not isinstance(error, sqlite3.Error) or isinstance(
        error, (sqlite3.IntegrityError, sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError)
    )


def unavailable(error: BaseException) -> StoreUnavailable:
    """The error the caller gets: what is wrong with the store, without a word of what was to be stored."""
    if isinstance(error, sqlite3.Error):
        return StoreUnavailable(f"the store cannot be used: {_REASONS.get(_primary(error), str(error))}")
    # Other errors may quote what was to be stored; those of the store itself do not.
    return StoreUnavailable(
        f"the store cannot be used: {error if isinstance(error, StoreError) else type(error).__name__}"
    )


def _primary(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
