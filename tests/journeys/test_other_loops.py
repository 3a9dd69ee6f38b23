"""A gate called from loops that come and go: what was begun there ends, is recorded, and takes nobody's place."""

from __future__ import annotations

import asyncio
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

import pytest

from callgate import Callgate, Context, Failed, Outcome, Succeeded, Unknown, tool
from callgate.errors import StoreUnavailable
from callgate.model.levels import Autonomy, Happened
from callgate.pipeline.threads import Lane
from callgate.settings.values import Settings
from tests.journeys.faulty import make_faulty
from tests.journeys.gates import gate_of, parts_of
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("on_each_store")
FREE = Settings(autonomy=Autonomy.A4)
WITHIN = 10
T = TypeVar("T")


def places(count: int) -> Settings:
    return Settings(autonomy=Autonomy.A4, threads_per_connector=count)


async def elsewhere(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Do something on a loop of its own, which is over when this returns."""
    return await asyncio.wait_for(asyncio.to_thread(lambda: asyncio.run(make())), WITHIN)


def busy(connector: str) -> int:
    """How many threads a connector has."""
    return sum(thread.name == f"callgate-{connector}" for thread in threading.enumerate())


class Slow:
    """A plain function that takes a thread until it is let go, and how many were there at once."""

    def __init__(self, connector: str) -> None:
        self.entered, self.release = threading.Semaphore(0), threading.Event()
        self.inside: list[int] = []
        self.most = 0

        @tool(effects="system_state", risk="low", connector=connector, concurrency_safe=True, name="hang")
        def hang(number: int) -> int:
            """Occupy a thread."""
            self.inside.append(number)
            self.most = max(self.most, len(self.inside))
            self.entered.release()
            self.release.wait(WITHIN)
            self.inside.remove(number)
            return number

        self.tool = hang

    async def begun(self) -> None:
        """Wait until one more was entered."""
        assert await asyncio.to_thread(self.entered.acquire, timeout=WITHIN)


async def heard(gate: Callgate, kind: str) -> asyncio.Queue[Any]:
    queue: asyncio.Queue[Any] = asyncio.Queue()
    gate.on(kind, queue.put_nowait)
    return queue


# Threads.


async def test_there_are_never_more_threads_than_places_however_many_calls_and_loops() -> None:
    slow = Slow("bounded")
    async with gate_of(slow.tool, config=places(3)) as gate:
        here = [asyncio.ensure_future(gate.call("hang", {"number": number})) for number in range(6)]

        async def several() -> list[Outcome]:
            return await asyncio.gather(*(gate.call("hang", {"number": number}) for number in range(6, 12)))

        there = asyncio.ensure_future(elsewhere(several))
        for _ in range(3):
            await slow.begun()
        assert busy("bounded") == 3
        slow.release.set()
        outcomes = [*await asyncio.gather(*here), *await there]
        assert sorted(outcome.output for outcome in outcomes) == list(range(12))
        assert busy("bounded") == 3
    assert slow.most == 3


async def test_two_loops_that_call_a_connector_first_at_once_share_its_places(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, both, make = Slow("shared"), threading.Barrier(2), Lane.__init__

    def make_together(lane: Lane, name: str, limit: int) -> None:
        if name == "shared":
            both.wait(WITHIN)
        make(lane, name, limit)

    monkeypatch.setattr(Lane, "__init__", make_together)
    async with gate_of(slow.tool, config=places(1)) as gate:
        calls = (
            elsewhere(lambda number=number: gate.call("hang", {"number": number}, timeout=0.2)) for number in (1, 2)
        )
        outcomes = await asyncio.gather(*calls)
        assert sorted(outcome.status for outcome in outcomes) == ["refused", "unknown"]
        slow.release.set()
    assert slow.most == 1


async def test_a_thread_that_is_idle_is_used_again() -> None:
    @tool(effects="system_state", risk="low", connector="reused")
    def count(number: int) -> int:
        """Say a number."""
        return number

    async with gate_of(count, config=places(8)) as gate:
        for number in range(20):
            assert (await gate.call("count", {"number": number})).ok
        assert busy("reused") <= 2  # the last one may not have noticed yet that it is idle


async def test_a_place_that_one_loop_gives_back_is_taken_by_who_waits_on_another() -> None:
    slow = Slow("handed")
    async with gate_of(slow.tool, config=places(1)) as gate:
        first = asyncio.ensure_future(gate.call("hang", {"number": 1}))
        await slow.begun()
        second = asyncio.ensure_future(elsewhere(lambda: gate.call("hang", {"number": 2})))
        await until(lambda: waiting(gate, "handed") == 1)
        slow.release.set()
        assert (await asyncio.wait_for(first, WITHIN)).output == 1
        assert (await second).output == 2


async def test_who_waited_for_a_place_on_a_loop_that_ended_takes_none() -> None:
    slow = Slow("deaf")
    async with gate_of(slow.tool, config=places(1)) as gate:
        first = asyncio.ensure_future(gate.call("hang", {"number": 1}))
        await slow.begun()
        left = asyncio.new_event_loop()
        left.set_exception_handler(lambda _loop, _context: None)  # it would say that a task was destroyed

        async def begin() -> asyncio.Task[Outcome]:
            task = asyncio.ensure_future(gate.call("hang", {"number": 2}))
            await until(lambda: waiting(gate, "deaf") == 1)
            return task

        task = await asyncio.to_thread(left.run_until_complete, begin())
        left.close()
        slow.release.set()
        assert (await asyncio.wait_for(first, WITHIN)).output == 1
        assert (await asyncio.wait_for(gate.call("hang", {"number": 3}), WITHIN)).output == 3
        coroutine: Any = task.get_coro()
        coroutine.close()


@pytest.mark.parametrize("kind", ["the call", "a function of its author"])
async def test_a_thread_that_outlives_its_callers_loop_gives_its_place_back(kind: str) -> None:
    release, entered = threading.Event(), threading.Semaphore(0)

    def hang(*_: Any) -> None:
        entered.release()
        release.wait(WITHIN)

    @tool(effects="system_state", risk="low", connector="outlives", check=hang if kind != "the call" else None)
    def work(number: int) -> int:
        """Take a while."""
        if kind == "the call":
            hang()
        return number

    async with gate_of(work, config=places(1)) as gate:
        given_up = await elsewhere(lambda: gate.call("work", {"number": 1}, Context(timeout=0.2)))
        assert not given_up.ok
        assert await asyncio.to_thread(entered.acquire, timeout=WITHIN)
        release.set()
        assert (await asyncio.wait_for(gate.call("work", {"number": 2}), WITHIN)).output == 2


@pytest.mark.parametrize("late", ["returns", "raises"])
async def test_what_a_thread_says_after_its_callers_loop_has_ended_is_a_late_fact(late: str) -> None:
    release = threading.Event()

    @tool(effects="system_state", risk="low")
    def send() -> str:
        """Send, late."""
        release.wait(WITHIN)
        if late == "raises":
            raise ValueError("no such address")
        return "sent"

    async with gate_of(send, config=FREE) as gate:
        settled = await heard(gate, "tool_call.settled_late")
        outcome = await elsewhere(lambda: gate.call("send", {}, Context(idempotency_key="k"), timeout=0.05))
        assert isinstance(outcome, Unknown)
        release.set()
        await asyncio.wait_for(settled.get(), WITHIN)
        known = await gate.outcome("k")
        assert isinstance(known, Succeeded if late == "returns" else Failed)
        assert (await gate.verify_audit()).problems == ()


async def test_a_thread_that_cannot_be_started_was_not_entered_and_costs_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entered: list[int] = []

    def check(arguments: dict[str, Any], context: Context) -> bool:
        return True

    @tool(effects="system_state", risk="low", connector="starved")
    def work(number: int) -> int:
        """Work on a thread."""
        entered.append(number)
        return number

    @tool(effects="read_only", check=check, connector="starved", name="checked")
    async def checked(number: int) -> int:
        """Work after a check on a thread."""
        entered.append(number)
        return number

    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async with gate_of(work, checked, config=places(1)) as gate:
        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", refuse)
            outcome = await gate.call("work", {"number": 1}, Context(idempotency_key="k"))
            refused = await gate.call("checked", {"number": 1})
        assert isinstance(outcome, Failed)
        assert outcome.happened is Happened.NONE
        assert outcome.error is not None
        assert outcome.error.category.value == "resource_error"
        assert await gate.outcome("k") is None
        assert not refused.ok
        assert entered == []
        assert (await asyncio.wait_for(gate.call("work", {"number": 2}), WITHIN)).output == 2
        assert (await asyncio.wait_for(gate.call("checked", {"number": 3}), WITHIN)).output == 3


def waiting(gate: Callgate, connector: str) -> int:
    lane: Any = parts_of(gate).threads.lane(connector)
    return len(lane._waiters)


async def test_what_comes_while_the_only_thread_still_tells_of_its_work_waits_for_it() -> None:
    lane, leave = Lane("bank", 1), threading.Event()
    first = lane.run(lambda: leave.wait(WITHIN))
    second = lane.run(threading.current_thread)
    leave.set()
    one, two = await first, await second
    assert one is True
    assert two.name == "callgate-bank"
    lane.close()


# The store.


async def test_an_effect_on_another_loop_is_claimed_closed_and_known_everywhere() -> None:
    done: list[str] = []

    @tool(effects="system_state", risk="low")
    async def pay() -> str:
        """Pay somebody."""
        done.append("paid")
        return "paid"

    async with gate_of(pay, config=FREE) as gate:
        key = Context(idempotency_key="k")
        assert (await elsewhere(lambda: gate.call("pay", {}, key))).output == "paid"
        again = await gate.call("pay", {}, key)
        assert again.deduped
        assert (await elsewhere(lambda: gate.call("pay", {}, key))).deduped
        types = [event.type async for event in gate.events(types=["tool_call.*"])]
        assert types == ["tool_call.attempted", "tool_call.succeeded", "tool_call.deduped", "tool_call.deduped"]
    assert done == ["paid"]


async def test_a_record_that_is_on_its_way_when_its_callers_loop_ends_arrives() -> None:
    """The unit is the home loop's from the moment it is handed in: `asyncio.run` cancels what is left on its own."""
    arrived = asyncio.Event()

    async with gate_of(config=FREE) as gate:
        store = parts_of(gate).store
        home = asyncio.get_running_loop()

        def unit(tx: Any) -> None:
            tx.put_meta("told", "yes")
            home.call_soon_threadsafe(arrived.set)

        async def hand_in() -> None:
            store.submit(unit)

        await elsewhere(hand_in)
        await asyncio.wait_for(arrived.wait(), WITHIN)
        await store.flush()
        assert await store.read(lambda reader: reader.meta("told")) == "yes"


async def test_a_unit_that_fails_at_home_fails_where_it_was_asked_for() -> None:
    async with gate_of(config=FREE) as gate:
        store = parts_of(gate).store

        def unit(tx: Any) -> None:
            raise LookupError("not there")

        async def ask() -> str:
            try:
                await store.submit(unit)
            except LookupError as error:
                return str(error)
            raise AssertionError

        assert await elsewhere(ask) == "not there"


async def test_a_store_that_is_gone_is_told_on_another_loop_too() -> None:
    async with gate_of(config=FREE) as gate:
        store = parts_of(gate).store

    async def ask() -> None:
        await store.submit(lambda tx: None)

    with pytest.raises(StoreUnavailable, match="closed"):
        await elsewhere(ask)


async def test_a_record_that_the_store_would_not_take_from_another_loop_is_written_later() -> None:
    @tool(effects="system_state", risk="low")
    async def pay() -> str:
        """Pay somebody, while the disk fills up."""
        faulty.broken = True
        return "paid"

    async with gate_of(pay, config=FREE) as gate:
        faulty = make_faulty(gate)
        written = await heard(gate, "tool_call.succeeded")
        outcome = await elsewhere(lambda: gate.call("pay", {}, Context(idempotency_key="k")))
        assert isinstance(outcome, Unknown)
        assert outcome.output == "paid"
        faulty.broken = False
        await asyncio.wait_for(written.get(), WITHIN)
        assert isinstance(await gate.outcome("k"), Succeeded)


async def test_what_a_call_on_another_loop_read_is_noted_after_that_loop_has_ended() -> None:
    go_on = threading.Event()

    def reads(arguments: dict[str, Any], output: str) -> dict[str, str]:
        go_on.wait(WITHIN)
        return {arguments["path"]: output}

    @tool(effects="read_only", reads=reads)
    async def read(path: str) -> str:
        """Read a page."""
        return "text"

    async with gate_of(read) as gate:
        assert (await elsewhere(lambda: gate.call("read", {"path": "page"}))).ok
        go_on.set()
        opened: Any = gate
        await until(lambda: not opened._opened.work)
        noted = await parts_of(gate).store.read(lambda reader: reader.reading("agent", "default", "page"))
        assert noted is not None


def eager(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:
    """A task whose first step is made at once, as Python 3.12 has it with `asyncio.eager_task_factory`."""
    try:
        waits_for = work.send(None)
    except StopIteration as end:
        return asyncio.Task(asyncio.sleep(0, end.value), loop=loop, **options)

    def rest() -> Generator[Any, Any, Any]:
        yield waits_for
        return (yield from work)  # pyright: ignore[reportUnknownVariableType] - it is anything

    going_on: Any = types.coroutine(rest)
    return asyncio.Task(going_on(), loop=loop, **options)


@pytest.mark.parametrize("steps", [0, 1])
async def test_an_effect_on_a_loop_with_eager_tasks_has_the_end_it_had(steps: int) -> None:
    paid: list[int] = []

    @tool(effects="network_access", risk="medium")
    async def pay(amount: int) -> int:
        """Pay."""
        paid.append(amount)
        for _ in range(steps):
            await asyncio.sleep(0)
        return amount

    async def call() -> Outcome:
        asyncio.get_running_loop().set_task_factory(eager)
        return await gate.call("pay", {"amount": 5}, Context(idempotency_key="k"))

    async with gate_of(pay, config=FREE) as gate:
        outcome = await elsewhere(call)
        ends = [event.type async for event in gate.events(types=["tool_call.succeeded", "tool_call.failed"])]
    assert (paid, ends) == ([5], ["tool_call.succeeded"])
    assert isinstance(outcome, Succeeded)
