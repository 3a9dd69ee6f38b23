"""Several processes on one SQLite file: together, killed, forked."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path

import pytest

from callgate.model.attempt import AttemptState
from callgate.model.event import Event
from callgate.model.ids import uuid7
from callgate.ports import Reader
from callgate.stores.sqlite import SqliteStore
from tests.contracts.makers import HandClock, a_draft, an_attempt
from tests.contracts.test_events import assert_chained

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store" / "callgate.db"


@asynccontextmanager
async def opened(path: Path) -> AsyncGenerator[SqliteStore]:
    store = SqliteStore(path, clock=HandClock())
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def child(path: Path, what: str, name: str = "x") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.stores.child", str(path), what, name]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def waiting(handles: tuple[int, ...]) -> subprocess.Popen[bytes]:
    """A process that has those handles until its input ends."""
    return subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=handles)


def end_of(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    return output.splitlines()


def assert_all_chained(events: list[Event]) -> None:
    assert [event.position for event in events] == list(range(1, len(events) + 1))
    for _, stream in groupby(sorted(events, key=lambda event: event.stream), key=lambda event: event.stream):
        assert_chained(list(stream))


@pytest.mark.crash
@pytest.mark.requirement("IDM-11")
@pytest.mark.parametrize("after", [5, 400])
async def test_what_was_acknowledged_before_a_kill_is_there_and_the_chain_holds(path: Path, after: int):
    process = child(path, "claim")
    assert process.stdout is not None
    lines = [process.stdout.readline().split() for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    lines += [line.split() for line in process.stdout.read().splitlines() if line]
    process.wait(60)
    process.stdout.close()
    owner = lines[0][1]
    claimed = {line[1] for line in lines if line[0] == "claimed"}
    settled = {line[1] for line in lines if line[0] == "settled" and len(line) == 2}
    async with opened(path) as store:
        assert not store.owner_alive(owner)
        rows = {row.key.key: row for row in await store.read(lambda reader: reader.attempts())}
        assert claimed <= rows.keys()
        assert all(rows[key].state is AttemptState.SUCCEEDED for key in settled)
        events = await store.read(lambda reader: reader.events())
        assert_all_chained(events)
        assert {event.call for event in events if event.type == "claimed"} == rows.keys()
        started = await store.read(lambda reader: reader.attempts(state=AttemptState.STARTED, owner=owner))
        assert started
        opening = events[-1]
        assert opening.causes == (events[-2].hash,)


@pytest.mark.crash
async def test_a_dead_owners_file_stays_until_its_rows_are_dealt_with(path: Path):
    process = child(path, "claim")
    assert process.stdout is not None
    owner = process.stdout.readline().split()[1]
    process.stdout.readline()
    file = path.with_name("callgate.db.owners") / owner
    async with opened(path) as store:
        assert store.owner_alive(owner)
        store.forget_owner(owner)
        assert file.exists()
        process.kill()
        process.communicate(timeout=60)
        assert not store.owner_alive(owner)
    async with opened(path) as store:
        assert file.exists()
        rows = await store.read(lambda reader: reader.attempts(state=AttemptState.STARTED))
        assert {row.owner for row in rows} == {owner}
        store.forget_owner(owner)
        assert not file.exists()
        assert not store.owner_alive(owner)


async def test_an_owner_that_left_no_row_is_forgotten_at_the_next_opening(path: Path):
    async with opened(path) as store:
        await store.write(lambda tx: tx.put_attempt(an_attempt("k", owner=store.owner)))
    folder = path.with_name("callgate.db.owners")
    assert [file.name for file in folder.iterdir()] == [store.owner]
    stray = uuid7()
    (folder / stray).touch()
    (folder / "not an owner").touch()
    async with opened(path) as second:
        assert {file.name for file in folder.iterdir()} == {store.owner, second.owner, "not an owner"}
        assert not second.owner_alive(stray)
        assert not second.owner_alive(store.owner)


async def test_who_is_refused_at_the_opening_forgets_no_owner(path: Path):
    async with opened(path):
        pass
    stray = path.with_name("callgate.db.owners") / uuid7()
    stray.touch()

    def refuse(_: Reader) -> None:
        raise LookupError("not with this key")

    with pytest.raises(LookupError, match="not with this key"):
        await SqliteStore(path, clock=HandClock()).open(refuse)
    assert stray.exists()


async def test_an_owner_is_alive_until_the_last_process_that_it_gave_its_handles_is_gone(path: Path):
    async with opened(path) as other:
        async with opened(path) as store:
            await store.write(lambda tx: tx.put_attempt(an_attempt("k", owner=store.owner)))
            waits = waiting(store.handles_for_children())
        assert store.handles_for_children() == ()
        assert other.owner_alive(store.owner)
        assert store.owner not in other.gone_owners()
        waits.communicate(timeout=60)
        assert not other.owner_alive(store.owner)
        assert other.gone_owners() == [store.owner]


@pytest.mark.parametrize("name", ["../callgate.db", "", "x" * 300, "owner\x00", "not-a-uuid"])
async def test_whoever_cannot_be_an_owner_is_not_said_to_be_gone(path: Path, name: str):
    async with opened(path) as store:
        assert store.owner_alive(name)
        store.forget_owner(name)
    async with opened(path):
        pass


async def test_a_lock_file_that_is_a_link_proves_nothing(path: Path, tmp_path: Path):
    async with opened(path) as store:
        (tmp_path / "elsewhere").touch()
        owner = uuid7()
        (path.with_name("callgate.db.owners") / owner).symlink_to(tmp_path / "elsewhere")
        assert store.owner_alive(owner)


async def test_two_stores_on_one_file_in_one_process_take_turns(path: Path):
    async with opened(path) as one, opened(path) as two:
        assert one.store_id == two.store_id

        async def caller(store: SqliteStore, name: str) -> None:
            for n in range(20):
                await store.write(lambda tx, n=n: tx.append(a_draft(call=f"{name}-{n}")))
                assert await store.read(lambda reader, n=n: reader.events(call=f"{name}-{n}"))

        await asyncio.gather(*(caller(store, f"{who}{n}") for who, store in (("a", one), ("b", two)) for n in range(5)))
        assert one.owner_alive(two.owner)
        assert two.owner_alive(one.owner)
        events = await one.read(lambda reader: reader.events())
        assert len(events) == 202
        assert_all_chained(events)


async def test_rows_that_another_process_changed_are_seen_as_they_are(path: Path):
    async with opened(path) as one, opened(path) as two:
        await one.write(lambda tx: tx.put_attempt(an_attempt("k", owner=one.owner)))
        await two.write(
            lambda tx: tx.put_attempt(an_attempt("k", owner=two.owner, fence=2, state=AttemptState.UNKNOWN))
        )
        taken = await one.write(lambda tx: tx.attempt(an_attempt("k").key))
        assert taken == an_attempt("k", owner=two.owner, fence=2, state=AttemptState.UNKNOWN)
        assert await one.write(lambda tx: tx.unresolved("agent", "s1", "asked-k")) == taken


@pytest.mark.slow
async def test_four_processes_make_and_fill_one_store_together(path: Path):
    processes = [child(path, "write", str(n)) for n in range(4)]
    for process in processes:
        assert (await asyncio.to_thread(end_of, process))[-1] == "done"
    async with opened(path) as store:
        events = await store.read(lambda reader: reader.events())
        assert_all_chained(events)
        for kind in ("unit", "behind"):
            calls = [event.call or "" for event in events if event.type == kind]
            assert sorted(calls) == sorted(f"{n}-{i}" for n in range(4) for i in range(100))
        cited = {cause for event in events for cause in event.causes}
        ends = {
            head.hash
            for stream, head in (await store.read(lambda reader: reader.heads())).items()
            if stream != store.owner
        }
        assert ends <= cited


@pytest.mark.crash
async def test_a_forked_child_keeps_nothing_of_its_parents_store_alive(path: Path):
    process = child(path, "fork_and_die")
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(6)]
    process.wait(60)
    owner, grandchild = lines[-1].split()
    try:
        words = "child: the store is its parent process's; fork before it is opened, or start the process with spawn"
        assert lines[1:-1] == [words] * 4
        async with opened(path) as store:
            assert not store.owner_alive(owner)
            assert_all_chained(await store.read(lambda reader: reader.events()))
    finally:
        os.kill(int(grandchild), signal.SIGKILL)
        process.stdout.close()


@pytest.mark.slow
async def test_a_forked_child_opens_no_store_that_its_parent_had_open_then_nor_do_its_own_forks(path: Path):
    _, *told, done = await asyncio.to_thread(end_of, child(path, "fork_and_open"))
    refused = (
        f"{path}: the store cannot be used: this process was forked while its parent had the store open; "
        "fork before it is opened, or start the process with spawn"
    )
    assert told == [f"{who}: {refused}" for who in ("child", "its fork", "child, when the parent has closed")]
    assert done == "done 0"
    async with opened(path) as store:
        events = await store.read(lambda reader: reader.events())
        assert_all_chained(events)
        assert {event.type for event in events} >= {"parent", "parent again"}


@pytest.mark.slow
async def test_a_forked_child_opens_other_stores(path: Path):
    _, told, done = await asyncio.to_thread(end_of, child(path, "fork_and_open_another"))
    assert (told, done) == ("child: opened", "done 0")
    async with opened(path.with_name("another.db")) as store:
        assert "child" in {event.type for event in await store.read(lambda reader: reader.events())}
