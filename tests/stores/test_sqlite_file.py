"""The SQLite store's file: how it is made, checked, migrated, and what a later process finds in it."""

import asyncio
import json
import re
import sqlite3
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from callgate.errors import StoreError, StoreUnavailable
from callgate.model.attempt import AttemptState
from callgate.stores.sqlite import SqliteStore
from callgate.stores.sqlite.schema import migrations
from callgate.stores.sqlite.statements import load
from tests.contracts.makers import HandClock, a_draft, an_approval, an_attempt
from tests.waiting import until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "callgate.db"


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncGenerator[SqliteStore]:
    store = SqliteStore(path, clock=HandClock(), **options)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def fill(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_only_its_owner_can_read_the_file_and_its_folder(path: Path):
    async with opened(path) as store:
        await store.write(lambda tx: tx.put_meta("a", "b"))
        assert (mode(path.parent), mode(path)) == (0o700, 0o600)
        beside = {file.name: mode(file) for file in path.parent.iterdir()}
        assert beside == {
            "callgate.db": 0o600,
            "callgate.db-wal": 0o600,
            "callgate.db-shm": 0o600,
            "callgate.db.owners": 0o700,
        }
        assert [mode(file) for file in (path.parent / "callgate.db.owners").iterdir()] == [0o600]


async def test_a_store_that_was_closed_in_good_order_leaves_one_file(path: Path):
    async with opened(path):
        pass
    assert [file.name for file in path.parent.rglob("*") if file.is_file()] == ["callgate.db"]


@pytest.mark.requirement("IDM-11", "EVT-07")
async def test_what_was_written_is_there_for_the_next_process(path: Path):
    done = an_attempt("k", state=AttemptState.SUCCEEDED, ended_at=2.0, outcome=b'{"output":[1],"status":"succeeded"}')
    async with opened(path) as first:
        await first.write(
            lambda tx: (tx.put_attempt(done), tx.put_approval(an_approval("a")), tx.append(a_draft("said")))
        )
        first.behind(a_draft("behind"))
    async with opened(path) as second:
        assert second.store_id == first.store_id
        assert second.owner != first.owner
        assert await second.read(lambda reader: reader.attempt(done.key)) == done
        assert await second.read(lambda reader: reader.approval("a")) == an_approval("a")
        events = await second.read(lambda reader: reader.events())
        assert [event.type for event in events] == ["stream.opened", "said", "behind", "stream.opened"]
        assert [event.position for event in events] == [1, 2, 3, 4]
        assert await second.write(lambda tx: tx.attempt(done.key)) == done


async def test_a_stream_opens_citing_the_ends_that_nobody_cited_yet(path: Path):
    async with opened(path) as first:
        end = (await first.read(lambda reader: reader.heads()))[first.owner]
        async with opened(path) as second:
            (cited,) = await second.read(lambda reader: reader.events(stream=second.owner))
            assert cited.causes == (end.hash,)
            assert cited.payload == {"store_id": first.store_id, "heads": {first.owner: [0, end.hash]}}
        await first.write(lambda tx: tx.append(a_draft()))
        async with opened(path) as third:
            heads = await third.read(lambda reader: reader.heads())
            (cited,) = await third.read(lambda reader: reader.events(stream=third.owner))
            assert set(cited.causes) == {heads[first.owner].hash, heads[second.owner].hash}
    async with opened(path) as fourth:
        (cited,) = await fourth.read(lambda reader: reader.events(stream=fourth.owner))
        assert cited.causes == (heads[third.owner].hash,)
        assert set(await fourth.read(lambda reader: reader.heads())) == {
            one.owner for one in (first, second, third, fourth)
        }


@pytest.mark.requirement("EVT-11")
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM events",
        "UPDATE events SET type = 'forged'",
        "UPDATE events SET time = 0",
        "UPDATE events SET hash = previous",
        "UPDATE events SET position = position + 10",
        "UPDATE events SET payload = '{}'",
        "UPDATE events SET salt = x'00'",
        "UPDATE events SET payload = NULL, salt = NULL, trace = 'x'",
    ],
)
async def test_events_can_neither_be_deleted_nor_changed(path: Path, statement: str):
    async with opened(path) as store:
        await store.write(lambda tx: tx.append(a_draft()))
        with closing(sqlite3.connect(path)) as db, pytest.raises(sqlite3.IntegrityError, match="event"):
            db.execute(statement)


async def test_a_file_that_is_no_database_is_left_as_it_is(path: Path):
    fill(path, b"my diary, not a database" * 500)
    with pytest.raises(StoreError, match="not an SQLite database"):
        await SqliteStore(path, clock=HandClock()).open()
    assert content_of(path) == b"my diary, not a database" * 500


async def test_another_programs_database_is_left_as_it_is(path: Path):
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE diary (entry TEXT)")
        db.commit()
    before = content_of(path)
    with pytest.raises(StoreError, match="another program"):
        await SqliteStore(path, clock=HandClock()).open()
    assert content_of(path)[:16] == before[:16]
    with closing(sqlite3.connect(path)) as db:
        assert [row[0] for row in db.execute("SELECT name FROM sqlite_master")] == ["diary"]


async def test_a_damaged_database_is_a_clear_error(path: Path):
    async with opened(path):
        pass
    whole = content_of(path)
    fill(path, whole[:100] + b"\xde\xad" * ((len(whole) - 100) // 2))
    with pytest.raises(StoreError, match=r"callgate\.db.*(damaged|not a database)"):
        await SqliteStore(path, clock=HandClock()).open()


async def test_a_folder_in_the_place_of_the_file_is_a_clear_error(path: Path):
    fill(path / "file", b"")
    with pytest.raises(StoreError, match="cannot open the store"):
        await SqliteStore(path, clock=HandClock()).open()


async def test_a_file_in_the_place_of_the_owners_folder_is_a_clear_error(path: Path):
    path.parent.mkdir(parents=True)
    path.with_name("callgate.db.owners").write_text("in the way")
    store = SqliteStore(path, clock=HandClock())
    with pytest.raises(StoreError, match="owner"):
        await store.open()
    with pytest.raises(StoreUnavailable, match="opening it failed"):
        await store.read(lambda reader: reader.meta("a"))


async def test_a_store_of_a_newer_version_is_not_touched(path: Path):
    async with opened(path):
        pass
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO schema_versions VALUES (9999, 'from the future', 0)")
        db.commit()
    with pytest.raises(StoreError, match="schema version 9999"):
        await SqliteStore(path, clock=HandClock()).open()


async def test_the_schema_says_which_migrations_it_had(path: Path):
    async with opened(path):
        pass
    with closing(sqlite3.connect(path)) as db:
        had = db.execute("SELECT version, name FROM schema_versions").fetchall()
    assert had == [(step.version, step.name) for step in migrations()]
    assert [step.version for step in migrations()] == list(range(1, len(had) + 1))


async def test_a_migration_that_fails_leaves_the_store_as_it_was(path: Path, monkeypatch: pytest.MonkeyPatch):
    async with opened(path):
        pass
    steps = migrations()
    broken = steps[-1]._replace(
        version=len(steps) + 1, name="broken", script="CREATE TABLE half (a);\nCREATE nonsense;"
    )
    monkeypatch.setattr("callgate.stores.sqlite.schema.migrations", lambda: [*steps, broken])
    with pytest.raises(StoreError):
        await SqliteStore(path, clock=HandClock()).open()
    monkeypatch.undo()
    async with opened(path) as store:
        assert await store.read(lambda reader: reader.meta("store_id")) == store.store_id
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT 1 FROM sqlite_master WHERE name = 'half'").fetchone() is None


async def test_a_migration_brings_an_older_store_up(path: Path, monkeypatch: pytest.MonkeyPatch):
    async with opened(path) as store:
        await store.write(lambda tx: tx.put_meta("kept", "yes"))
    steps = migrations()
    added = steps[-1]._replace(version=len(steps) + 1, name="next", script="CREATE TABLE added (a TEXT);\n")
    monkeypatch.setattr("callgate.stores.sqlite.schema.migrations", lambda: [*steps, added])
    async with opened(path) as store:
        assert await store.read(lambda reader: reader.meta("kept")) == "yes"
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT max(version) FROM schema_versions").fetchone() == (len(steps) + 1,)


async def test_a_store_of_the_first_schemas_gets_a_place_for_documents(path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = migrations()
    with monkeypatch.context() as before:
        before.setattr("callgate.stores.sqlite.schema.migrations", lambda: steps[:2])
        async with opened(path) as store:
            await store.write(lambda tx: tx.put_meta("kept", "yes"))
            store_id = store.store_id
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'").fetchone() is None
    async with opened(path) as store:
        assert store.store_id == store_id
        await store.write(lambda tx: tx.put_document("notes", "a", {"n": 1}))
        assert await store.read(lambda reader: (reader.meta("kept"), reader.document("notes", "a"))) == (
            "yes",
            {"n": 1},
        )
    with closing(sqlite3.connect(path)) as db:
        had = db.execute("SELECT version, name FROM schema_versions").fetchall()
    assert had == [(step.version, step.name) for step in steps]


async def test_entries_from_before_they_could_be_looked_up_are_found(path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = migrations()[:4]
    with monkeypatch.context() as before:
        before.setattr("callgate.stores.sqlite.schema.migrations", lambda: steps)
        async with opened(path):
            pass
    bodies = {"a": '{"tool":"pay","asked_at":5.5}', "b": '{"tool":"look","asked_at":6.5}', "c": "no JSON"}
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany("INSERT INTO projections VALUES ('calls', ?, ?)", bodies.items())
    async with opened(path) as store:
        found = await store.read(lambda reader: reader.projections("calls", equal={"tool": "pay"}))
        later = await store.read(lambda reader: reader.projections_since("calls", 6.0))
    assert (found, later) == ([{"tool": "pay", "asked_at": 5.5}], [{"tool": "look", "asked_at": 6.5}])


async def test_names_from_before_are_looked_up_whole_a_nul_among_them_too(path: Path, monkeypatch: pytest.MonkeyPatch):
    steps = migrations()[:4]
    with monkeypatch.context() as before:
        before.setattr("callgate.stores.sqlite.schema.migrations", lambda: steps)
        async with opened(path):
            pass
    bodies: dict[str, dict[str, Any]] = {"a": {"session": "ops"}, "b": {"session": "ops\0evil", "tool": 3}}
    with closing(sqlite3.connect(path)) as db, db:
        written = [(key, json.dumps(body)) for key, body in bodies.items()]
        db.executemany("INSERT INTO projections VALUES ('calls', ?, ?)", written)
    async with opened(path) as store:
        for body in bodies.values():
            equal = {"session": body["session"]}
            assert await store.read(lambda reader, equal=equal: reader.projections("calls", equal=equal)) == [body]


async def test_an_empty_file_becomes_a_store(path: Path):
    fill(path, b"")
    async with opened(path) as store:
        assert store.store_id


async def test_opening_that_is_cancelled_leaves_no_living_owner(path: Path):
    store = SqliteStore(path, clock=HandClock())
    opening = asyncio.ensure_future(store.open())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    async with opened(path) as other:
        await until(lambda: not other.owner_alive(store.owner))


def test_the_statements_of_every_call_find_their_rows_by_an_index(path: Path):
    """Their cost does not grow with the number of recorded calls."""
    asyncio.run(_make(path))
    hot = {
        "attempts": [
            "by_key",
            "by_call",
            "unresolved",
            "unresolved_edited",
            "past",
            "succeeded_since",
            "edited_succeeded_since",
            "last_id",
            "progress",
        ],
        "approvals": ["by_id", "latest", "of_plan", "latest_plan", "pending", "grants_for", "grant"],
        "events": ["of_call", "of_trace", "last_position", "head", "erase"],
        "rest": ["meta", "sealed", "reading", "projection"],
    }
    with closing(sqlite3.connect(path)) as db:
        for file, names in hot.items():
            for name in names:
                statement = load(file)[name].replace("/* types */", "")
                values = [None] * (max(map(int, re.findall(r"\?(\d)", statement)), default=0) or statement.count("?"))
                plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", values)]
                searched = [step for step in plan if step.startswith(("SEARCH", "SCAN")) and "CONSTANT" not in step]
                assert searched, (name, plan)
                assert all(step.startswith("SEARCH") for step in searched), (name, plan)
        (plan,) = [row[3] for row in db.execute("EXPLAIN QUERY PLAN " + load("attempts")["by_key"], [None] * 3)]
        assert "principal=? AND session=? AND key=?" in plan


async def _make(path: Path) -> None:
    async with opened(path):
        pass
