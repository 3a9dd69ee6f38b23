"""A SQLite store that is opened to look: its stream begins with its first event, and mostly never."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callgate.ports import Transaction
from callgate.stores.open import checkpoints_at, is_at
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import HandClock, a_checkpoint, a_draft


@pytest.fixture
async def path(tmp_path: Path) -> Path:
    """A store that somebody used."""
    path = tmp_path / "callgate.db"
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    await store.write(lambda tx: tx.append(a_draft()))
    await store.close()
    return path


@pytest.fixture
async def looking(path: Path) -> SqliteStore:
    store = SqliteStore(path, clock=HandClock(), looking=True)
    await store.open()
    return store


def streams(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [name for (name,) in database.execute("SELECT DISTINCT stream FROM events")]


async def test_looking_begins_no_stream(path: Path, looking: SqliteStore):
    assert await looking.read(lambda reader: len(reader.events())) == 2
    await looking.write(lambda tx: tx.put_meta("worked out", "again"))
    await looking.close()
    assert looking.owner not in streams(path)


async def test_the_first_event_begins_the_stream(looking: SqliteStore):
    looking.behind(a_draft())
    await looking.write(lambda tx: tx.append(a_draft()))
    events = await looking.read(lambda reader: reader.events())
    mine = [event for event in events if event.stream == looking.owner]
    assert [event.sequence for event in mine] == [0, 1, 2]
    assert mine[0].type == "stream.opened"
    assert mine[0].payload is not None
    assert mine[0].payload["heads"] == {events[0].stream: [1, events[1].hash]}
    await looking.write(lambda tx: tx.append(a_draft()))
    last = await looking.read(lambda reader: reader.events(after=events[-1].position))
    assert [(event.stream, event.sequence) for event in last] == [(looking.owner, 3)]
    await looking.close()


async def test_a_unit_that_fails_begins_no_stream(path: Path, looking: SqliteStore):
    def unit(tx: Transaction) -> None:
        tx.append(a_draft())
        tx.put_meta("sent", "first")
        raise KeyError

    with pytest.raises(KeyError):
        await looking.write(unit)
    assert looking.owner not in streams(path)
    await looking.write(lambda tx: tx.append(a_draft()))
    await looking.close()
    assert looking.owner in streams(path)


async def test_a_store_is_found_at_a_place_by_its_id(path: Path, looking: SqliteStore):
    assert is_at(path, looking.store_id)
    assert not is_at(path, "another")
    await looking.close()


@pytest.mark.parametrize("content", [b"", b"no database at all, " * 100], ids=["empty", "text"])
def test_another_file_is_not_the_store(tmp_path: Path, content: bytes):
    other = tmp_path / "other.db"
    other.write_bytes(content)
    assert not is_at(other, "x")


def test_what_cannot_be_read_may_be_the_store(tmp_path: Path):
    assert is_at(tmp_path / "nowhere" / "callgate.db", "x")


async def test_the_checkpoints_of_a_store_are_read_where_it_lies(path: Path, looking: SqliteStore):
    made = a_checkpoint()
    await looking.write(lambda tx: tx.put_checkpoint(made))
    assert checkpoints_at(path) == [made]
    await looking.close()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE checkpoints SET heads = 'none'")
    assert checkpoints_at(path) is None
    assert checkpoints_at(path.parent / "nowhere.db") is None
