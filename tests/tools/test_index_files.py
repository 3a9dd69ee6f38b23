"""Files that tools can make again: private, whole or not at all, and made anew where they are old or broken."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
from pathlib import Path

import pytest

from callgate.tools.index_files import Tables, forget, is_broken, open_file, transaction

OLD = Tables(1, "CREATE TABLE things (name TEXT);\nCREATE VIRTUAL TABLE words USING fts5 (text);\n")
NEW = Tables(2, "CREATE TABLE things (name TEXT, size INTEGER);\n")


def opened(place: Path | None, tables: Tables = OLD) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(open_file(place, tables, patience=0.05))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "indexes" / "things.db"


def test_nobody_but_its_owner_reads_one(place: Path):
    with opened(place) as file, transaction(file):
        file.execute("INSERT INTO things VALUES ('a')")
        modes = {stat.S_IMODE(each.stat().st_mode) for each in place.parent.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o700


def test_what_is_there_stays_and_another_version_is_made_anew(place: Path):
    with opened(place) as file:
        file.execute("INSERT INTO things VALUES ('a')")
    with opened(place) as file:
        assert file.execute("SELECT * FROM things").fetchall() == [("a",)]
    with opened(place, NEW) as file:
        assert file.execute("SELECT * FROM things").fetchall() == []
        assert [name for (name,) in file.execute("SELECT name FROM sqlite_master")] == ["things"]


def test_a_transaction_that_does_not_end_well_leaves_nothing():
    with opened(None) as file:
        with pytest.raises(sqlite3.OperationalError), transaction(file):
            file.execute("INSERT INTO things VALUES ('a')").execute("INSERT INTO nothing VALUES (1)")
        assert file.execute("SELECT * FROM things").fetchall() == []


def test_what_is_no_index_is_broken_and_can_be_made_anew(place: Path):
    place.parent.mkdir()
    place.write_bytes(b"no database at all" * 100)
    with pytest.raises(sqlite3.DatabaseError) as raised:
        open_file(place, OLD, patience=0.05)
    assert is_broken(raised.value)
    forget(place)
    with opened(place) as file:
        assert file.execute("SELECT * FROM things").fetchall() == []


def test_one_that_somebody_else_writes_is_busy_and_not_broken(place: Path):
    with opened(place) as file, transaction(file), opened(place) as other:
        with pytest.raises(sqlite3.OperationalError) as raised, transaction(other):
            pass
        assert not is_broken(raised.value)
