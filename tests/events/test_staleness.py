"""A source that changed since it was read is told once. Content decides, not the time of change (C11)."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.events.staleness import content_hash, note_reading, note_writing
from callgate.model.event import Draft
from callgate.model.levels import Severity
from callgate.ports import Store
from callgate.stores.memory import MemoryStore
from tests.events.stories import HandClock

PLACE: dict[str, Any] = {"user": "ada", "project": "p1", "path": "notes.md"}


async def read(store: Store, content: str | bytes, **other: Any) -> Draft | None:
    place = PLACE | other
    return await store.write(lambda tx: note_reading(tx, content=content, now=5.0, trace="t", **place))


async def write(store: Store, content: str, **other: Any) -> None:
    place = PLACE | other
    await store.write(lambda tx: note_writing(tx, content=content, now=6.0, **place))


@pytest.mark.requirement("STL-01")
async def test_a_first_reading_and_an_unchanged_second_one_say_nothing(store: Store):
    assert await read(store, "one") is None
    assert await read(store, "one") is None


@pytest.mark.requirement("STL-02", "STL-03")
async def test_changed_content_is_told_once_with_both_hashes_of_eight_hex_digits(store: Store):
    await read(store, "one")
    draft = await read(store, "two")
    assert draft is not None
    assert draft.type == "source.stale"
    assert draft.severity is Severity.WARNING
    assert draft.trace == "t"
    assert draft.payload == {
        "path": "notes.md",
        "project_id": "p1",
        "previous_hash": content_hash("one"),
        "current_hash": content_hash("two"),
        "message": "notes.md changed since it was last read",
    }
    assert re.fullmatch(r"[0-9a-f]{8}", content_hash("one"))
    assert await read(store, "two") is None


@pytest.mark.requirement("STL-03")
@pytest.mark.parametrize("other", [{"user": "grace"}, {"project": "p2"}, {"path": "other.md"}])
async def test_readings_of_another_user_project_or_path_are_independent(store: Store, other: dict[str, str]):
    await read(store, "one")
    assert await read(store, "two", **other) is None
    assert await read(store, "one") is None


@pytest.mark.requirement("STL-04")
async def test_content_decides_and_not_when_it_was_touched(store: Store):
    place: dict[str, Any] = {**PLACE, "content": "same", "trace": "t"}
    assert await store.write(lambda tx: note_reading(tx, now=1.0, **place)) is None
    assert await store.write(lambda tx: note_reading(tx, now=99.0, **place)) is None


@pytest.mark.requirement("STL-05")
async def test_a_write_through_the_gate_refreshes_the_writers_own_record(store: Store):
    await read(store, "one")
    await read(store, "one", user="grace")
    await write(store, "two")
    assert await read(store, "two") is None
    assert await read(store, "two", user="grace") is not None


@pytest.mark.requirement("STL-05")
async def test_the_record_is_bounded(clock: HandClock):
    store = MemoryStore(clock=clock, readings=3)
    await store.open()
    for number in range(5):
        await read(store, "one", path=f"{number}.md")
    kept = await store.read(lambda reader: [reader.reading("ada", "p1", f"{number}.md") for number in range(5)])
    assert [found is not None for found in kept] == [False, False, True, True, True]


async def test_any_text_and_any_bytes_can_be_read(store: Store):
    assert await read(store, "\ud800 a lone surrogate") is None
    assert await read(store, b"\xff\x00") is not None
    assert content_hash("é") == content_hash("é".encode())


@given(st.binary(), st.binary())
def test_equal_contents_have_equal_hashes_and_others_do_not(one: bytes, other: bytes):
    assert (content_hash(one) == content_hash(other)) == (one == other)


async def test_a_note_that_comes_after_that_of_a_later_call_says_nothing(store: Store):
    async def seen(content: str, at: float) -> Draft | None:
        return await store.write(lambda tx: note_reading(tx, content=content, now=at, trace="t", **PLACE))

    await seen("one", 10.0)
    assert await seen("two", 12.0) is not None
    assert await seen("one", 11.0) is None
    await store.write(lambda tx: note_writing(tx, content="one", now=11.5, **PLACE))
    assert await seen("two", 13.0) is None
    # A clock that was set back by more than notes lag is believed.
    assert await seen("three", 13.0 - 3600) is not None
