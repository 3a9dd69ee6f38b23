"""A tool that says what it read: a source that changed since is told, once, and one's own writing is no surprise."""

from __future__ import annotations

import asyncio
import tracemalloc
from typing import Any

import pytest

from callgate import Callgate, Context, tool
from callgate.events.staleness import content_hash
from callgate.model.artifact import WithArtifact
from callgate.model.levels import Autonomy
from callgate.pipeline import hooks
from callgate.pipeline.reading_order import ReadingOrder
from callgate.settings.values import Settings
from callgate.testing import HandClock
from tests.journeys.gates import gate_of, noted

PATH = "a.md"
notes: dict[str, str] = {}


def _seen(arguments: dict[str, Any], output: Any) -> dict[str, str]:
    return {arguments["path"]: arguments.get("text", output)}


@tool(effects="read_only", reads=_seen)
async def read_note(path: str) -> str:
    """Read a note."""
    return notes[path]


@tool(effects="modifies_files", risk="low", reads=_seen)
async def write_note(path: str, text: str) -> str:
    """Write a note."""
    notes[path] = text
    return "ok"


async def everything_noted(gate: Callgate) -> None:
    opened: Any = gate
    async with asyncio.timeout(30):
        while opened._opened.work:  # noqa: ASYNC110 - nobody tells of a note
            await asyncio.sleep(0.002)  # as above


async def told(gate: Callgate) -> list[tuple[str, str]]:
    """Each change that was told, by what was read before and what then."""
    events = [event.payload or {} async for event in gate.events(types=["source.stale"])]
    return [(one["previous_hash"], one["current_hash"]) for one in events]


async def read(gate: Callgate) -> None:
    assert (await gate.call("read_note", {"path": PATH})).ok
    await noted(gate, PATH, text=notes[PATH])


async def test_what_was_read_may_be_told_by_what_a_handler_returned_beside_its_output() -> None:
    def reads(arguments: dict[str, Any], output: Any, artifact: Any) -> dict[str, str]:
        assert output == "a summary"
        return {arguments["path"]: artifact}

    @tool(effects="read_only", reads=reads)
    async def sum_up(path: str) -> WithArtifact:
        """Sum up a note."""
        return WithArtifact("a summary", notes[path])

    async with gate_of(sum_up, config=Settings(autonomy=Autonomy.A4)) as gate:
        for text in ("one", "two"):
            notes[PATH] = text
            assert (await gate.call("sum_up", {"path": PATH})).unwrap() == "a summary"
            await noted(gate, PATH, text=text)
        await everything_noted(gate)
        assert await told(gate) == [(content_hash("one"), content_hash("two"))]


@pytest.mark.requirement("STL-01", "STL-02", "STL-05")
@pytest.mark.usefixtures("on_each_store")
async def test_a_source_that_changed_since_it_was_read_is_told_once() -> None:
    async with gate_of(read_note, write_note, config=Settings(autonomy=Autonomy.A4)) as gate:
        notes[PATH] = "one"
        await read(gate)
        await read(gate)
        notes[PATH] = "two"
        await read(gate)
        await read(gate)
        assert (await gate.call("write_note", {"path": PATH, "text": "three"})).ok
        await noted(gate, PATH, text="three")
        await read(gate)
        notes[PATH] = "four"
        await read(gate)
        told = [event.payload or {} async for event in gate.events(types=["source.stale"])]
        changes = [("one", "two"), ("three", "four")]
        hashes = [(content_hash(before), content_hash(after)) for before, after in changes]
        assert [(one["previous_hash"], one["current_hash"]) for one in told] == hashes
        assert {(one["path"], one["project_id"]) for one in told} == {(PATH, "default")}


@pytest.mark.requirement("STL-01")
@pytest.mark.usefixtures("on_each_store")
@pytest.mark.parametrize("overtaken", ["a reading", "a writing"])
async def test_a_note_that_is_slow_to_come_says_nothing_about_what_was_read_since(overtaken: str) -> None:
    slow = asyncio.Event()

    async def seen(arguments: dict[str, Any], output: str) -> dict[str, str]:
        if output == "one":
            await slow.wait()
        return {PATH: output}

    @tool(effects="read_only", reads=seen)
    async def look(text: str) -> str:
        """Read what it says."""
        return text

    @tool(effects="modifies_files", risk="low", reads=seen)
    async def put(text: str) -> str:
        """Write what it says."""
        return text

    first, clock = "look" if overtaken == "a reading" else "put", HandClock()
    async with gate_of(look, put, config=Settings(autonomy=Autonomy.A4), clock=clock) as gate:
        assert (await gate.call(first, {"text": "one"})).ok
        clock.turn(1)
        assert (await gate.call("look", {"text": "two"})).ok
        await noted(gate, PATH, text="two")
        # Now the note of the first call comes, after that of the second: what was read last is still "two".
        slow.set()
        await everything_noted(gate)
        clock.turn(1)
        assert (await gate.call("look", {"text": "two"})).ok
        await noted(gate, PATH, text="two")
        assert [event async for event in gate.events(types=["source.stale"])] == []


class Slowly:
    """Tools on one file, whose notes come when they are told to: those of calls that say `slow`, at `come`."""

    def __init__(self) -> None:
        self.come = asyncio.Event()

        async def seen(arguments: dict[str, Any], output: str) -> dict[str, str]:
            if arguments["slow"]:
                await self.come.wait()
            return {PATH: output}

        @tool(effects="read_only", reads=seen)
        async def look(text: str, *, slow: bool = False) -> str:
            """Read what it says."""
            return text

        @tool(effects="modifies_files", risk="low", reads=seen)
        async def put(text: str, *, slow: bool = False) -> str:
            """Write what it says."""
            return text

        self.clock = HandClock()
        self.gate = gate_of(look, put, config=Settings(autonomy=Autonomy.A4), clock=self.clock)

    async def call(self, name: str, text: str, *, slow: bool = False, user: str | None = None) -> None:
        self.clock.turn(1)
        assert (await self.gate.call(name, {"text": text, "slow": slow}, Context(user=user))).ok


@pytest.mark.requirement("STL-05")
@pytest.mark.usefixtures("on_each_store")
async def test_ones_own_writing_is_no_surprise_however_late_it_is_noted() -> None:
    """What is read right behind it is noted behind it; and nobody else waits for that."""
    slowly = Slowly()
    async with slowly.gate as gate:
        await slowly.call("look", "one")
        await noted(gate, PATH, text="one")
        await slowly.call("put", "two", slow=True)
        await slowly.call("look", "two")
        for text in ("one", "two"):
            # Behind both in the store's line; another's record is another's affair, and is told.
            await slowly.call("look", text, user="somebody else")
            await noted(gate, PATH, text=text, user="somebody else")
        slowly.come.set()
        await everything_noted(gate)
        await noted(gate, PATH, text="two")
        assert await told(gate) == [(content_hash("one"), content_hash("two"))]


@pytest.mark.requirement("STL-02", "STL-05")
@pytest.mark.usefixtures("on_each_store")
async def test_changes_are_told_in_the_order_of_the_calls_that_met_them() -> None:
    slowly = Slowly()
    async with slowly.gate as gate:
        await slowly.call("look", "one")
        await noted(gate, PATH, text="one")
        await slowly.call("look", "two", slow=True)
        await slowly.call("look", "three")
        await slowly.call("put", "four")
        await slowly.call("look", "four")
        slowly.come.set()
        await everything_noted(gate)
        changes = [("one", "two"), ("two", "three")]
        assert await told(gate) == [(content_hash(before), content_hash(after)) for before, after in changes]


@pytest.mark.requirement("STL-02")
async def test_a_note_that_never_comes_keeps_no_other_from_being_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "SECONDS", 0.05)
    slowly = Slowly()
    async with slowly.gate as gate:
        await slowly.call("look", "one")
        await noted(gate, PATH, text="one")
        await slowly.call("look", "never", slow=True)
        await slowly.call("look", "two")
        await everything_noted(gate)
        assert await told(gate) == [(content_hash("one"), content_hash("two"))]


def _taken_by(places: int) -> int:
    tracemalloc.start()
    try:
        order = ReadingOrder()
        taken = [order.take("agent") for _ in range(places)]
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [place.is_first for place in taken] == [True] + [False] * (places - 1)
    return size


def test_notes_that_wait_take_memory_by_their_number_and_not_by_its_square():
    assert _taken_by(2000) < 20 * _taken_by(200)


def test_a_place_is_first_when_all_before_it_are_given_up_in_whichever_order():
    order = ReadingOrder()
    first, second, third, fourth = (order.take("agent") for _ in range(4))
    assert order.take("another").is_first
    for given_up, then_first in ((third, []), (first, [second]), (second, [second, fourth])):
        order.give_up(given_up)
        assert [place for place in (second, fourth) if place.is_first] == then_first
    order.give_up(fourth)
    assert order.take("agent").is_first
