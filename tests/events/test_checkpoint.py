"""Checkpoints cover all heads and stay small; anchors remember them outside and never pretend."""

import fcntl
import json
import logging
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate.errors import AuditBroken, StoreError
from callgate.events.anchor import AnchorFile
from callgate.events.checkpoint import (
    CHAIN,
    digest_of,
    from_json,
    last_reached,
    make_checkpoint,
    number_of,
    reached_by,
    stream_heads,
    to_json,
)
from callgate.events.checkpointer import Checkpointer
from callgate.events.signature import fault_of, fingerprint
from callgate.events.verify import verify_store
from callgate.model.event import GENESIS
from callgate.ports import Checkpoint, Store
from tests.events.houses import House, SqliteHouse
from tests.events.stories import HandClock, HouseKeys, Story, record, record_many

WITHIN = 5.0


async def sign(store: Store, keys: HouseKeys, **more: Any) -> Checkpoint | None:
    return await store.write(lambda tx: make_checkpoint(tx, keys, stream=store.owner, now=7.0, **more))


async def signed(store: Store, keys: HouseKeys, **more: Any) -> Checkpoint:
    made = await sign(store, keys, **more)
    assert made is not None
    return made


async def test_a_checkpoint_signs_the_heads_and_cites_the_one_before_it(store: Store, keys: HouseKeys):
    first = await signed(store, keys)
    await record_many(store, 1)
    second = await signed(store, keys)
    heads = await store.read(lambda reader: reader.heads())
    assert stream_heads(first)[store.owner].sequence == 0
    assert stream_heads(second)[store.owner].sequence == heads[store.owner].sequence - 1, "its own event comes after"
    assert first.heads[CHAIN] == (-1, GENESIS)
    assert second.heads[CHAIN] == (0, digest_of(first))
    assert [number_of(item) for item in (first, second)] == [0, 1]
    assert fault_of(second, keys.public_keys) is None
    events = await store.read(lambda reader: reader.events(types=["audit.checkpoint"]))
    assert [event.payload["digest"] for event in events if event.payload] == [digest_of(first), digest_of(second)]


async def test_nothing_new_is_not_signed_again_and_the_event_about_a_checkpoint_is_nothing_new(
    store: Store, keys: HouseKeys
):
    await signed(store, keys)
    assert await sign(store, keys) is None, "only the event about the first one is new"
    last = await signed(store, keys, record=False)
    heads = await store.read(lambda reader: reader.heads())
    assert stream_heads(last) == heads, "the last one covers everything"
    assert await sign(store, keys, record=False) is None


async def test_a_checkpoint_survives_json(store: Store, keys: HouseKeys):
    made = await signed(store, keys)
    assert from_json(json.loads(json.dumps(to_json(made)))) == made


@pytest.mark.parametrize(
    "change",
    [
        {"heads": 5},
        {"heads": {"s": []}},
        {"signature": "not hex"},
        {"signature": None},
        {"time": "yesterday"},
    ],
)
async def test_what_is_no_checkpoint_is_refused(store: Store, keys: HouseKeys, change: dict[str, Any]):
    body = to_json(await signed(store, keys)) | change
    with pytest.raises(ValueError, match="not a checkpoint"):
        from_json(body)


async def test_a_signature_covers_every_field(store: Store, keys: HouseKeys):
    made = await signed(store, keys)
    changes: list[dict[str, Any]] = [{"id": "x"}, {"time": 8.0}, {"stream": "x"}, {"heads": {}}, {"signature": b"x"}]
    for change in changes:
        assert "does not fit" in str(fault_of(replace(made, **change), keys.public_keys))
    assert "not known here" in str(fault_of(made, {}))
    assert "does not fit" in str(fault_of(made, {keys.key_id: b"short"}))
    assert len(fingerprint(keys.public_key)) == 39


async def test_a_lost_or_wrong_note_of_the_last_checkpoint_is_made_good_from_the_checkpoints(
    store: Store, keys: HouseKeys
):
    made = await signed(store, keys)
    expected = await store.read(lambda reader: reached_by(reader.checkpoints()))
    assert expected.digest == digest_of(made)
    for note in ("", "{}", "[1]", '{"number": "x", "digest": 1, "heads": 5}'):
        await store.write(lambda tx, note=note: tx.put_meta("audit.checkpointed", note))
        assert await store.read(last_reached) == expected


@pytest.mark.parametrize("house", ["sqlite"], indirect=True)
async def test_checkpoints_name_only_streams_that_moved_and_together_all_of_them(
    house: House, store: Store, keys: HouseKeys
):
    others = [await house.other_process([Story().draft("health.changed")]) for _ in range(3)]
    first = await signed(store, keys)
    assert set(stream_heads(first)) == {store.owner, *others}
    another = await house.other_process([])
    second = await signed(store, keys)
    assert set(stream_heads(second)) == {store.owner, another}
    reached = await store.read(last_reached)
    assert set(reached.heads) == {store.owner, *others, another}
    report = await verify_store(store, public_keys=keys.public_keys)
    assert report.ok, report.problems
    assert report.unsigned == 0


async def test_a_closed_checkpointer_has_signed_everything_and_recorded_the_end_once(
    store: Store, keys: HouseKeys, clock: HandClock
):
    signer = Checkpointer(store, keys, clock=clock)
    await signer.sign()
    await record_many(store, 2)
    await signer.close()
    await signer.close()
    report = await verify_store(store, public_keys=keys.public_keys)
    assert report.ok
    assert report.unsigned == 0
    ends = await store.read(lambda reader: reader.events(types=["stream.closed"]))
    assert len(ends) == 1
    last = (await store.read(lambda reader: reader.events()))[-1]
    assert last.type == "stream.closed"


async def test_a_checkpoint_that_cannot_be_made_harms_nobody_and_is_remembered(
    house: House, store: Store, keys: HouseKeys, clock: HandClock, caplog: pytest.LogCaptureFixture
):
    signer = Checkpointer(store, keys, clock=clock)
    await store.close()
    with caplog.at_level(logging.WARNING):
        assert await signer.sign() is None
        await signer.close()
    assert signer.problem is not None
    assert "no checkpoint" in caplog.text


async def test_anchors_follow_the_checkpoints(store: Store, keys: HouseKeys, clock: HandClock, anchors: AnchorFile):
    assert "there is no anchor file" in str(anchors.look().notes)
    signer = Checkpointer(store, keys, clock=clock, anchors=anchors)
    await signer.sign()
    await record_many(store, 1)
    made = await signer.sign(record=False)
    assert made is not None
    look = anchors.look()
    assert (look.problem, look.notes) == (None, ())
    assert [anchor.number for anchor in look.entries] == [0, 1]
    assert look.last is not None
    assert look.last.digest == digest_of(made)
    assert look.last.heads == stream_heads(made)
    assert anchors.path.stat().st_mode & 0o077 == 0
    anchors.record(made)
    assert anchors.look() == look, "anchoring twice is once"


async def test_the_history_of_anchors_is_bounded(store: Store, keys: HouseKeys, clock: HandClock, anchors: AnchorFile):
    signer = Checkpointer(store, keys, clock=clock, anchors=anchors)
    for _ in range(60):
        await record(store, Story().attempted())
        await signer.sign(record=False)
    assert signer.problem is None
    look = anchors.look()
    assert [anchor.number for anchor in look.entries] == list(range(10, 60))
    assert look.notes == (), "it was there from the first checkpoint on"


async def test_an_anchor_file_that_appears_late_says_so_for_ever(
    store: Store, keys: HouseKeys, clock: HandClock, anchors: AnchorFile
):
    await signed(store, keys)
    signer = Checkpointer(store, keys, clock=clock, anchors=anchors)
    await record_many(store, 1)
    await signer.sign()
    await record_many(store, 1)
    await signer.sign()
    assert "begins with checkpoint number 1: it was missing before" in str(anchors.look().notes)
    report = await verify_store(store, public_keys=keys.public_keys, anchored=anchors.look())
    assert report.ok
    assert any("begins with checkpoint number 1" in note for note in report.notes)


async def test_a_missing_anchor_file_is_noted_and_a_corrupt_one_is_a_problem(
    store: Store, keys: HouseKeys, clock: HandClock, anchors: AnchorFile
):
    signer = Checkpointer(store, keys, clock=clock, anchors=anchors)
    await signer.sign()
    good = anchors.path.read_bytes()
    for bad in (
        b"",
        b"{",
        b"[]",
        b'{"digest": "x"}',
        good.replace(b'"number":0', b'"number":1'),
        good[:-5],
        b"\0" * 99,
    ):
        anchors.path.write_bytes(bad)
        report = await verify_store(store, public_keys=keys.public_keys, anchored=anchors.look())
        assert "cannot be relied on" in report.problems[0]
        await record_many(store, 1)
        await signer.sign()
        assert signer.problem is not None
        assert anchors.path.read_bytes() == bad, "what cannot be read is never replaced"
    anchors.path.unlink()
    report = await verify_store(store, public_keys=keys.public_keys, anchored=anchors.look())
    assert report.ok
    assert "there is no anchor file" in report.notes[0]
    assert report.anchored_until is None


async def test_the_anchor_file_of_another_store_is_refused(
    store: Store, keys: HouseKeys, anchors: AnchorFile, tmp_path: Path
):
    anchors.record(await signed(store, keys))
    other = AnchorFile(tmp_path / "keys", "another")
    other.path.write_bytes(anchors.path.read_bytes())
    assert "another store" in str(other.look().problem)
    other.path.write_bytes(b" " * (8 * 1024 * 1024 + 1))
    assert "too large" in str(other.look().problem)


@pytest.mark.parametrize("name", ["../escape", "a/b", "", ".hidden", "x" * 200, "a\0b"])
def test_a_store_cannot_be_called_so_that_its_anchor_lies_elsewhere(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match="cannot be called"):
        AnchorFile(tmp_path, name)


async def test_anchors_are_caught_up_after_they_could_not_be_written(
    store: Store, keys: HouseKeys, clock: HandClock, anchors: AnchorFile
):
    signer = Checkpointer(store, keys, clock=clock, anchors=anchors)
    await signer.sign()
    for _ in range(3):
        await record_many(store, 1)
        await signed(store, keys)
    await record_many(store, 1)
    await signer.sign()
    assert signer.problem is None
    assert [anchor.number for anchor in anchors.look().entries] == [0, 4]


async def test_a_checkpoint_of_another_history_is_never_anchored(store: Store, keys: HouseKeys, anchors: AnchorFile):
    first = await signed(store, keys)
    await record_many(store, 1)
    second = await signed(store, keys)
    anchors.record(first)
    anchors.record(second)
    with pytest.raises(AuditBroken, match="an older copy was put in its place"):
        anchors.record(first)
    forged = replace(second, heads=second.heads | {CHAIN: replace_head(second, 1)})
    with pytest.raises(AuditBroken, match="is not the one seen"):
        anchors.record(forged)
    beyond = replace(second, heads=second.heads | {CHAIN: replace_head(second, 5)})
    with pytest.raises(AuditBroken, match="is not the one seen"):
        anchors.record(beyond, digest_at=lambda _: "0" * 64)
    last = anchors.look().last
    assert last is not None
    assert last.number == 1


def replace_head(checkpoint: Checkpoint, number: int) -> Any:
    return checkpoint.heads[CHAIN]._replace(sequence=number)


async def test_what_a_killed_writer_left_is_cleared_by_the_next_writing(
    store: Store, keys: HouseKeys, anchors: AnchorFile
):
    anchors.record(await signed(store, keys))
    folder, name = anchors.path.parent, anchors.path.name
    leftovers = [folder / f"{name}.{'0123456789abcdef'[::step]}.new" for step in (1, -1)]
    others = [folder / f"other.anchor.json.{'0' * 16}.new", folder / f"{name}.mine.new"]
    for path in (*leftovers, *others):
        path.write_text("half of it")
    await record_many(store, 1)
    anchors.record(await signed(store, keys))
    assert not any(path.exists() for path in leftovers)
    assert all(path.exists() for path in others)
    assert len(anchors.look().entries) == 2


async def test_an_anchor_that_cannot_be_written_says_so_and_leaves_the_old_one(
    store: Store, keys: HouseKeys, anchors: AnchorFile, monkeypatch: pytest.MonkeyPatch
):
    anchors.record(await signed(store, keys))
    before = anchors.path.read_bytes()
    await record_many(store, 1)
    second = await signed(store, keys)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left on device"):
            anchors.record(second)
    assert anchors.path.read_bytes() == before
    assert sorted(path.suffix for path in anchors.path.parent.iterdir()) == [".json", ".lock"]


async def test_two_writers_of_one_anchor_file_take_turns(store: Store, keys: HouseKeys, anchors: AnchorFile):
    made = [await signed(store, keys)]
    for _ in range(10):
        await record_many(store, 1)
        made.append(await signed(store, keys))
    failures: list[BaseException] = []

    def write_all() -> None:
        for checkpoint in made:
            try:
                anchors.record(checkpoint, digest_at=lambda number: digest_of(made[number]))
            except BaseException as error:  # noqa: BLE001 - told to the test
                failures.append(error)

    threads = [threading.Thread(target=write_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WITHIN)
    assert failures == []
    assert [anchor.number for anchor in anchors.look().entries] == list(range(11))


@pytest.mark.parametrize("house", ["sqlite"], indirect=True)
async def test_a_process_that_was_overtaken_by_another_raises_no_alarm(
    house: SqliteHouse, store: Store, keys: HouseKeys, clock: HandClock, anchors: AnchorFile
):
    await Checkpointer(store, keys, clock=clock, anchors=anchors).sign()
    await record_many(store, 1)
    slow = await signed(store, keys)
    other = await house.another()
    fast = Checkpointer(other, keys, clock=clock, anchors=anchors)
    await record_many(other, 1)
    await fast.sign()
    assert fast.problem is None
    by_number = {number_of(item): digest_of(item) for item in await store.read(lambda reader: reader.checkpoints())}
    anchors.record(slow, digest_at=by_number.get)
    assert [anchor.number for anchor in anchors.look().entries] == [0, 2]
    late = Checkpointer(store, keys, clock=clock, anchors=anchors)
    for number in range(3):
        await record_many(store if number % 2 else other, 1)
        await (late if number % 2 else fast).sign()
    assert (late.problem, fast.problem) == (None, None)
    report = await verify_store(store, public_keys=keys.public_keys, anchored=anchors.look())
    assert report.ok, report.problems


async def test_an_anchor_file_that_another_process_holds_is_not_waited_for_for_ever(
    store: Store, keys: HouseKeys, anchors: AnchorFile, monkeypatch: pytest.MonkeyPatch
):
    made = await signed(store, keys)
    anchors.record(made)
    monkeypatch.setattr("callgate.events.anchor._LOCK_WITHIN", 0.02)
    with anchors.path.with_name(f"{anchors.path.name}.lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="is held by another process"):
            anchors.record(made)


async def test_a_process_that_was_killed_is_signed_by_the_next(tmp_path: Path, clock: HandClock, keys: HouseKeys):
    house = SqliteHouse(clock, tmp_path / "callgate.db")
    first = await house.open()
    await record_many(first, 2)
    dead = first.owner
    await house.close()
    store = await house.open()
    made = await signed(store, keys)
    assert stream_heads(made)[dead].sequence == 4
    await house.close()
