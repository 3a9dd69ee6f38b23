"""What the SQLite store does when the disk, the file or another process lets it down."""

import asyncio
import logging
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate.errors import StoreError, StoreUnavailable
from callgate.model.event import Draft, Event
from callgate.ports import Transaction
from callgate.stores.sqlite import SqliteStore, open_files
from tests.contracts.makers import HandClock, a_draft, an_attempt
from tests.contracts.test_events import assert_chained
from tests.waiting import until

CAN_MOUNT = hasattr(os, "geteuid") and os.geteuid() == 0


class Disk(open_files.Connection):
    """A connection whose commits fail as told: before anything is written, or after all of it was."""

    fails = 0
    after = False

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:  # pyright: ignore[reportIncompatibleMethodOverride]
        if sql != "COMMIT" or not Disk.fails:
            return super().execute(sql, *values)
        if Disk.after:
            super().execute(sql)
        error = sqlite3.OperationalError("told to fail")
        error.sqlite_errorcode = Disk.fails
        raise error


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> type[Disk]:
    real = sqlite3.connect

    def connect(*values: Any, **options: Any) -> sqlite3.Connection:
        return real(*values, **options | {"factory": Disk})

    monkeypatch.setattr(sqlite3, "connect", connect)
    monkeypatch.setattr(Disk, "fails", 0)
    monkeypatch.setattr(Disk, "after", False)
    return Disk


@pytest.fixture
async def store(tmp_path: Path, disk: type[Disk]) -> AsyncIterator[SqliteStore]:
    made = SqliteStore(tmp_path / "callgate.db", clock=HandClock())
    await made.open()
    yield made
    Disk.fails = 0
    await made.close()


def connection_of(store: SqliteStore) -> sqlite3.Connection:
    """The connection it writes on."""
    return vars(store)["_file"].session._open_transaction().db


def hearing(store: SqliteStore, last: str) -> asyncio.Event:
    """Set when an event of that type is durable."""
    heard = asyncio.Event()

    def listen(events: Sequence[Event]) -> None:
        if any(event.type == last for event in events):
            heard.set()

    store.subscribe(listen)
    return heard


async def types_of(store: SqliteStore) -> list[str]:
    events = await store.read(lambda reader: reader.events())
    assert_chained([event for event in events if event.stream == store.owner])
    return [event.type for event in events]


async def fill_up(store: SqliteStore, acknowledged: list[str]) -> None:
    """Write until the store refuses, and note what it took."""
    for name in map(str, range(5000)):

        def unit(tx: Transaction, name: str = name) -> None:
            tx.put_sealed(name, b"x" * 6000, keep_until=None)
            tx.append(a_draft(call=name))

        await store.write(unit)
        acknowledged.append(name)


def takes(store: SqliteStore, draft: Draft) -> bool:
    try:
        store.behind(draft)
    except StoreUnavailable:
        return False
    return True


def flood(store: SqliteStore) -> int:
    """Write behind until the store refuses; how many it took."""
    for taken in range(50_000):
        if not takes(store, a_draft()):
            return taken
    return 50_000


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_FULL, "the disk is full"),
        (sqlite3.SQLITE_IOERR_FSYNC, "input/output error"),
        (sqlite3.SQLITE_READONLY, "cannot be written"),
        (sqlite3.SQLITE_CORRUPT, "damaged"),
        (sqlite3.SQLITE_ERROR, "told to fail"),
    ],
)
async def test_when_a_commit_fails_nothing_is_acknowledged_and_nothing_remains(
    store: SqliteStore, disk: type[Disk], code: int, words: str
):
    await store.write(lambda tx: tx.put_attempt(an_attempt("before")))
    disk.fails = code

    def unit(tx: Transaction) -> None:
        tx.put_attempt(an_attempt("lost"))
        tx.append(a_draft("lost"))

    results = await asyncio.gather(*(store.write(unit) for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, StoreUnavailable) and words in str(result) for result in results)
    assert len({id(result) for result in results}) == 5
    assert [row.key.key for row in await store.read(lambda reader: reader.attempts())] == ["before"]
    disk.fails = 0
    await store.write(lambda tx: tx.append(a_draft("after")))
    assert await types_of(store) == ["stream.opened", "after"]
    assert await store.write(lambda tx: tx.attempt(an_attempt("lost").key)) is None


async def test_events_behind_a_failed_commit_wait_and_further_ones_are_refused_until_it_works_again(
    store: SqliteStore, disk: type[Disk]
):
    heard = hearing(store, "kept 2")
    disk.fails = sqlite3.SQLITE_FULL
    for n in range(3):
        store.behind(a_draft(f"kept {n}"))
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await store.flush()
    with pytest.raises(StoreUnavailable, match="disk is full"):
        store.behind(a_draft("refused"))
    disk.fails = 0
    await asyncio.wait_for(heard.wait(), 20)
    store.behind(a_draft("taken"))
    await store.flush()
    assert await types_of(store) == ["stream.opened", "kept 0", "kept 1", "kept 2", "taken"]


async def test_a_store_that_works_again_is_found_to_though_nobody_writes(store: SqliteStore, disk: type[Disk]):
    disk.fails = sqlite3.SQLITE_IOERR_WRITE
    with pytest.raises(StoreUnavailable):
        await store.write(lambda tx: tx.put_meta("a", "b"))
    with pytest.raises(StoreUnavailable):
        store.behind(a_draft())
    disk.fails = 0
    await until(lambda: takes(store, a_draft("taken")))
    await store.flush()
    assert await types_of(store) == ["stream.opened", "taken"]


async def test_a_commit_that_arrived_though_it_was_reported_lost_does_not_break_the_chain(
    store: SqliteStore, disk: type[Disk]
):
    disk.fails, disk.after = sqlite3.SQLITE_IOERR_FSYNC, True
    with pytest.raises(StoreUnavailable):
        await store.write(lambda tx: tx.append(a_draft("arrived")))
    disk.fails = 0
    await store.write(lambda tx: tx.append(a_draft("after")))
    assert await types_of(store) == ["stream.opened", "arrived", "after"]


async def test_events_behind_a_commit_that_arrived_though_it_was_reported_lost_are_written_once_and_heard(
    store: SqliteStore, disk: type[Disk]
):
    heard = hearing(store, "arrived 2")
    disk.fails, disk.after = sqlite3.SQLITE_IOERR_FSYNC, True
    for n in range(3):
        store.behind(a_draft(f"arrived {n}"))
    with pytest.raises(StoreUnavailable):
        await store.flush()
    disk.fails = 0
    await asyncio.wait_for(heard.wait(), 20)
    await until(lambda: takes(store, a_draft("after")))
    await store.flush()
    assert await types_of(store) == ["stream.opened", "arrived 0", "arrived 1", "arrived 2", "after"]


async def test_trouble_is_logged_once_however_long_it_lasts(
    store: SqliteStore, disk: type[Disk], caplog: pytest.LogCaptureFixture
):
    disk.fails = sqlite3.SQLITE_FULL
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            with pytest.raises(StoreUnavailable):
                await store.write(lambda tx: tx.put_meta("secret", "value"))
    assert len(caplog.records) == 1
    assert "disk is full" in caplog.text
    assert "secret" not in caplog.text


async def test_closing_a_store_that_fails_says_what_was_lost_and_lets_go(tmp_path: Path, disk: type[Disk]):
    store = SqliteStore(tmp_path / "callgate.db", clock=HandClock())
    await store.open()
    disk.fails = sqlite3.SQLITE_FULL
    for _ in range(3):
        store.behind(a_draft())
    with pytest.raises(StoreUnavailable, match=r"3 events could not be written .* disk is full"):
        await store.close()
    disk.fails = 0
    other = SqliteStore(tmp_path / "callgate.db", clock=HandClock())
    await other.open()
    assert not other.owner_alive(store.owner)
    await other.close()


async def test_a_file_that_cannot_be_written_refuses_and_still_answers(store: SqliteStore):
    await store.write(lambda tx: tx.put_meta("a", "b"))
    db = connection_of(store)
    db.execute("PRAGMA query_only = ON")
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        await store.write(lambda tx: tx.put_meta("a", "c"))
    assert await store.read(lambda reader: reader.meta("a")) == "b"
    await store.write(lambda tx: tx.put_meta("a", "d"))


async def test_a_real_lack_of_room_is_found_by_the_database_itself(store: SqliteStore):
    db = connection_of(store)
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + 20}")
    kept: list[str] = []
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await fill_up(store, kept)
    assert 0 < len(kept) < 30
    sealed = await store.read(lambda reader: [str(n) for n in range(40) if reader.sealed(str(n)) is not None])
    assert sealed == kept
    await store.write(lambda tx: tx.put_sealed("room again", b"x" * 5000, keep_until=None))


async def test_an_event_that_is_too_large_is_kept_without_its_payload(
    store: SqliteStore, caplog: pytest.LogCaptureFixture
):
    connection_of(store).setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
    store.behind(a_draft("large", payload={"text": "x" * 200_000}))
    store.behind(a_draft("x" * 200_000))
    with pytest.raises(StoreUnavailable, match="cannot hold"):
        await store.write(lambda tx: tx.append(a_draft("unit", payload={"text": "x" * 200_000})))
    await store.write(lambda tx: tx.append(a_draft("after")))
    assert await types_of(store) == ["stream.opened", "large", "after"]
    events = await store.read(lambda reader: reader.events(types=["large"]))
    assert events[0].payload == {"unrecordable": "the store cannot hold what was to be written: DataError"}
    assert "is lost" in caplog.text
    assert len(caplog.text) < 10_000


async def test_another_process_that_writes_is_waited_for_without_stopping_the_loop(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    waited: list[int] = []

    def wait(seconds: float) -> None:
        waited.append(threading.get_ident())
        time.sleep(seconds)  # as it would

    monkeypatch.setattr("callgate.stores.sqlite.session.sleep", wait)
    assert connection_of(store).execute("PRAGMA busy_timeout").fetchone() == (0,)  # SQLite itself waits for nobody
    with closing(sqlite3.connect(tmp_path / "callgate.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        waiting = asyncio.ensure_future(store.write(lambda tx: tx.put_meta("a", "b")))
        await until(lambda: len(waited) > 10)
        assert not waiting.done()
        assert await store.read(lambda reader: reader.meta("a")) is None
        other.execute("ROLLBACK")
    await asyncio.wait_for(waiting, 20)
    assert await store.read(lambda reader: reader.meta("a")) == "b"
    assert threading.get_ident() not in waited


async def test_another_process_that_writes_for_ever_is_a_clear_refusal(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("callgate.stores.sqlite.session._LOCK_WAIT_MS", 30)
    with closing(sqlite3.connect(tmp_path / "callgate.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="another process keeps it locked"):
            await store.write(lambda tx: tx.put_meta("a", "b"))
        other.execute("ROLLBACK")
    await store.write(lambda tx: tx.put_meta("a", "b"))


async def test_more_events_than_can_wait_are_refused_and_none_is_dropped(store: SqliteStore, tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "callgate.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        flushed = asyncio.ensure_future(store.flush())
        await asyncio.sleep(0)
        taken = flood(store)
        with pytest.raises(StoreUnavailable, match="wait to be written already"):
            store.behind(a_draft())
        other.execute("ROLLBACK")
    await asyncio.wait_for(flushed, 20)
    await store.flush()
    assert taken < 50_000
    assert len(await types_of(store)) == 1 + taken


async def test_a_thread_that_writes_behind_without_end_is_refused_as_well(store: SqliteStore):
    taken: list[int] = []
    thread = threading.Thread(target=lambda: taken.append(flood(store)))
    thread.start()
    thread.join(60)  # the loop has no turn meanwhile
    await store.flush()
    assert taken[0] < 50_000
    assert len(await types_of(store)) == 1 + taken[0]


async def test_a_disk_that_keeps_the_loop_waiting_is_waited_for_elsewhere(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
):
    now = 0.0
    monkeypatch.setattr("callgate.stores.sqlite.writer.perf_counter", lambda: now)

    def slow(_: Transaction) -> int:
        nonlocal now
        now += 0.03  # the slow disk
        return threading.get_ident()

    here = threading.get_ident()
    assert await store.write(slow) == here
    assert await store.write(lambda _: threading.get_ident()) != here
    for _ in range(100):
        await store.write(lambda tx: tx.put_meta("a", "b"))
    assert await store.write(lambda _: threading.get_ident()) == here


async def test_a_file_whose_place_another_store_took_is_not_written_to(
    store: SqliteStore, tmp_path: Path, disk: type[Disk]
):
    other = SqliteStore(tmp_path / "other.db", clock=HandClock())
    await other.open()
    await other.close()
    disk.fails = sqlite3.SQLITE_IOERR
    with pytest.raises(StoreUnavailable):
        await store.write(lambda tx: tx.put_meta("a", "b"))
    disk.fails = 0
    mine = tmp_path / "callgate.db"
    mine.rename(tmp_path / "moved.db")
    (tmp_path / "other.db").rename(mine)
    with pytest.raises(StoreUnavailable, match="another store's file"):
        await store.write(lambda tx: tx.put_meta("a", "b"))
    mine.rename(tmp_path / "other.db")
    (tmp_path / "moved.db").rename(mine)
    await store.write(lambda tx: tx.put_meta("a", "b"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    if not CAN_MOUNT:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this system does not let us mount")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


async def test_a_full_disk_refuses_and_room_makes_it_work_again(small_disk: Path):
    store = SqliteStore(small_disk / "callgate.db", clock=HandClock())
    await store.open()
    acknowledged: list[str] = []
    with pytest.raises(StoreUnavailable, match="disk is full"):
        await fill_up(store, acknowledged)
    with pytest.raises(StoreUnavailable):
        store.behind(a_draft())
    assert len(acknowledged) > 20
    remount(small_disk, "size=32m")
    await store.write(lambda tx: tx.append(a_draft("room again", call=None)))
    events = await store.read(lambda reader: reader.events())
    assert_chained(events)
    assert [event.call for event in events if event.call] == acknowledged
    await store.close()


async def test_a_read_only_disk_is_a_clear_error_at_opening(small_disk: Path):
    store = SqliteStore(small_disk / "callgate.db", clock=HandClock())
    await store.open()
    await store.close()
    remount(small_disk, "ro")
    with pytest.raises(StoreError, match=r"[Rr]ead-only|cannot be written"):
        await SqliteStore(small_disk / "callgate.db", clock=HandClock()).open()
