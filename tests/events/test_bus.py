"""Subscribers hear what was recorded, and none can harm a call or another subscriber."""

import asyncio
import contextvars
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import pytest

from callgate import tool
from callgate.events.bus import Bus
from callgate.events.selection import Selection
from callgate.events.translation import Told, Vocabulary
from callgate.model.event import Event
from callgate.ports import Store
from callgate.stores.memory import MemoryStore
from callgate.testing import memory_gate
from tests.events.stories import Story, record

WITHIN = 5.0


@pytest.fixture
async def bus(store: Store) -> AsyncIterator[Bus]:
    made = Bus(store, queue=4, poll=0.05)
    yield made
    await made.close()


@pytest.mark.requirement("EVT-14")
async def test_exact_wildcard_and_global_subscribers_hear_what_fits(store: Store, bus: Bus):
    heard: dict[str, list[str]] = {"tool_call.attempted": [], "tool_call.*": [], "*": [], "approval.*": []}
    for pattern, events in heard.items():
        bus.on(pattern, lambda event, events=events: events.append(event.type))
    story = Story()
    await record(store, story.attempted(), story.succeeded(), story.draft("health.changed"))
    assert heard == {
        "tool_call.attempted": ["tool_call.attempted"],
        "tool_call.*": ["tool_call.attempted", "tool_call.succeeded"],
        "*": ["tool_call.attempted", "tool_call.succeeded", "health.changed"],
        "approval.*": [],
    }


@pytest.mark.requirement("EVT-14")
async def test_a_raising_handler_does_not_stop_the_others_nor_the_append(
    store: Store, bus: Bus, caplog: pytest.LogCaptureFixture
):
    heard: list[Event] = []

    def broken(event: Event) -> None:
        raise RuntimeError(str(event.payload))

    failing = bus.on("*", broken)
    bus.on("*", heard.append)
    with caplog.at_level(logging.ERROR):
        await record(store, Story(tool="t").attempted(arguments={"word": "hush"}))
    assert len(heard) == 1
    assert failing.failed == 1
    assert "RuntimeError" in caplog.text
    assert "test_bus.py" in caplog.text
    assert "hush" not in caplog.text


@pytest.mark.requirement("EVT-14")
async def test_leaving_says_whether_there_was_anything_to_leave(store: Store, bus: Bus):
    heard: list[Event] = []
    first = bus.on("*", heard.append)
    bus.on("tool_call.*", heard.append)
    assert bus.off(first) is True
    assert bus.off(first) is False
    assert bus.off(heard.append) is True
    assert bus.off(heard.append) is False
    await record(store, Story().attempted())
    assert heard == []


@pytest.mark.requirement("EVT-14")
async def test_a_disabled_bus_drops(store: Store, bus: Bus):
    heard: list[str] = []
    bus.on("*", lambda event: heard.append(event.type))
    bus.enabled = False
    await record(store, Story().attempted())
    bus.enabled = True
    await record(store, Story().succeeded())
    assert heard == ["tool_call.succeeded"]


async def test_nothing_is_listened_to_before_the_first_subscriber(store: MemoryStore):
    asked: list[Any] = []
    real = store.subscribe
    store.subscribe = lambda listener: asked.append(listener) or real(listener)
    bus = Bus(store)
    await record(store, Story().attempted())
    assert asked == []
    bus.on("*", lambda _: None)
    bus.on("*", lambda _: None)
    assert len(asked) == 1


async def test_an_async_subscriber_hears_everything_in_order(store: Store, bus: Bus):
    heard: list[str] = []

    async def hear(event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event.type)

    subscription = bus.on("*", hear)
    story = Story()
    await record(store, story.attempted(), story.draft("tool_call.progress"), story.succeeded())
    await asyncio.wait_for(subscription.drain(), WITHIN)
    assert heard == ["tool_call.attempted", "tool_call.progress", "tool_call.succeeded"]


async def test_a_slow_subscriber_blocks_no_call_and_its_losses_are_counted_and_told(
    store: Store, bus: Bus, caplog: pytest.LogCaptureFixture
):
    heard: list[Event] = []
    go = asyncio.Event()

    async def slow(event: Event) -> None:
        await go.wait()
        heard.append(event)

    subscription = bus.on("*", slow)
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            await asyncio.wait_for(record(store, Story().attempted()), WITHIN)
            await asyncio.sleep(0)
        go.set()
        await asyncio.wait_for(subscription.drain(), WITHIN)
    assert len(heard) == 5, "one in its hands and four in its queue"
    assert subscription.dropped == bus.dropped == 5
    assert "queue of 4 is full" in caplog.text
    assert "missed 5 events" in caplog.text


async def test_a_failing_async_subscriber_goes_on_with_the_next_event(
    store: Store, bus: Bus, caplog: pytest.LogCaptureFixture
):
    heard: list[str] = []

    async def trip(event: Event) -> None:
        if event.type == "tool_call.attempted":
            raise asyncio.CancelledError("hush")
        if event.type == "tool_call.progress":
            raise LookupError("hush")
        heard.append(event.type)

    subscription = bus.on("*", trip)
    story = Story()
    with caplog.at_level(logging.ERROR):
        await record(store, story.attempted(), story.draft("tool_call.progress"), story.succeeded())
        await asyncio.wait_for(subscription.drain(), WITHIN)
    assert heard == ["tool_call.succeeded"]
    assert subscription.failed == 2
    assert "hush" not in caplog.text


async def test_a_sync_subscriber_that_cancels_harms_nobody(store: Store, bus: Bus):
    def cancel(_: Event) -> None:
        raise asyncio.CancelledError

    subscription = bus.on("*", cancel)
    await record(store, Story().attempted())
    assert subscription.failed == 1


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_subscriber_that_exits_ends_neither_the_call_nor_the_loop(kind: str):
    def leave(_: Event) -> None:
        raise SystemExit("no such option")

    async def leave_later(_: Event) -> None:
        raise SystemExit("no such option")

    @tool(effects="system_state", risk="low")
    async def pay() -> str:
        """Pay."""
        return "paid"

    async def tell() -> tuple[Any, int]:
        async with memory_gate(pay) as gate:
            subscription = gate.on("tool_call.attempted", leave if kind == "sync" else leave_later)
            outcome = await gate.call("pay", {})
            await asyncio.wait_for(subscription.drain(), WITHIN)
            return outcome.output, subscription.failed

    assert asyncio.run(tell()) == ("paid", 1)


class Listener:
    def __init__(self) -> None:
        self.heard: list[str] = []

    async def __call__(self, event: Event) -> None:
        self.heard.append(event.type)

    async def method(self, event: Event, *, word: str) -> None:
        self.heard.append(word + event.type)


async def test_callable_objects_partials_and_functions_that_return_coroutines_are_awaited(store: Store, bus: Bus):
    listener = Listener()
    subscriptions = [
        bus.on("*", listener),
        bus.on("*", partial(listener.method, word="partial ")),
        bus.on("*", lambda event: listener.method(event, word="lambda ")),
    ]
    story = Story()
    await record(store, story.attempted(), story.succeeded())
    for subscription in subscriptions:
        await asyncio.wait_for(subscription.drain(), WITHIN)
    assert sorted(listener.heard) == sorted(
        word + name for word in ("", "partial ", "lambda ") for name in ("tool_call.attempted", "tool_call.succeeded")
    )


async def test_a_handler_that_leaves_while_told_hears_no_more(store: Store, bus: Bus):
    heard: list[str] = []

    def once(event: Event) -> None:
        heard.append(event.type)
        bus.off(subscription)

    subscription = bus.on("*", once)
    story = Story()
    await record(store, story.attempted(), story.succeeded())
    assert heard == ["tool_call.attempted"]


async def test_an_async_handler_runs_in_the_context_it_subscribed_in(store: Store, bus: Bus):
    place: contextvars.ContextVar[str] = contextvars.ContextVar("place", default="nowhere")
    heard: list[str] = []

    async def hear(_: Event) -> None:
        heard.append(place.get())

    place.set("at subscribing")
    subscription = bus.on("*", hear)
    place.set("at recording")
    await record(store, Story().attempted())
    await asyncio.wait_for(subscription.drain(), WITHIN)
    assert heard == ["at subscribing"]


@pytest.mark.requirement("EVT-14")
@pytest.mark.parametrize(
    ("pattern", "vocabulary", "expected"),
    [
        ("tool.call.*", None, ["tool.call.pending", "tool.call.timeout"]),
        ("tool.call.timeout", None, ["tool.call.timeout"]),
        ("tool.invoked", None, ["tool.invoked"]),
        ("*", "tool", ["tool.invoked", "tool.timeout"]),
        ("*", Vocabulary.EXECUTOR, ["tool.call.pending", "tool.call.timeout"]),
        ("tool.registered", None, []),
        ("nobody.knows", None, []),
    ],
)
async def test_a_subscriber_hears_the_words_its_pattern_is_written_in(
    store: Store, bus: Bus, pattern: str, vocabulary: str | None, expected: list[str]
):
    heard: list[Event | Told] = []
    bus.on(pattern, heard.append, vocabulary=vocabulary)
    story = Story()
    await record(store, story.attempted(), story.unknown())
    assert [item.type for item in heard] == expected


async def test_a_vocabulary_that_does_not_exist_is_refused_at_once(bus: Bus):
    with pytest.raises(ValueError, match="klingon"):
        bus.on("*", print, vocabulary="klingon")


async def test_closing_lets_subscribers_finish_what_they_were_told(store: Store):
    bus = Bus(store)
    heard: list[str] = []

    async def hear(event: Event) -> None:
        await asyncio.sleep(0)
        heard.append(event.type)

    bus.on("*", hear)
    await record(store, Story().attempted())
    await bus.close()
    await bus.close()
    assert heard == ["tool_call.attempted"]


async def test_closing_does_not_wait_for_ever(store: Store):
    bus = Bus(store)
    stuck = asyncio.Event()
    ended: list[str] = []

    async def hang(_: Event) -> None:
        try:
            await stuck.wait()
        finally:
            ended.append("cancelled")

    bus.on("*", hang)
    await record(store, Story().attempted())
    await asyncio.wait_for(bus.close(timeout=0.01), WITHIN)
    assert ended == ["cancelled"]


async def test_a_handler_may_close_the_bus_it_hears(store: Store):
    bus = Bus(store)
    heard: list[str] = []

    async def last(event: Event) -> None:
        await bus.close(timeout=0.01)
        heard.append(event.type)

    subscription = bus.on("*", last)
    await record(store, Story().attempted())
    await asyncio.wait_for(subscription.drain(), WITHIN)
    assert heard == ["tool_call.attempted"]


async def take(stream: AsyncIterator[Event], count: int) -> list[Event]:
    taken: list[Event] = []
    async with asyncio.timeout(WITHIN):
        async for event in stream:
            taken.append(event)
            if len(taken) == count:
                break
    return taken


async def test_a_stream_gives_the_past_then_the_present_without_gap_or_repeat(store: Store, bus: Bus):
    story = Story()
    past = await record(store, *[story.draft("tool_call.progress", step=step) for step in range(5)])
    selection = Selection(trace=story.trace)
    reading = asyncio.create_task(take(bus.stream(selection), 45))
    for step in range(5, 45):
        await record(store, story.draft("tool_call.progress", step=step), Story().attempted())
        if step % 3 == 0:
            await asyncio.sleep(0)
    events = await reading
    assert [event.id for event in events[:5]] == [event.id for event in past]
    assert [event.payload["step"] for event in events if event.payload] == list(range(45))


async def test_a_stream_that_does_not_follow_ends_with_the_last_recorded_event(store: Store, bus: Bus):
    story = Story()
    await record(store, story.attempted(), story.succeeded())
    selection = Selection(call=story.call, types=("tool_call.*",))
    assert [event.type async for event in bus.stream(selection, follow=False)] == [
        "tool_call.attempted",
        "tool_call.succeeded",
    ]


async def test_a_stream_longer_than_a_page_misses_nothing(store: Store, bus: Bus):
    story = Story()
    await record(store, *[story.draft("tool_call.progress", step=step) for step in range(2500)])
    steps = [
        event.payload["step"]
        async for event in bus.stream(Selection(types=("tool_call.progress",)), follow=False)
        if event.payload
    ]
    assert steps == list(range(2500))


async def test_closing_the_bus_ends_its_streams(store: Store, bus: Bus):
    async def read_all() -> list[Event]:
        return [event async for event in bus.stream()]

    reading = asyncio.create_task(read_all())
    await record(store, Story().attempted())
    await asyncio.sleep(0)
    await bus.close()
    events = await asyncio.wait_for(reading, WITHIN)
    assert events[-1].type == "tool_call.attempted"


async def test_a_selection_has_bounds_in_time(store: Store, bus: Bus):
    early, late = Story(time=100.0), Story(time=200.0)
    await record(store, early.attempted(), late.attempted())
    selection = Selection(types=("tool_call.*",), since=150.0, until=250.0)
    assert [event.time async for event in bus.stream(selection, follow=False)] == [200.0]
    assert Selection().everything
    assert not selection.everything
    assert selection.to_json() == {"types": ["tool_call.*"], "since": 150.0, "until": 250.0}
