"""Corners of the SQLite store that the contract cannot reach."""

import asyncio
import errno
import sqlite3
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, cast

import pytest

from callgate.errors import StoreError, StoreUnavailable
from callgate.events.chain import Appender
from callgate.model.attempt import Attempt, AttemptKey, AttemptState
from callgate.ports import Reader, Reading, Transaction
from callgate.stores.open import is_at
from callgate.stores.sqlite import SqliteStore, forks, locks, open_files
from callgate.stores.sqlite.known import Known
from callgate.stores.sqlite.readable import readable
from callgate.stores.sqlite.session import Session
from tests.contracts.makers import HandClock, a_draft, an_attempt
from tests.waiting import until


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "callgate.db"


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncGenerator[SqliteStore]:
    store = SqliteStore(path, clock=HandClock(), **options)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def test_the_whole_ledger_can_be_read_a_page_at_a_time(path: Path):
    rows = [an_attempt(f"{n:02}", call_id=f"c{n}") for n in range(7)] + [
        an_attempt("00")._replace(key=AttemptKey(*who, "00")) for who in (("agent", "s0"), ("a", "s9"), ("agent", "s2"))
    ]

    def put(tx: Transaction) -> None:
        for row in rows:
            tx.put_attempt(row)

    def pages(reader: Any) -> list[Attempt]:
        seen: list[Attempt] = []
        last: AttemptKey | None = None
        while page := reader.attempts_after(last, 4):
            seen += page
            last = page[-1].key
        return seen

    async with opened(path) as store:
        await store.write(put)
        assert await store.read(pages) == sorted(rows, key=lambda row: row.key)


async def test_readings_are_pruned_now_and_then_and_stay_bounded(path: Path):
    def count(reader: Reader) -> int:
        return sum(reader.reading("ada", "p", str(n)) is not None for n in range(300))

    def put(tx: Transaction) -> None:
        for n in range(300):
            tx.put_reading("ada", "p", str(n), Reading("d", 1.0))

    async with opened(path, readings=96) as store:
        await store.write(put)
        assert 96 <= await store.read(count) <= 96 + 3
    async with opened(path, readings=20) as store:
        await store.write(lambda tx: tx.put_reading("ada", "p", "0", Reading("d", 1.0)))
        assert await store.read(count) == 20


async def test_calls_that_never_end_do_not_grow_what_the_writer_knows(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("callgate.stores.sqlite.known._STARTED_AT_MOST", 5)
    async with opened(path) as store:
        for n in range(12):
            await store.write(lambda tx, n=n: tx.put_attempt(an_attempt(str(n))))
        session: Any = vars(store)["_file"].session
        known = cast("Known", vars(session)["_known"])
        assert len(known.started) <= 6
        assert await store.write(lambda tx: tx.attempt(an_attempt("0").key)) == an_attempt("0")


async def test_what_a_child_gets_by_a_fork_it_cannot_use(path: Path):
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    await store.read(lambda reader: reader.meta("a"))
    vars(forks)["_abandon_all"]()  # what runs in the child
    with pytest.raises(StoreUnavailable, match="its parent process's"):
        await store.write(lambda tx: tx.put_meta("a", "b"))
    with pytest.raises(StoreUnavailable, match="its parent process's"):
        await store.read(lambda reader: reader.meta("a"))
    await store.close()
    async with opened(path) as other:
        assert not other.owner_alive(store.owner)


@pytest.fixture
def inherited(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database that the parent had open, as it is for a forked child."""
    path.touch()
    found = path.stat()
    # What a fork leaves in the child; its own in the process of the tests would be there for all of them.
    monkeypatch.setattr(vars(open_files)["_files"], "_inherited", {(found.st_dev, found.st_ino)})
    return path


async def test_a_file_that_the_parent_had_open_is_opened_under_no_name_and_to_no_end(inherited: Path):
    linked = inherited.with_name("linked.db")
    linked.hardlink_to(inherited)
    for name in (inherited, linked):
        with pytest.raises(StoreError, match="forked while its parent had the store open"):
            await SqliteStore(name, clock=HandClock()).open()
        assert is_at(name, "whose nobody can tell")


async def test_a_store_that_was_never_used_can_be_abandoned(path: Path):
    SqliteStore(path, clock=HandClock()).abandon()


async def test_an_sqlite_that_is_too_old_is_a_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 31, 0))
    with pytest.raises(StoreError, match="too old"):
        await SqliteStore(path, clock=HandClock()).open()


def held(_: int) -> bool:
    return False


async def test_a_file_system_that_does_not_lock_is_a_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "take", refuse)
    with pytest.raises(StoreError, match="No locks available"):
        await SqliteStore(path, clock=HandClock()).open()
    monkeypatch.setattr(locks, "take", held)
    with pytest.raises(StoreError, match="somebody has it"):
        await SqliteStore(path, clock=HandClock()).open()


async def test_where_locks_cannot_be_probed_nobody_is_said_to_be_gone(path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(_: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    async with opened(path) as one, opened(path) as two:
        monkeypatch.setattr(locks, "probe", refuse)
        assert one.owner_alive(two.owner)
        monkeypatch.undo()


def fail(asked: Any) -> None:
    """Find something wrong with the database."""
    asked.db.execute("SELECT * FROM nowhere")


async def test_a_database_that_fails_under_a_unit_is_not_the_units_failure(path: Path):
    async with opened(path) as store:
        with pytest.raises(StoreUnavailable, match="cannot be used"):
            await store.write(fail)
        await store.write(lambda tx: tx.put_meta("a", "b"))


async def test_a_query_that_the_database_cannot_answer_is_refused_and_the_next_one_works(path: Path):
    async with opened(path) as store:
        with pytest.raises(StoreUnavailable, match="cannot be used"):
            await store.read(fail)
        with pytest.raises(sqlite3.ProgrammingError):
            await store.read(lambda reader: reader.meta(object()))  # pyright: ignore[reportArgumentType]
        assert await store.read(lambda reader: reader.meta("a")) is None


async def test_unfit_writes_of_one_unit_are_found_out_whoever_sends_them(path: Path):
    """The unit after it raises, and so makes them go out; events written behind keep their place among them."""
    odd = an_attempt("odd", tool="\ud800")

    def raises(tx: Transaction) -> None:
        tx.put_attempt(an_attempt("dropped"))
        raise ZeroDivisionError

    async with opened(path) as store:
        store.behind(a_draft("first"))
        writes = [
            store.write(lambda tx: tx.put_attempt(odd)),
            store.write(raises),
            store.write(lambda tx: tx.append(a_draft("last"))),
        ]
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(result) for result in results] == [StoreUnavailable, ZeroDivisionError, type(None)]
        assert "UnicodeEncodeError" in str(results[0])
        events = await store.read(lambda reader: reader.events(after=1))
        assert [event.type for event in events] == ["first", "last"]
        assert await store.read(lambda reader: reader.attempts()) == []


async def test_a_database_that_fails_while_units_are_sorted_out_refuses_them_all(path: Path):
    runs: list[int] = []

    def fails_at_the_second_run(tx: Any) -> None:
        runs.append(1)
        if len(runs) > 1:
            fail(tx)

    async with opened(path) as store:
        odd = an_attempt("odd", tool="\ud800")
        writes = [store.write(lambda tx: tx.put_attempt(odd)), store.write(fails_at_the_second_run)]
        results = await asyncio.gather(*writes, return_exceptions=True)
        assert [type(result) for result in results] == [StoreUnavailable] * 2
        await store.write(lambda tx: tx.put_attempt(an_attempt("fine")))
        assert await store.read(lambda reader: reader.attempts()) == [an_attempt("fine")]


async def test_a_store_that_works_again_at_once_is_not_probed(path: Path):
    async with opened(path) as store:
        with pytest.raises(StoreUnavailable):
            await store.write(fail)
        await store.write(lambda tx: tx.put_meta("a", "b"))
        await until(lambda: vars(vars(store)["_writer"])["_retry"] is None)
        assert await store.read(lambda reader: reader.meta("probe")) is None


async def test_a_unit_nobody_waits_for_any_more_is_not_begun(path: Path):
    async with opened(path) as store:
        ran: list[str] = []
        write = asyncio.ensure_future(store.write(lambda tx: ran.append("ran")))
        asyncio.get_running_loop().call_soon(write.cancel)
        with pytest.raises(asyncio.CancelledError):
            await write
        await store.flush()
        assert ran == []


async def test_a_writer_cancelled_during_the_commit_is_left_alone_and_the_unit_stands(path: Path):
    async with opened(path) as store:
        ran = asyncio.Event()

        def unit(tx: Transaction) -> None:
            tx.put_meta("a", "b")
            ran.set()

        write = asyncio.ensure_future(store.write(unit))
        await ran.wait()
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        await store.flush()
        assert await store.read(lambda reader: reader.meta("a")) == "b"


async def test_a_commit_that_fails_under_a_cancelled_writer_harms_nobody(path: Path):
    async with opened(path) as store:
        ran = asyncio.Event()

        def unit(tx: Any) -> None:
            tx.put_meta("a", "b")
            tx.db.execute("COMMIT")  # so that the store's own finds nothing to commit
            ran.set()

        write = asyncio.ensure_future(store.write(unit))
        await ran.wait()
        write.cancel()
        with pytest.raises(asyncio.CancelledError):
            await write
        await store.write(lambda tx: tx.put_meta("a", "c"))


def test_a_store_whose_loop_has_ended_still_writes_what_waits_when_it_is_closed(path: Path):
    store = SqliteStore(path, clock=HandClock())

    async def use() -> None:
        await store.open()
        for n in range(3000):
            store.behind(a_draft(call=str(n)))

    asyncio.run(use())
    vars(store)["_writer"]._timer = None
    with pytest.raises(StoreUnavailable, match="has ended"):
        store.behind(a_draft())
    asyncio.run(store.close())
    with closing(sqlite3.connect(path)) as db:
        calls = db.execute("SELECT call FROM events WHERE call IS NOT NULL ORDER BY position").fetchall()
    assert calls == [(str(n),) for n in range(3000)]


def test_a_session_without_a_connection_commits_nothing(path: Path):
    session = Session(path, prepare=lambda _: None, appender=Appender("s", producer="p"), readings=1)
    with pytest.raises(StoreUnavailable):
        session.commit()


def move(path: Path, to: Path) -> None:
    path.rename(to)


async def test_a_file_that_is_gone_while_closing_leaves_the_owners_file_for_recovery(path: Path):
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    await store.write(lambda tx: tx.put_attempt(an_attempt("k", owner=store.owner)))
    move(path, path.with_name("moved.db"))
    await store.close()
    assert (path.with_name("callgate.db.owners") / store.owner).exists()


async def test_a_stream_that_cannot_be_opened_is_a_clear_error(path: Path, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise StoreError("no stream today")

    monkeypatch.setattr("callgate.stores.sqlite.opening.open_stream", refuse)
    store = SqliteStore(path, clock=HandClock())
    with pytest.raises(StoreError, match="no stream today"):
        await store.open()
    monkeypatch.undo()
    async with opened(path) as other:
        assert not other.owner_alive(store.owner)


async def test_opening_waits_for_another_process_that_makes_the_store(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("callgate.stores.sqlite.connection._SETUP_WAIT", 0.0)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        time.sleep(seconds)  # as it does without this test

    monkeypatch.setattr("callgate.stores.sqlite.session.sleep", pause)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        store = SqliteStore(path, clock=HandClock())
        opening = asyncio.ensure_future(store.open())
        await until(lambda: len(pauses) >= 3)
        assert not opening.done()
        other.execute("ROLLBACK")
    await asyncio.wait_for(opening, 20)
    await store.close()


async def test_opening_does_not_wait_for_ever(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("callgate.stores.sqlite.session._PATIENCE", 0.01)
    monkeypatch.setattr("callgate.stores.sqlite.connection._SETUP_WAIT", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="another process keeps it locked"):
            await SqliteStore(path, clock=HandClock()).open()


async def test_a_settled_row_of_an_owner_lets_its_file_go(path: Path):
    async with opened(path) as store:
        await store.write(lambda tx: tx.put_attempt(an_attempt("k", owner=store.owner, state=AttemptState.UNKNOWN)))
    await until(lambda: not list(path.with_name("callgate.db.owners").iterdir()))


async def test_owners_whose_folder_cannot_be_listed_are_taken_for_alive(path: Path, monkeypatch: pytest.MonkeyPatch):
    async with opened(path) as store:
        somebody = "0" * 8 + store.owner[8:]
        (path.with_name("callgate.db.owners") / somebody).touch()
        assert store.gone_owners() == [somebody]

        def refuse(_: object) -> list[str]:
            raise PermissionError

        monkeypatch.setattr("os.listdir", refuse)
        assert store.gone_owners() == []


def test_what_the_store_says_itself_of_a_row_is_passed_on():
    @readable("attempts")
    def make(_: object) -> None:
        raise StoreError("the disk is gone")

    with pytest.raises(StoreError, match="the disk is gone"):
        make(())


async def test_a_peek_sees_what_another_process_wrote_within_the_same_turn(path: Path):
    """Code that keeps the loop waiting may learn, within its turn, of what another process wrote."""
    async with opened(path) as store:
        await store.write(lambda tx: tx.put_meta("told", "before"))
        await asyncio.sleep(0)
        # None of this lets the loop go on: it is all one turn.
        assert await store.peek(lambda reader: reader.meta("told")) == "before"
        with closing(sqlite3.connect(path)) as other, other:
            other.execute("UPDATE meta SET value = 'after' WHERE name = 'told'")
        assert await store.peek(lambda reader: reader.meta("told")) == "after"


async def test_a_peek_that_fails_spoils_no_other(path: Path):
    async with opened(path) as store:
        await store.write(lambda tx: tx.put_meta("a", "b"))
        with pytest.raises(StoreUnavailable, match="cannot be used"):
            await store.peek(fail)
        assert await store.peek(lambda reader: reader.meta("a")) == "b"


async def test_more_units_than_one_batch_takes_are_all_answered_although_they_change_nothing(path: Path):
    async with opened(path) as store:
        asked = [store.write(lambda _, number=number: number) for number in range(600)]
        assert await asyncio.gather(*asked) == list(range(600))
