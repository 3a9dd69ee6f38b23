"""Sources of tools: attached, loaded again, let go; what fails harms nothing else, and calls in flight finish."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from callgate import Callgate, Refused, tool
from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError
from callgate.model.levels import Autonomy, HealthStatus, Origin
from callgate.model.source import Failure, Loaded
from callgate.model.tool import Tool
from callgate.ports import Desk
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("on_each_store")

FREE = Settings(autonomy=Autonomy.A4)


def read_tool(name: str, answer: str = "", *, source: str = "shelf", connector: str = "") -> Tool:
    async def read() -> str:
        """Read something."""
        return answer or name

    [made] = convert(tool(effects="read_only")(read))
    return replace(made, name=name, source=Origin.TOOLKIT, source_name=source, connector=connector)


class Shelf:
    """A source that has what the test puts on it."""

    origin = Origin.TOOLKIT

    def __init__(self, *tools: Tool, name: str = "shelf") -> None:
        self.name = name
        self.prefix: str | None = None
        self.tools: tuple[Tool, ...] = tools
        self.failures: tuple[Failure, ...] = ()
        self.broken: Exception | None = None
        self.desk: Desk | None = None
        self.closed = 0
        self.loads = 0

    async def load(self, desk: Desk) -> Loaded:
        self.desk = desk
        self.loads += 1
        if self.broken is not None:
            raise self.broken
        return Loaded(self.tools, self.failures)

    async def close(self) -> None:
        self.closed += 1


def names(gate: Callgate) -> list[str]:
    return sorted(each.name for each in gate.tools())


async def test_the_tools_of_a_source_come_with_it_and_go_with_it() -> None:
    shelf = Shelf(read_tool("one"), read_tool("two"))
    async with gate_of(config=FREE) as gate:
        report = await gate.attach(shelf)
        assert (report.ok, report.source, report.origin, report.tools) == (
            True,
            "shelf",
            Origin.TOOLKIT,
            ("one", "two"),
        )
        assert gate.sources() == (report,)
        assert (await gate.call("one")).unwrap() == "one"
        await gate.detach("shelf")
        assert (names(gate), gate.sources(), shelf.closed) == ([], (), 1)
        told = [event.type async for event in gate.events(types=["source.*"])]
        assert told == ["source.loaded", "source.detached"]


async def test_the_gate_lets_its_sources_go_when_it_closes() -> None:
    shelf = Shelf(read_tool("one"))
    async with gate_of(config=FREE) as gate:
        await gate.attach(shelf)
    assert shelf.closed == 1


@pytest.mark.requirement("ADP-08")
async def test_what_fails_is_told_by_name_and_reason_and_harms_no_other() -> None:
    shelf = Shelf(read_tool("one"), read_tool("taken"), read_tool("no name"), read_tool("one"))
    shelf.failures = (Failure("three", "its module is not there"),)

    @tool(effects="read_only")
    async def taken() -> str:
        """Somebody else's."""
        return "mine"

    async with gate_of(taken, config=FREE) as gate:
        report = await gate.attach(shelf)
        assert report.tools == ("one",)
        reasons = {failure.name: failure.reason for failure in report.failures}
        assert set(reasons) == {"three", "taken", "no name", "one"}
        assert reasons["three"] == "its module is not there"
        assert "taken" in reasons["taken"]
        assert (await gate.call("taken")).unwrap() == "mine"
        assert (await gate.call("one")).unwrap() == "one"


async def test_a_source_that_gives_nothing_at_all_is_refused_and_let_go() -> None:
    shelf = Shelf()
    shelf.broken = RuntimeError("no power")
    async with gate_of(config=FREE) as gate:
        with pytest.raises(ConfigurationError, match=r"shelf: it could not be loaded \(RuntimeError: no power\)"):
            await gate.attach(shelf)
        assert (gate.sources(), shelf.closed) == ((), 1)


async def test_one_name_one_source() -> None:
    async with gate_of(config=FREE) as gate:
        await gate.attach(Shelf(read_tool("one")))
        with pytest.raises(ConfigurationError, match="'shelf' is attached already"):
            await gate.attach(Shelf(read_tool("two")))
        with pytest.raises(ConfigurationError, match="no source called 'other' is attached; attached are: shelf"):
            await gate.detach("other")


async def test_loading_again_brings_what_is_new_and_takes_what_is_gone() -> None:
    shelf = Shelf(read_tool("one"), read_tool("two"))
    async with gate_of(config=FREE) as gate:
        await gate.attach(shelf)
        shelf.tools = (read_tool("two", "better"), read_tool("three"))
        report = await gate.reload("shelf")
        assert report.tools == ("two", "three")
        assert names(gate) == ["three", "two"]
        assert (await gate.call("two")).unwrap() == "better"
        gone = await gate.call("one")
        assert isinstance(gone, Refused)
        assert gone.error is not None
        assert gone.error.code == "tool_not_found"


async def test_a_loading_that_fails_leaves_the_old_tools_serving_and_says_so() -> None:
    shelf = Shelf(read_tool("one"))
    async with gate_of(config=FREE) as gate:
        await gate.attach(shelf)
        shelf.broken = ConfigurationError("half written")
        report = await gate.reload("shelf")
        assert (report.stale, report.ok, report.tools) == (True, False, ("one",))
        assert report.failures == (Failure("shelf", "half written"),)
        assert (await gate.call("one")).unwrap() == "one"
        shelf.broken = None
        assert (await gate.reload("shelf")).ok


async def test_a_call_in_flight_finishes_on_the_tool_it_began_with() -> None:
    entered, release = asyncio.Event(), asyncio.Event()

    async def slow() -> str:
        """Take long."""
        entered.set()
        await release.wait()
        return "old"

    [old] = convert(tool(effects="read_only")(slow))
    shelf = Shelf(replace(old, source=Origin.TOOLKIT, source_name="shelf"))
    async with gate_of(config=FREE) as gate:
        await gate.attach(shelf)
        running = asyncio.ensure_future(gate.call("slow"))
        await entered.wait()
        shelf.tools = (read_tool("slow", "new"),)
        await gate.reload("shelf")
        assert (await gate.call("slow")).unwrap() == "new"
        release.set()
        assert (await running).unwrap() == "old"


async def test_a_source_that_says_it_changed_is_loaded_again_soon_and_once() -> None:
    shelf = Shelf(read_tool("one"))
    async with gate_of(config=FREE) as gate:
        await gate.attach(shelf)
        assert shelf.desk is not None
        shelf.tools = (read_tool("one"), read_tool("two"))
        for _ in range(5):
            await asyncio.to_thread(shelf.desk.changed)
        await until(lambda: names(gate) == ["one", "two"])
        assert shelf.loads == 2
    shelf.desk.changed()


async def test_a_tool_of_a_source_that_has_nothing_now_is_unavailable_and_not_unknown() -> None:
    shelf = Shelf()
    shelf.failures = (Failure("shelf", "its door is locked"),)
    shelf.prefix = "books"
    async with gate_of(config=FREE) as gate:
        await gate.attach(shelf)
        refused, other = await gate.call("books.one"), await gate.call("papers.one")
        assert refused.error is not None
        assert other.error is not None
        assert (refused.error.code, other.error.code) == ("tool_unavailable", "tool_not_found")
        assert "books.one is unavailable: its door is locked" in refused.to_human()
        shelf.failures, shelf.tools = (), (read_tool("books.one"),)
        await gate.reload("shelf")
        assert (await gate.call("books.one")).unwrap() == "books.one"


async def test_what_is_behind_a_source_can_be_lost_and_come_back() -> None:
    shelf = Shelf(read_tool("one", connector="server"))
    async with gate_of(config=FREE) as gate:
        await gate.attach(shelf)
        assert shelf.desk is not None
        shelf.desk.unavailable("server", "the server is gone")
        refused = await gate.call("one")
        assert isinstance(refused, Refused)
        assert "the server is gone" in refused.to_human()
        assert gate.health("server").status is HealthStatus.UNAVAILABLE
        shelf.desk.unavailable("server", "still gone")
        shelf.desk.available("server")
        assert (await gate.call("one")).unwrap() == "one"
        await gate.flush()
        told = [event.type async for event in gate.events(types=["source.lost", "source.back"])]
        assert told == ["source.lost", "source.back"]
