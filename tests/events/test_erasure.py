"""What was recorded about somebody can be forgotten, and the record still holds."""

import io
import json
from typing import Any

import pytest

from callgate.events import vocabulary
from callgate.events.checkpointer import Checkpointer
from callgate.events.erasure import erase_selected
from callgate.events.json_lines import export_jsonl
from callgate.events.projections import refresh
from callgate.events.report import Report
from callgate.events.selection import Selection
from callgate.events.verify import verify_store
from callgate.model.canonical import dumps
from callgate.ports import Reader, Store
from tests.events.stories import HandClock, HouseKeys, Story, record

WHO: dict[str, Any] = {"by": "grace", "why": "asked to be forgotten"}


def exported(reader: Reader, selection: Selection) -> bytes:
    out = io.BytesIO()
    export_jsonl(reader, out, selection=selection)
    return out.getvalue()


async def verified(store: Store, keys: HouseKeys) -> Report:
    return await verify_store(store, public_keys=keys.public_keys)


async def test_an_erasure_forgets_what_is_meant_and_the_chain_still_verifies(
    store: Store, keys: HouseKeys, clock: HandClock
):
    story, other = Story(key=None), Story(tool="other")
    signer = Checkpointer(store, keys, clock=clock)
    await record(store, story.attempted(), story.succeeded("to ada"), other.attempted(), other.succeeded())
    await signer.sign()
    count = await erase_selected(store, Selection(trace=story.trace), **WHO, clock=clock)
    assert count == 2
    everything = await store.read(lambda reader: exported(reader, Selection()))
    assert b"ada@example.org" in everything, "the other call is untouched"
    assert b"to ada" not in everything
    events = await store.read(lambda reader: reader.events())
    forgotten = [event for event in events if event.trace == story.trace]
    assert [(event.payload, event.salt) for event in forgotten] == [(None, None)] * 2
    told = events[-1]
    assert told.type == vocabulary.ERASED
    assert told.payload == {
        "events": [event.id for event in forgotten],
        "by": "grace",
        "why": "asked to be forgotten",
        "selection": {"trace": story.trace},
    }
    report = await verified(store, keys)
    assert report.ok, report.problems


async def test_erasing_again_finds_nothing_and_records_nothing(store: Store, clock: HandClock):
    await record(store, Story().attempted())
    assert await erase_selected(store, Selection(), **WHO, clock=clock) == 1
    assert await erase_selected(store, Selection(), **WHO, clock=clock) == 0
    told = await store.read(lambda reader: reader.events(types=[vocabulary.ERASED]))
    assert len(told) == 1


async def test_an_erasure_of_many_events_goes_by_units_that_each_say_what_they_erased(
    store: Store, keys: HouseKeys, clock: HandClock
):
    story = Story()
    await record(store, *[story.draft("tool_call.progress", step=step) for step in range(1200)])
    assert await erase_selected(store, Selection(types=("tool_call.progress",)), **WHO, clock=clock) == 1200
    told = await store.read(lambda reader: reader.events(types=[vocabulary.ERASED]))
    assert [len(event.payload["events"]) for event in told if event.payload] == [500, 500, 200]
    assert len({event.trace for event in told}) == 1
    assert (await verified(store, keys)).ok


async def test_what_the_proof_rests_on_is_never_erased(store: Store, keys: HouseKeys, clock: HandClock):
    signer = Checkpointer(store, keys, clock=clock)
    await signer.sign()
    await record(store, Story().attempted())
    await erase_selected(store, Selection(), **WHO, clock=clock)
    await signer.close()
    events = await store.read(lambda reader: reader.events())
    without = {event.type for event in events if event.payload is None}
    assert without == {vocabulary.ATTEMPTED}
    assert (await verified(store, keys)).ok


@pytest.mark.parametrize("missing", [{"by": " "}, {"why": ""}])
async def test_an_erasure_needs_a_name_and_a_reason(store: Store, clock: HandClock, missing: dict[str, str]):
    await record(store, Story().attempted())
    with pytest.raises(ValueError, match="needs the name"):
        await erase_selected(store, Selection(), **(WHO | missing), clock=clock)
    events = await store.read(lambda reader: reader.events())
    assert all(event.payload is not None for event in events)


async def test_projections_forget_with_the_events(store: Store, clock: HandClock):
    story = Story()
    await record(store, story.attempted(), story.succeeded())
    await refresh(store, "calls")
    await erase_selected(store, Selection(call=story.call), **WHO, clock=clock)
    await refresh(store, "calls")
    (entry,) = await store.read(lambda reader: reader.projections("calls"))
    assert entry["erased"] is True
    assert entry["status"] == "succeeded"
    names = ("tool", "role", "principal", "user", "session", "key")
    assert [entry[name] for name in names] == [None] * len(names)


async def test_a_journal_has_one_canonical_line_per_selected_event(store: Store):
    story = Story()
    events = await record(store, story.attempted(), Story().attempted(), story.succeeded())
    text = await store.read(lambda reader: exported(reader, Selection(trace=story.trace)))
    lines = text.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [events[0].id, events[2].id]
    assert all(dumps(json.loads(line)) == line for line in lines)
