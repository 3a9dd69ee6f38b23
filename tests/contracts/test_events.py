"""The event log in every store: order, filters, chain, erasure, and what is written behind."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callgate.model.canonical import dumps
from callgate.model.event import GENESIS, Draft, Event, from_json, payload_digest
from callgate.ports import Store, Transaction
from tests.contracts.makers import HandClock, a_draft, envelope_hash


def assert_chained(events: list[Event]) -> None:
    """Every event of one stream is where its hash says."""
    previous = GENESIS
    for sequence, event in enumerate(events):
        assert (event.sequence, event.previous) == (sequence, previous)
        assert event.hash == envelope_hash(event.envelope())
        if event.payload is not None:
            assert event.payload_digest == payload_digest(dumps(event.payload), bytes.fromhex(event.salt or ""))
        previous = event.hash


async def append(store: Store, *drafts: Draft) -> None:
    def unit(tx: Transaction) -> None:
        for draft in drafts:
            tx.append(draft)

    await store.write(unit)


async def all_events(store: Store, **filters: Any) -> list[Event]:
    return await store.read(lambda reader: reader.events(**filters))


async def test_a_store_begins_with_the_opening_of_its_stream(store: Store, clock: HandClock):
    (opened,) = await all_events(store)
    assert (opened.type, opened.stream, opened.sequence, opened.position) == ("stream.opened", store.owner, 0, 1)
    assert (opened.time, opened.previous, opened.producer) == (clock.now(), GENESIS, "contract")
    assert opened.payload == {"store_id": store.store_id, "heads": {}}
    assert opened.causes == ()


@pytest.mark.requirement("EVT-11")
async def test_every_event_keeps_its_trace_and_what_a_store_records_by_itself_has_one(store: Store):
    await append(store, a_draft(call=None), a_draft(trace="other"))
    store.behind(a_draft(trace="behind"))
    await append(store, a_draft(trace="last"))
    opened, *others = await all_events(store)
    assert opened.trace.strip()
    assert [event.trace for event in others] == ["trace-1", "other", "behind", "last"]


@pytest.mark.requirement("EVT-06")
async def test_an_event_keeps_what_its_draft_said_and_survives_json(store: Store):
    draft = a_draft(causes=("c" * 64, "d" * 64), payload={"text": "naïve ☂ \x00", "n": [1, 2.5, None, True, 2**70]})
    await append(store, draft)
    event = (await all_events(store))[-1]
    kept = {name: getattr(event, name) for name in ("type", "time", "trace", "call", "causes", "payload")}
    assert kept == {name: getattr(draft, name) for name in kept}
    assert event.severity == draft.severity.value
    assert event.producer == "contract"
    again = from_json(json.loads(json.dumps(event.to_json())))
    assert again == replace(event, position=0)
    assert envelope_hash(again.envelope()) == event.hash


@pytest.mark.requirement("EVT-06")
async def test_ids_are_unique_and_sort_by_creation(store: Store):
    await asyncio.gather(*(append(store, a_draft(), a_draft()) for _ in range(60)))
    ids = [event.id for event in await all_events(store)]
    assert len(set(ids)) == 121
    assert ids == sorted(ids)


@pytest.mark.requirement("EVT-07")
async def test_events_read_back_in_append_order_and_chained(store: Store):
    await append(store, *(a_draft(f"n{n}") for n in range(3)))
    store.behind(a_draft("n3"))
    await asyncio.gather(*(append(store, a_draft(f"n{n}")) for n in range(4, 40)))
    events = await all_events(store)
    assert [event.type for event in events[1:]] == [f"n{n}" for n in range(40)]
    assert [event.position for event in events] == list(range(1, 42))
    assert_chained(events)
    assert await store.read(lambda reader: reader.heads()) == {store.owner: (40, events[-1].hash)}


@pytest.mark.requirement("EVT-07")
async def test_filters_combine_and_a_limit_bounds_and_zero_is_none(store: Store):
    await append(
        store,
        a_draft("a.one", trace="t1", call="c1"),
        a_draft("a.two", trace="t1", call="c2"),
        a_draft("b.one", trace="t2", call="c1"),
        a_draft("a.one", trace="t1", call="c1"),
        a_draft("a.[x]", trace="t1", call=None),
    )

    async def found(**filters: Any) -> list[int]:
        return [event.position for event in await all_events(store, **filters)]

    assert await found() == [1, 2, 3, 4, 5, 6]
    assert await found(after=3) == [4, 5, 6]
    assert await found(after=-5, limit=2) == [1, 2]
    assert await found(after=6) == []
    assert await found(limit=0) == []
    assert await found(trace="t1") == [2, 3, 5, 6]
    assert await found(call="c1") == [2, 4, 5]
    assert await found(trace="t1", call="c1") == [2, 5]
    assert await found(trace="t1", call="c1", after=2, limit=5) == [5]
    assert await found(types=["a.one"]) == [2, 5]
    assert await found(types=["a.*"]) == [2, 3, 5, 6]
    assert await found(types=["?.one", "stream.opened"]) == [1, 2, 4, 5]
    assert await found(types=["a.[x]"]) == [6]
    assert await found(types=["a.[nx]*"]) == []
    assert await found(types=["A.ONE"]) == []
    assert await found(types=[]) == []
    assert await found(types=["*.one"], trace="t1", call="c1", after=2, limit=1) == [5]
    assert await found(stream=store.owner, limit=2, after=1) == [2, 3]
    assert await found(stream=store.owner, call="c1", types=["b.*"]) == [4]
    assert await found(stream="another") == []


@pytest.mark.requirement("EVT-16")
async def test_a_payload_that_json_cannot_hold_does_not_break_the_log(store: Store):
    loop: dict[str, Any] = {}
    loop["itself"] = loop
    await append(
        store,
        a_draft(payload={"tool": "pay", "output": object(), "nan": float("nan"), 3: "number", (1,): "tuple"}),
        a_draft(payload={"bytes": b"\x00", "text": "\ud800", "fine": 1}),
        a_draft(payload=loop),
        a_draft("after"),
    )
    events = await all_events(store)
    assert events[1].payload == {
        "tool": "pay",
        "output": {"unrecordable": "object is not JSON"},
        "nan": {"unrecordable": "nan has no canonical form"},
        "3": "number",
        "<tuple>": "tuple",
    }
    assert events[2].payload == {"bytes": {"unrecordable": "bytes is not JSON"}, "text": "\\ud800", "fine": 1}
    assert "unrecordable" in json.dumps(events[3].payload)
    assert_chained(events)


async def test_an_envelope_with_odd_parts_is_mended_and_recorded(store: Store):
    await append(
        store,
        a_draft(trace="\ud800", call="\udfff", time=float("nan")),
        a_draft(time=float("inf"), call=None),
        a_draft(),
    )
    events = await all_events(store)
    assert (events[1].trace, events[1].call, events[1].time) == ("\\ud800", "\\udfff", 0.0)
    assert events[2].time == 0.0
    assert_chained(events)


class Striker:
    """Strikes a word, or breaks on another."""

    def suspects(self, body: bytes) -> bool:
        return b"secret" in body or b"break" in body

    def suspects_shared(self, body: bytes) -> bool:
        return self.suspects(body)

    def strike(self, value: Any) -> Any:
        if "break" in str(value):
            raise ValueError("secret")
        return json.loads(json.dumps(value).replace("secret", "***"))


async def test_a_draft_is_redacted_when_it_is_written_and_dropped_when_that_fails(store: Store):
    store.behind(a_draft(payload={"text": "a secret"}, redact=Striker()))
    await append(
        store,
        a_draft(payload={"text": "plain"}, redact=Striker()),
        a_draft(payload={"break": "secret"}, redact=Striker()),
    )
    payloads = [event.payload for event in await all_events(store, after=1)]
    assert payloads == [{"text": "a ***"}, {"text": "plain"}, {"unrecordable": "redaction failed: ValueError"}]


async def test_a_payload_that_is_written_already_is_kept_and_redacted_like_any_other(store: Store):
    def written(own: bytes, shared: bytes) -> Draft:
        return a_draft(payload=(own + shared, own, shared), redact=Striker())

    store.behind(written(b'{"a":"plain"', b',"tool":"pay"}'))
    await append(
        store,
        written(b'{"a":"a secret"', b',"tool":"pay"}'),
        written(b'{"a":1', b',"tool":"secret"}'),
        written(b'{"a":"break"', b"}"),
        a_draft(payload=(b'{"a":"secret"}', b"", b"")),
    )
    events = await all_events(store, after=1)
    assert [event.payload for event in events] == [
        {"a": "plain", "tool": "pay"},
        {"a": "a ***", "tool": "pay"},
        {"a": 1, "tool": "***"},
        {"unrecordable": "redaction failed: ValueError"},
        {"a": "secret"},
    ]
    assert_chained(await all_events(store))


async def test_a_redactor_that_breaks_when_it_looks_lets_nothing_through(store: Store):
    class Blind(Striker):
        def suspects(self, body: bytes) -> bool:
            raise OSError(body)

    await append(store, a_draft(payload=(b'{"a":"secret"}', b'{"a":"secret"}', b""), redact=Blind()))
    (told,) = await all_events(store, after=1)
    assert told.payload == {"unrecordable": "redaction failed: OSError"}


async def test_payloads_can_be_erased_and_the_chain_still_holds(store: Store):
    await append(store, *(a_draft(payload={"personal": n}) for n in range(4)))
    events = await all_events(store)
    chosen = [
        events[2].id,
        events[3].id,
        "00000000-0000-7000-8000-000000000000",
        "ffffffff-ffff-7fff-bfff-ffffffffffff",
    ]
    assert await store.write(lambda tx: tx.erase_payloads(chosen)) == 2
    assert await store.write(lambda tx: tx.erase_payloads(chosen)) == 0
    after = await all_events(store)
    assert [event.payload for event in after[1:]] == [{"personal": 0}, None, None, {"personal": 3}]
    assert [event.salt is None for event in after[1:]] == [False, True, True, False]
    assert after == [replace(event, payload=None, salt=None) if event.id in chosen else event for event in events]
    assert_chained(after)


async def test_a_unit_can_read_and_erase_its_own_events(store: Store):
    def unit(tx: Transaction) -> int:
        tx.append(a_draft("a", call="mine"))
        (event,) = tx.events(call="mine")
        tx.append(a_draft("b", call="mine"))
        assert [one.type for one in tx.events(trace="trace-1")] == ["a", "b"]
        assert tx.heads()[store.owner].sequence == 2
        return tx.erase_payloads([event.id])

    assert await store.write(unit) == 1
    events = await all_events(store)
    assert [event.payload is None for event in events] == [False, True, False]
    assert_chained(events)


async def test_events_written_behind_are_there_after_a_flush(store: Store):
    for n in range(1500):
        store.behind(a_draft(f"n{n}"))
    await store.flush()
    events = await all_events(store, after=1)
    assert [event.type for event in events] == [f"n{n}" for n in range(1500)]
    assert_chained(await all_events(store))


async def test_events_written_behind_are_written_soon_without_a_flush(store: Store):
    written = asyncio.Event()
    store.subscribe(lambda _: written.set())
    store.behind(a_draft())
    await asyncio.wait_for(written.wait(), 10)
    assert len(await all_events(store)) == 2


async def test_a_caller_who_never_yields_can_write_any_number_behind(store: Store):
    for n in range(20_000):
        store.behind(a_draft(payload={"n": n}))
    await store.flush()
    assert (await store.read(lambda reader: reader.heads()))[store.owner].sequence == 20_000


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    plan=st.lists(
        st.tuples(st.sampled_from(["write", "behind", "raise", "flush", "erase"]), st.integers(0, 3)), max_size=12
    )
)
async def test_whatever_is_done_the_log_is_what_was_acknowledged_in_order(store: Store, plan: list[tuple[str, int]]):
    expected = [event.trace for event in await all_events(store)]
    for step, (what, count) in enumerate(plan):
        names = [f"{step}.{n}" for n in range(count)]
        drafts = [a_draft(trace=name) for name in names]
        if what == "behind":
            for draft in drafts:
                store.behind(draft)
        elif what == "flush":
            await store.flush()
        elif what == "erase":
            await store.write(lambda tx: tx.erase_payloads([event.id for event in tx.events(limit=2)]))
        elif what == "write":
            await append(store, *drafts)
        else:
            with pytest.raises(ZeroDivisionError):
                await store.write(lambda tx, drafts=drafts: ([tx.append(draft) for draft in drafts] and 1 / 0) or 1 / 0)
        expected += [] if what in {"raise", "flush", "erase"} else names
    await store.flush()
    events = await all_events(store)
    assert [event.trace for event in events] == expected
    assert_chained(events)
