"""A commit that is reported as failed and stands all the same: nothing runs twice, nothing is lost or told twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from callgate import Call, Callgate, Context, Outcome, Pending, Refused, Succeeded, Unknown, tool
from callgate.errors import OutcomeConflict, StoreUnavailable
from callgate.model.levels import Autonomy
from callgate.ports import Store, Transaction
from callgate.ports.promise import promised
from callgate.settings.values import Settings
from tests.journeys.gates import gate_of, parts_of

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)
KEY = Context(idempotency_key="k")
WITHIN = 10
T = TypeVar("T")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody wait for a store that works again."""
    monkeypatch.setattr("callgate.pipeline.spool._PAUSE", 0.01)


class Lying:
    """A real store that says of some commits that they failed, after they stand on the disk."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.lies = 0
        """Of how many of the next commits."""
        self.truly = False
        """Whether they really fail."""

    async def write(self, unit: Callable[[Transaction], T]) -> T:
        """Write it, and perhaps say that it was not."""
        if not self.lies:
            return await self._store.write(unit)
        self.lies -= 1
        if not self.truly:
            await self._store.write(unit)
        raise StoreUnavailable("the disk went away during the commit")

    def submit(self, unit: Callable[[Transaction], T]) -> asyncio.Future[T]:
        """As `write`, for those who wait later."""
        return promised(self.write(unit))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


async def make_lying(gate: Callgate) -> Lying:
    """Let the store of an open gate lie when it is told to."""
    for _ in range(2):
        # What the gate writes on its own when it was opened is over then.
        await asyncio.sleep(0)
        await gate.flush()
    parts: Any = parts_of(gate)
    lying = Lying(parts.store)
    parts.store = lying
    parts.spool._store = lying
    return lying


class World:
    """Tools, and what they did."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.meanwhile: Callable[[], None] = lambda: None

        @tool(effects="system_state", risk="medium", concurrency_safe=True)
        async def pay() -> str:
            """Pay somebody."""
            self.done.append("pay")
            self.meanwhile()
            return "paid"

        @tool(effects=["read_only", "network_access"], egress=True)
        async def search() -> str:
            """Ask somebody outside."""
            self.done.append("search")
            self.meanwhile()
            return "found"

        @tool(effects="system_state", risk="medium", source="host")
        async def edit() -> str:
            """Edit a file at the host."""
            raise AssertionError

        self.tools = (pay, search, edit)


async def types(gate: Callgate) -> list[str]:
    return [event.type async for event in gate.events(types=["tool_call.*"])]


async def settled(gate: Callgate) -> None:
    """Wait until what the store would not take is written."""
    async with asyncio.timeout(WITHIN):
        while len(parts_of(gate).spool):  # noqa: ASYNC110 - nobody tells when it is empty
            await asyncio.sleep(0.01)  # as above


def code(outcome: Outcome) -> str:
    assert isinstance(outcome, Refused)
    assert outcome.error is not None
    return outcome.error.code


# The intent.


@pytest.mark.parametrize("truly", [False, True], ids=["it stands", "it is lost"])
@pytest.mark.parametrize("name", ["pay", "search"])
async def test_an_intent_nobody_knows_to_stand_is_closed_and_runs_nothing(name: str, truly: bool) -> None:
    world = World()
    context = KEY if name == "pay" else None
    async with gate_of(*world.tools, config=FREE) as gate:
        lying = await make_lying(gate)
        lying.lies, lying.truly = 1, truly
        refused = await gate.call(name, {}, context)
        assert code(refused) == "store_unavailable"
        assert world.done == []
        await settled(gate)
        before = await types(gate)
        stood = ["tool_call.attempted", "tool_call.failed"]
        assert sorted(before) == sorted([*(stood if not truly else []), "tool_call.refused"])
        # Its key is free: nothing happened under it.
        assert await gate.outcome("k") is None
        assert (await asyncio.wait_for(gate.call(name, {}, context), WITHIN)).ok
        assert world.done == [name]
        assert (await gate.verify_audit()).problems == ()


async def test_who_calls_again_before_the_intent_is_closed_waits_for_that_and_runs_once() -> None:
    world = World()
    async with gate_of(*world.tools, config=FREE) as gate:
        (await make_lying(gate)).lies = 1
        assert code(await gate.call("pay", {}, KEY)) == "store_unavailable"
        again = await asyncio.wait_for(asyncio.gather(*(gate.call("pay", {}, KEY) for _ in range(3))), WITHIN)
        assert [outcome.output for outcome in again] == ["paid"] * 3
    assert world.done == ["pay"]


async def test_an_approval_that_was_used_up_for_an_intent_that_ran_nothing_admits_nothing_more() -> None:
    world = World()
    async with gate_of(*world.tools) as gate:
        asked = await gate.call("pay", {}, KEY)
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        (await make_lying(gate)).lies = 1
        assert code(await gate.resume(asked.approval_id)) == "store_unavailable"
        await settled(gate)
        again = await gate.call("pay", {}, KEY)
        assert isinstance(again, Pending)
        assert again.approval_id != asked.approval_id
        assert (await gate.verify_audit()).problems == ()
    assert world.done == []


@pytest.mark.parametrize("name", ["pay", "search"])
async def test_closing_such_an_intent_is_told_once_although_that_is_said_to_fail_too(name: str) -> None:
    world = World()
    async with gate_of(*world.tools, config=FREE) as gate:
        # The intent, the refusal, and the first try to close it.
        (await make_lying(gate)).lies = 3
        assert code(await gate.call(name, {}, KEY if name == "pay" else None)) == "store_unavailable"
        await settled(gate)
        assert (await types(gate)).count("tool_call.failed") == 1
        assert (await gate.verify_audit()).problems == ()
    assert world.done == []


async def test_a_later_call_under_the_key_is_left_alone() -> None:
    """The closing comes late: by then the key may have been taken over, and that is nobody else's to close."""
    world = World()
    async with gate_of(*world.tools, config=FREE) as gate:
        lying = await make_lying(gate)
        lying.lies, lying.truly = 1, True
        assert code(await gate.call("pay", {}, KEY)) == "store_unavailable"
        assert (await gate.call("pay", {}, KEY)).ok
        await settled(gate)
        assert isinstance(await gate.outcome("k"), Succeeded)
    assert world.done == ["pay"]


async def test_what_waits_to_be_closed_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.pipeline.unrun._SPOOLED_AT_MOST", 3)
    world = World()
    async with gate_of(*world.tools, config=FREE) as gate:
        lying = await make_lying(gate)
        lying.lies, lying.truly = 1000, True
        for number in range(8):
            assert code(await gate.call("pay", {}, Context(idempotency_key=str(number)))) == "store_unavailable"
        assert len(parts_of(gate).spool) == 3
        lying.lies = 0
    assert world.done == []


# The end.


@pytest.mark.parametrize("lies", [1, 2])
@pytest.mark.parametrize("name", ["pay", "search"])
async def test_an_end_nobody_knows_to_stand_is_told_once(name: str, lies: int) -> None:
    world = World()
    async with gate_of(*world.tools, config=FREE) as gate:
        lying = await make_lying(gate)
        world.meanwhile = lambda: setattr(lying, "lies", lies)
        outcome = await gate.call(name, {}, KEY if name == "pay" else None)
        assert isinstance(outcome, Unknown)
        assert outcome.output in {"paid", "found"}
        await settled(gate)
        assert await types(gate) == ["tool_call.attempted", "tool_call.succeeded"]
        assert (await gate.verify_audit()).problems == ()
        if name == "pay":
            assert (await gate.call("pay", {}, KEY)).deduped
    assert world.done == [name]


async def test_a_late_end_nobody_knows_to_stand_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.pipeline.ways_to_run._GRACE", 0.01)
    go_on = asyncio.Event()

    @tool(effects="system_state", risk="low")
    async def pay() -> str:
        """Pay, however long it takes."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await go_on.wait()
        return "paid"

    async with gate_of(pay, config=FREE) as gate:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        assert isinstance(await gate.call("pay", {}, KEY, timeout=0.01), Unknown)
        (await make_lying(gate)).lies = 1
        go_on.set()
        await asyncio.wait_for(heard.get(), WITHIN)
        await settled(gate)
        assert await types(gate) == ["tool_call.attempted", "tool_call.unknown", "tool_call.settled_late"]
        assert isinstance(await gate.outcome("k"), Succeeded)
        assert (await gate.verify_audit()).problems == ()


# A host's report.


async def test_a_host_that_was_told_its_report_failed_reports_again() -> None:
    world = World()
    async with gate_of(*world.tools, config=FREE) as gate:
        judged = await gate.judge(Call("edit", {}), KEY)
        (await make_lying(gate)).lies = 1
        with pytest.raises(StoreUnavailable):
            await gate.report(judged.id, ok=True, output={"paid": 5})
        assert (await gate.report(judged.id, ok=True, output={"paid": 5})).output == {"paid": 5}
        for ok, output in ((True, {"paid": 6}), (False, None)):
            with pytest.raises(OutcomeConflict, match="is succeeded already"):
                await gate.report(judged.id, ok=ok, output=output)
        assert await types(gate) == ["tool_call.attempted", "tool_call.succeeded"]
        assert (await gate.verify_audit()).problems == ()
