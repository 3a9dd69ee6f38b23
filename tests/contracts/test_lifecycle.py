"""Opening, closing, owners and loops in every store."""

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

import pytest

from callgate.errors import StoreError, StoreUnavailable
from callgate.model.event import Event
from callgate.model.ids import uuid7
from callgate.ports import Reader, Store
from tests.contracts.makers import HandClock, a_draft

WAYS = 7


async def use_in_every_way(store: Store) -> list[BaseException | None]:
    """What comes of each way to use the store."""
    raised: list[BaseException | None] = []

    async def attempt(use: Any) -> None:
        try:
            result = use()
            if inspect.isawaitable(result):
                await result
        except BaseException as error:  # noqa: BLE001
            raised.append(error)
        else:
            raised.append(None)

    await attempt(lambda: store.write(lambda tx: tx.put_meta("a", "b")))
    await attempt(lambda: store.behind(a_draft()))
    await attempt(store.flush)
    await attempt(lambda: store.read(lambda reader: reader.meta("a")))
    await attempt(lambda: store.scan(lambda reader: reader.meta("a")))
    await attempt(lambda: store.peek(lambda reader: reader.meta("a")))
    await attempt(lambda: store.submit(lambda tx: tx.put_meta("a", "b")))
    return raised


async def test_a_store_that_is_not_open_says_so(unopened: Store):
    raised = await use_in_every_way(unopened)
    assert [str(error) for error in raised] == ["the store is not open yet"] * WAYS
    assert all(isinstance(error, StoreUnavailable) for error in raised)
    await unopened.close()


async def test_a_closed_store_says_so(unopened: Store):
    await unopened.open()
    assert await use_in_every_way(unopened) == [None] * WAYS
    await unopened.close()
    assert [str(error) for error in await use_in_every_way(unopened)] == ["the store is closed"] * WAYS


async def test_closing_twice_is_closing_once(unopened: Store):
    await unopened.open()
    await asyncio.gather(unopened.close(), unopened.close())
    await unopened.close()


async def test_a_store_is_opened_once(store: Store):
    with pytest.raises(StoreError, match="open"):
        await store.open()
    assert await use_in_every_way(store) == [None] * WAYS


async def test_who_opens_a_store_looks_at_it_before_anything_is_written(unopened: Store):
    seen: list[list[Event]] = []
    await unopened.open(lambda reader: seen.append(list(reader.events())))
    assert seen == [[]]
    await unopened.flush()
    assert [event.type for event in await unopened.read(lambda reader: reader.events())] == ["stream.opened"]
    await unopened.close()


async def test_what_a_look_raises_leaves_the_store_shut(unopened: Store):
    def refuse(_reader: Reader) -> None:
        raise LookupError("not with this key")

    with pytest.raises(LookupError, match="not with this key"):
        await unopened.open(refuse)
    assert all(isinstance(error, StoreUnavailable) for error in await use_in_every_way(unopened))
    await unopened.close()


async def test_closing_writes_what_waits(unopened: Store):
    heard: list[Event] = []
    unopened.subscribe(heard.extend)
    await unopened.open()
    unopened.behind(a_draft("last words"))
    await unopened.close()
    assert heard[-1].type == "last words"


async def test_units_under_way_end_well_when_the_store_is_closed(unopened: Store):
    await unopened.open()
    writes = [asyncio.ensure_future(unopened.write(lambda tx, n=n: tx.put_meta(str(n), "x"))) for n in range(20)]
    await asyncio.sleep(0)
    await unopened.close()
    assert await asyncio.gather(*writes) == [None] * 20


async def test_an_owner_knows_that_it_is_alive_itself(store: Store):
    assert store.owner_alive(store.owner)
    store.forget_owner(store.owner)
    assert store.owner_alive(store.owner)
    assert not store.owner_alive(uuid7())
    assert store.owner != store.store_id


async def test_the_clock_may_go_back(store: Store, clock: HandClock):
    for step in (10.0, -5000.0, -1e9, 20.0):
        clock.time += step
        await store.write(lambda tx: tx.append(a_draft(time=clock.now())))
    events = await store.read(lambda reader: reader.events())
    assert [event.sequence for event in events] == list(range(5))
    assert [one.previous for one in events[1:]] == [one.hash for one in events[:-1]]
    assert [event.id for event in events] == sorted(event.id for event in events)


async def test_the_store_may_be_used_from_another_loop(store: Store):
    elsewhere = asyncio.to_thread(asyncio.run, use_in_every_way(store))
    assert await asyncio.wait_for(elsewhere, 20) == [None] * WAYS
    assert await store.read(lambda reader: reader.meta("a")) == "b"
    assert len(await store.read(lambda reader: reader.events())) == 2


async def test_events_may_be_written_behind_from_a_handlers_thread(store: Store):
    heard: list[Event] = []
    told = asyncio.Event()

    def listen(events: Sequence[Event]) -> None:
        heard.extend(events)
        if len(heard) == 300:
            told.set()

    def work(name: str) -> None:
        for n in range(100):
            store.behind(a_draft(f"{name}.{n}"))

    store.subscribe(listen)
    await asyncio.gather(*(asyncio.to_thread(work, name) for name in "abc"))
    await asyncio.wait_for(told.wait(), 10)
    for name in "abc":
        assert [event.type for event in heard if event.type[0] == name] == [f"{name}.{n}" for n in range(100)]


def test_a_store_whose_loop_has_ended_says_so(unopened: Store):
    asyncio.run(unopened.open())
    with pytest.raises(StoreUnavailable, match="has ended"):
        asyncio.run(unopened.write(lambda tx: tx.put_meta("a", "b")))
    for ask in (unopened.read, unopened.peek):
        with pytest.raises(StoreUnavailable, match="has ended"):
            asyncio.run(ask(lambda reader: reader.meta("a")))

    async def submit() -> None:
        await unopened.submit(lambda tx: tx.put_meta("a", "b"))

    with pytest.raises(StoreUnavailable, match="has ended"):
        asyncio.run(submit())
    asyncio.run(unopened.close())
