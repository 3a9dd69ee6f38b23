"""A tool that says what it read: a source that changed since is told, once, and one's own writing is no surprise."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from callgate import Callgate, tool
from callgate.events.staleness import content_hash
from callgate.model.levels import Autonomy
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


async def read(gate: Callgate) -> None:
    assert (await gate.call("read_note", {"path": PATH})).ok
    await noted(gate, PATH, text=notes[PATH])


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
        opened: Any = gate
        async with asyncio.timeout(10):
            while opened._opened.work:  # noqa: ASYNC110 - nobody tells of a note
                await asyncio.sleep(0.002)  # as above
        clock.turn(1)
        assert (await gate.call("look", {"text": "two"})).ok
        await noted(gate, PATH, text="two")
        assert [event async for event in gate.events(types=["source.stale"])] == []
