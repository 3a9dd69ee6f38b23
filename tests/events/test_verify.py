"""Whatever is done to the record behind the gate's back is found, and said in a sentence."""

from dataclasses import replace
from typing import Any

import pytest

from callgate.errors import StoreError
from callgate.events import vocabulary
from callgate.events.anchor import AnchorFile
from callgate.events.chain import Appender
from callgate.events.checkpointer import Checkpointer
from callgate.events.links import Links
from callgate.events.report import Findings, Report, moment
from callgate.events.verify import verify_store
from callgate.model.approval import ApprovalState
from callgate.model.attempt import AttemptState
from callgate.model.event import Draft
from callgate.ports import Head, Store
from tests.events.houses import House, MemoryHouse, Rows, SqliteHouse, edit, rehash, seal, text
from tests.events.rows import approval_of, put, row_of
from tests.events.stories import HandClock, HouseKeys, Story, record, record_many

CALLS = 5


@pytest.fixture
async def signer(store: Store, keys: HouseKeys, clock: HandClock, anchors: AnchorFile) -> Checkpointer:
    """Five calls, signed and anchored, nothing after them."""
    made = Checkpointer(store, keys, clock=clock, anchors=anchors)
    await made.sign()
    await record_many(store, CALLS)
    clock.turn(60)
    await made.sign(record=False)
    assert made.problem is None
    return made


@pytest.fixture
def check(store: Store, keys: HouseKeys, anchors: AnchorFile, signer: Checkpointer):
    async def look(*, outside: bool = True) -> Report:
        anchored = anchors.look() if outside else None
        return await verify_store(store, public_keys=keys.public_keys, anchored=anchored)

    return look


def the_one(report: Report, *words: str) -> str:
    """The problem that has these words."""
    assert not report.ok
    found = [problem for problem in report.problems if all(word in problem for word in words)]
    assert found, report.problems
    return found[0]


def middle(rows: Rows) -> dict[str, Any]:
    return rows[len(rows) // 2]


async def test_what_nobody_touched_verifies_and_says_how_far_it_is_proven(check: Any, clock: HandClock, store: Store):
    report = await check()
    assert report.ok, report.problems
    assert report.problems == ()
    assert report.broken_at is None
    assert report.events == sum(report.streams.values()) == 2 + CALLS * 2
    assert report.unsigned == 0
    assert report.signed_until == report.anchored_until == clock.now()
    assert report.unanchored_since is None
    clock.turn(60)
    await record(store, Draft(type="health.changed", time=clock.now(), trace="t"))
    later = await check()
    assert later.ok
    assert later.unsigned == 1
    assert later.unanchored_since == clock.now()
    assert later.to_json()["ok"] is True


async def test_an_edited_envelope_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        middle(rows)["time"] += 1

    edit(house, change)
    report = await check()
    the_one(report, "was edited: its hash does not fit")
    row = middle(house.rows())
    assert report.broken_at == (row["stream"], row["sequence"])


async def test_an_edited_payload_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        row = next(row for row in rows if row["type"] == vocabulary.ATTEMPTED)
        row["payload"] = row["payload"].replace(b"ada@example.org", b"eve@example.org")

    edit(house, change)
    the_one(await check(), "payload of event", "(tool_call.attempted)", "was edited")


async def test_an_edited_salt_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        middle(rows)["salt"] = b"0" * 16

    edit(house, change)
    the_one(await check(), "payload", "was edited")


@pytest.mark.parametrize("payload", [b"[1, 2", b'"text"', b"[]", b"\xff", b'{"a": 1, "a": 2}'])
async def test_a_payload_that_is_no_payload_ends_no_verification(house: House, check: Any, payload: bytes):
    def change(rows: Rows) -> None:
        middle(rows)["payload"] = payload

    edit(house, change)
    report = await check()
    assert not report.ok
    assert report.events >= 2 + CALLS * 2 - 1


async def test_a_row_that_was_removed_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        del rows[4:6]

    edit(house, change)
    report = await check()
    the_one(report, "events 4 to 5 are missing from stream")
    assert report.broken_at is not None
    assert report.broken_at.sequence == 4


async def test_rows_that_were_reordered_are_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        rows[3], rows[4] = rows[4], rows[3]

    edit(house, change)
    report = await check()
    the_one(report, "stands after a later one: events were reordered")
    assert not any("missing" in problem for problem in report.problems)


async def test_one_row_rewritten_with_its_hash_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        row = middle(rows)
        row["payload"] = text({"tool": "mail.send", "tool_id": "x", "output": "nothing happened"})
        seal(row)

    edit(house, change)
    the_one(await check(), "does not follow from the event before it: one of the two was rewritten")


async def test_history_rewritten_to_the_end_is_found_by_the_signed_checkpoint(house: House, check: Any):
    def change(rows: Rows) -> None:
        row = rows[3]
        row["payload"] = text({"tool": "mail.send", "tool_id": "x", "output": "nothing happened"})
        rehash(rows, stream=row["stream"], start=row["sequence"])

    edit(house, change)
    the_one(await check(outside=False), "the checkpoint of", "saw another event", "history was rewritten")


async def test_history_rewritten_with_its_checkpoints_is_found_by_the_anchor(house: House, check: Any):
    def change(rows: Rows) -> None:
        rows[3]["payload"] = text({"tool": "mail.send", "tool_id": "x"})
        rehash(rows, stream=rows[3]["stream"], start=3)

    edit(house, change)
    house.put_checkpoints(house.checkpoints()[:1])
    inside = await check(outside=False)
    assert inside.ok, "nothing inside the store can tell"
    assert inside.unsigned > 0
    report = await check()
    the_one(report, "the anchor of", "saw another event")
    the_one(report, "saw checkpoint number 1, which the store does not have (its last is number 0)")


async def test_a_row_put_in_twice_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        again = dict(rows[2])
        again["id"] = again["id"][:-1] + ("0" if again["id"][-1] != "0" else "1")
        again["sequence"] = len(rows)
        rows.append(again)

    edit(house, change)
    the_one(await check(), "was edited")


async def test_a_cut_tail_is_found(house: House, check: Any):
    edit(house, lambda rows: rows.__delitem__(slice(-3, None)))
    report = await check(outside=False)
    the_one(report, "was cut: the checkpoint of", "saw its event 11, and it ends at 8")


async def test_a_tail_cut_with_its_checkpoint_is_found_by_the_anchor(house: House, check: Any):
    edit(house, lambda rows: rows.__delitem__(slice(-3, None)))
    house.put_checkpoints(house.checkpoints()[:1])
    report = await check()
    the_one(report, "was cut: the anchor of", "saw its event 11, and it ends at 8")


@pytest.mark.parametrize("house", ["sqlite"], indirect=True)  # a memory store has one stream
async def test_a_dropped_stream_is_found(house: House, store: Store, check: Any, signer: Checkpointer):
    name = await house.other_process([Story().draft("health.changed")])
    await signer.sign(record=False)
    assert (await check()).ok
    edit(house, lambda rows: rows.__setitem__(slice(None), [row for row in rows if row["stream"] != name]))
    report = await check(outside=False)
    the_one(report, f"stream {name} was dropped", "the checkpoint of", "saw 2 events of it, and none is left")


async def test_a_stream_that_another_one_saw_cannot_be_dropped_unseen(house: House, store: Store, check: Any):
    first = await house.other_process([Story().draft("health.changed")])
    second = await house.other_process([])
    edit(house, lambda rows: rows.__setitem__(slice(None), [row for row in rows if row["stream"] != first]))
    the_one(await check(), f"stream {first} was dropped: stream {second}, opened", "saw 2 events of it")


async def test_a_stream_of_another_store_is_found(house: House, check: Any):
    await house.other_process([])

    def change(rows: Rows) -> None:
        rows[-1]["payload"] = text({"store_id": "another", "heads": {}})
        seal(rows[-1])

    edit(house, change)
    the_one(await check(), "was opened for another store, another")


async def test_a_restored_backup_is_found(
    house: House, store: Store, keys: HouseKeys, anchors: AnchorFile, signer: Checkpointer, clock: HandClock
):
    await house.back_up()
    await record_many(store, 2)
    clock.turn(60)
    await signer.sign(record=False)
    restored = await house.restore()
    inside = await verify_store(restored, public_keys=keys.public_keys)
    assert inside.ok, "an older copy is a good store, seen from inside"
    report = await verify_store(restored, public_keys=keys.public_keys, anchored=anchors.look())
    the_one(report, "the anchor of", "which the store does not have", "an older copy was put in its place")


async def test_a_restored_backup_that_went_on_recording_is_still_found(
    house: House, store: Store, keys: HouseKeys, anchors: AnchorFile, signer: Checkpointer, clock: HandClock
):
    await house.back_up()
    await record_many(store, 2)
    await signer.sign(record=False)
    restored = await house.restore()
    going_on = Checkpointer(restored, keys, clock=clock, anchors=anchors)
    for _ in range(3):
        await record_many(restored, 2)
        clock.turn(60)
        await going_on.sign(record=False)
        assert going_on.problem is not None
    assert "not the one seen" in str(going_on.problem)
    report = await verify_store(restored, public_keys=keys.public_keys, anchored=anchors.look())
    the_one(report, "saw another checkpoint number", "history was rewritten")


async def test_a_removed_checkpoint_is_found(house: House, check: Any):
    house.put_checkpoints(house.checkpoints()[1:])
    the_one(await check(outside=False), "but checkpoints 0 to 0 are missing")


async def test_reordered_checkpoints_are_found(house: House, check: Any):
    house.put_checkpoints(house.checkpoints()[::-1])
    the_one(await check(outside=False), "the checkpoint")


async def test_a_changed_checkpoint_is_found(house: House, check: Any):
    first, *rest = house.checkpoints()
    house.put_checkpoints([replace(first, time=first.time + 1), *rest])
    report = await check(outside=False)
    the_one(report, "has a signature that does not fit: it was changed or forged")


async def test_a_checkpoint_of_somebody_else_is_found(house: House, check: Any):
    first, *rest = house.checkpoints()
    mallory = HouseKeys(b"another")
    house.put_checkpoints([replace(first, key_id=mallory.key_id), *rest])
    the_one(await check(outside=False), f"is signed with key {mallory.key_id!r}, which is not known here")


async def test_an_erased_payload_that_nobody_announced_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        row = middle(rows)
        row["payload"], row["salt"] = None, None

    edit(house, change)
    the_one(await check(), "is gone, and no event says that it was erased")


async def test_an_erased_announcement_is_found(house: House, store: Store, check: Any):
    await record(store, Draft(type=vocabulary.ERASED, time=1.0, trace="t", payload={"events": ["x"]}))

    def change(rows: Rows) -> None:
        rows[-1]["payload"], rows[-1]["salt"] = None, None

    edit(house, change)
    the_one(await check(), "(audit.erased)", "such events are never erased")


@pytest.mark.parametrize("payload", [{"events": 5}, {"events": [["x"], None]}, {}, {"other": 1}])
async def test_an_announcement_of_nonsense_announces_nothing(store: Store, check: Any, payload: dict[str, Any]):
    await record(store, Draft(type=vocabulary.ERASED, time=1.0, trace="t", payload=payload))
    assert (await check()).ok


async def test_a_ruin_is_told_in_bounded_words(house: House, store: Store, check: Any):
    await record_many(store, 80)

    def change(rows: Rows) -> None:
        for row in rows:
            row["producer"] = "somebody else"

    edit(house, change)
    report = await check()
    assert len(report.problems) == 101
    assert report.problems[-1].startswith("and ")
    assert report.problems[-1].endswith("more problems of these kinds")


@pytest.mark.requirement("EVT-16")
async def test_what_json_cannot_hold_is_recorded_as_far_as_it_can_be_and_verifies(store: Store, check: Any):
    story = Story()
    odd: list[Any] = [2**70, -(2**64), 1e300, float("nan"), "\ud800", {1, 2}, object(), {5: b"x"}, 0.1, -0.0]
    mended = Draft(type="odd.\udfff", time=float("inf"), trace="\ud800", call="\ud800", causes=("\ud800",))
    events = await record(store, *[story.draft("tool_call.progress", value=value) for value in odd], mended)
    assert events[0].payload is not None
    assert events[0].payload["value"] == 2**70
    report = await check()
    assert report.ok, report.problems


@pytest.mark.parametrize("house", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE checkpoints SET heads = 'x'", "the checkpoints cannot be read"),
        ("UPDATE approvals SET body = 'x'", "the approvals cannot be read"),
        ("UPDATE attempts SET state = 'x'", "the ledger cannot be read"),
        ("UPDATE events SET payload = '{' WHERE type = 'stream.opened'", "the openings of streams cannot be read"),
        ("UPDATE events SET causes = '{' WHERE sequence = 3", "the event at position 4 cannot be read"),
        ("UPDATE events SET payload = '{'", "the event at position 1 cannot be read"),
    ],
)
async def test_rows_that_no_reader_can_read_end_no_verification(
    house: SqliteHouse, store: Store, check: Any, statement: str, words: str
):
    story = Story(key="k1")
    await put(store, approval_of(story, ApprovalState.PENDING), row_of(story, AttemptState.STARTED))
    await record_many(store, 60)
    house.execute("DROP TRIGGER events_stand", "DROP TRIGGER events_forget", statement)
    the_one(await check(), words)


async def test_a_store_that_fails_is_no_broken_record(store: Store, keys: HouseKeys):
    await store.close()
    with pytest.raises(StoreError):
        await verify_store(store, public_keys=keys.public_keys)


@pytest.mark.parametrize("house", ["memory"], indirect=True)
async def test_a_head_that_the_store_only_believes_in_is_found(house: MemoryHouse, store: Store, check: Any):
    house.believe(Head(99, "f" * 64))
    the_one(await check(), "the store takes event 99 for the head of stream", "which ends with event 11")


async def test_an_event_put_in_later_is_found(house: House, check: Any):
    def change(rows: Rows) -> None:
        late = dict(rows[2])
        late["id"], late["sequence"] = "00000000-made-up", 2
        late["stream"] = "another"
        rows.append(late)

    edit(house, change)
    report = await check()
    the_one(report, "events 0 to 1 are missing from stream another")


def test_gaps_filled_out_of_order_are_told_as_reordered_and_what_stays_open_as_missing():
    drafts = [Draft(type="t", time=1.0, trace="t") for _ in range(10)]
    events = [event for event, _ in Appender("s", producer="p").chain(drafts)]
    findings = Findings()
    links = Links(findings)
    links.follow([events[place] for place in (0, 7, 3, 5, 1, 9, 9)])
    links.finish()
    assert [problem for problem in findings.problems if "reordered" in problem] == [
        f"event {number} (t) of stream s stands after a later one: events were reordered" for number in (3, 5, 1)
    ]
    assert [problem for problem in findings.problems if "missing" in problem] == [
        f"event {number} is missing from stream s" for number in (4, 6, 2, 8)
    ]
    assert any("event 9 (t) of stream s is there twice" in problem for problem in findings.problems)


def test_an_envelope_or_salt_without_canonical_form_fits_nothing():
    event, _ = Appender("s", producer="p").chain([Draft(type="t", time=1.0, trace="t")])[0]
    findings = Findings()
    links = Links(findings)
    links.follow([replace(event, type="\ud800"), replace(event, sequence=2**70), replace(event, salt="no hex")])
    assert len([problem for problem in findings.problems if "its hash does not fit" in problem]) == 2
    assert len([problem for problem in findings.problems if "the payload of" in problem]) == 1


def test_a_moment_beyond_the_calendar_is_still_told():
    assert moment(0) == "1970-01-01 00:00:00 UTC"
    assert moment(1e300) == "time 1e+300"
