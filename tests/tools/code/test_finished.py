"""Who began something in a sandbox waits for its end, however often that one is cancelled. TOOL-09."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from callgate.errors import NoEffect
from callgate.tools.code import ending, sandbox, stand_ins
from callgate.tools.code.alone import AnotherRuns, alone
from callgate.tools.code.box import Box
from callgate.tools.code.finished import finished, on_thread
from callgate.tools.code.sandbox import enclosure
from tests.tools.code.small_program import grounds_of, handles_and_children, run_small, until

pytestmark = pytest.mark.usefixtures("bubblewrap")


@dataclass(slots=True)
class Door:
    """Keeps the thread that comes to it waiting, until it is opened."""

    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def before(self, work: Callable[..., Any]) -> Callable[..., Any]:
        def kept(*arguments: Any, **named: Any) -> Any:
            self.reached.set()
            assert self.opened.wait(60)
            return work(*arguments, **named)

        return kept

    async def is_reached(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, 30)


async def cancel_twice(task: asyncio.Future[Any]) -> None:
    """As a door does it that closes while a call of its is being cancelled already."""
    for _ in range(2):
        task.cancel()
        for _ in range(20):
            await asyncio.sleep(0)


async def enter_and_stay(place: Path) -> None:
    grounds = replace(grounds_of(place), closed=(str(place / ".callgate"),))
    async with enclosure(grounds, writable=grounds.roots):
        await asyncio.Event().wait()


def listed(place: Path) -> list[str]:
    return [path.name for path in place.iterdir()]


async def test_what_stands_in_is_taken_away_though_who_entered_is_cancelled_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door()
    monkeypatch.setattr(stand_ins, "_make", door.before(stand_ins._make))  # pyright: ignore[reportPrivateUsage]
    entering = asyncio.ensure_future(enter_and_stay(tmp_path))
    await door.is_reached()
    await cancel_twice(entering)
    waited = not entering.done()
    door.opened.set()
    await asyncio.wait({entering}, timeout=30)
    assert (waited, entering.cancelled(), listed(tmp_path)) == (True, True, [])


def test_a_loop_that_ends_waits_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cancels everything there is, also what others wait for: but a thread goes on."""
    door = Door()
    monkeypatch.setattr(stand_ins, "_make", door.before(stand_ins._make))  # pyright: ignore[reportPrivateUsage]
    tasks: list[asyncio.Future[None]] = []
    opened: list[bool] = []

    async def begin_and_end() -> None:
        tasks.append(asyncio.ensure_future(enter_and_stay(tmp_path)))
        tasks[0].add_done_callback(lambda _: opened.append(door.opened.is_set()))
        await door.is_reached()
        asyncio.get_running_loop().call_later(0.1, door.opened.set)

    asyncio.run(begin_and_end())
    assert (opened, listed(tmp_path)) == ([True], [])


async def test_nobody_else_has_a_turn_while_things_are_still_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    door = Door()
    monkeypatch.setattr(ending, "set_aside", door.before(ending.set_aside))
    running = asyncio.ensure_future(run_small(tmp_path, "mkdir .git"))
    await door.is_reached()
    await cancel_twice(running)
    with pytest.raises(AnotherRuns):
        async with alone(until=time.monotonic()):
            pass
    door.opened.set()
    await asyncio.wait({running}, timeout=30)
    assert running.cancelled()
    assert [name.startswith(".git.set-aside-") for name in listed(tmp_path)] == [True]


async def find_for_ever(_box: Any) -> bool:
    await asyncio.Event().wait()
    return False


async def find_nothing(_box: Any) -> bool:
    return False


@dataclass(slots=True)
class LateEnd:
    """One more thing that has to end before a sandbox is gone."""

    looked_for: asyncio.Event = field(default_factory=asyncio.Event)
    comes: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def put_behind(self, ends: Callable[[Box], Iterator[asyncio.Future[None]]]) -> Callable[[Box], Any]:
        def later(box: Box) -> Iterator[asyncio.Future[None]]:
            self.looked_for.set()
            yield from ends(box)
            yield self.comes

        return later


@pytest.mark.parametrize("find", [None, find_for_ever, find_nothing])
async def test_a_sandbox_is_gone_before_its_call_is(
    find: Callable[[Any], Awaitable[bool]] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it runs, while it is being made, and where it could not be."""
    end, looked_for = LateEnd(), asyncio.Event()
    monkeypatch.setattr(Box, "ends", end.put_behind(Box.ends))
    if find is not None:

        async def found(box: Any) -> bool:
            looked_for.set()
            return await find(box)

        monkeypatch.setattr(sandbox, "_find_init", found)
    before = handles_and_children()
    running = asyncio.ensure_future(run_small(tmp_path, "touch begun; exec sleep 600"))
    async with asyncio.timeout(30):
        await (until(tmp_path / "begun") if find is None else looked_for.wait())
        if find is not find_nothing:
            running.cancel()
        await end.looked_for.wait()
    await cancel_twice(running)
    waited = not running.done()
    end.comes.set_result(None)
    await asyncio.wait({running}, timeout=30)
    assert (waited, running.cancelled()) == (True, True)
    assert handles_and_children() == before


def test_a_loop_that_ends_waits_for_the_sandbox_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is set aside, and nobody else has a turn, while something of it may still write."""
    before, came = handles_and_children(), list[bool]()

    async def begin_and_end() -> None:
        end = LateEnd()
        monkeypatch.setattr(Box, "ends", end.put_behind(Box.ends))
        running = asyncio.ensure_future(run_small(tmp_path, "touch begun; mkdir .git; exec sleep 600"))
        running.add_done_callback(lambda _: came.append(end.comes.done() and not (tmp_path / ".git").exists()))
        await until(tmp_path / ".git")
        running.cancel()
        await end.looked_for.wait()
        asyncio.get_running_loop().call_later(0.1, end.comes.set_result, None)

    asyncio.run(begin_and_end())
    assert (came, handles_and_children()) == ([True], before)


@asynccontextmanager
async def slow_work() -> AsyncGenerator[asyncio.Future[str]]:
    """Work that takes some steps of the loop longer than its caller has."""

    async def work() -> str:
        for _ in range(20):
            await asyncio.sleep(0)
        return "done"

    task = asyncio.ensure_future(work())
    yield task
    assert task.result() == "done"


async def test_a_time_limit_and_a_group_of_tasks_end_as_they_do_elsewhere() -> None:
    async with slow_work() as work:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await finished(work)
    async with slow_work() as work:
        with pytest.raises(ExceptionGroup, match="unhandled"):
            await in_a_group(finished(work), fail())
    async with slow_work() as work:
        assert await finished(work) == "done"


async def in_a_group(*works: Coroutine[Any, Any, Any]) -> None:
    async with asyncio.TaskGroup() as group:
        for work in works:
            group.create_task(work)


async def fail() -> None:
    raise ValueError("x")


async def test_what_went_wrong_is_told_unless_nobody_waits_any_more() -> None:
    with pytest.raises(NoEffect):
        await finished(on_thread(refuse))
    door = Door()
    waiting = asyncio.ensure_future(finished(on_thread(door.before(refuse))))
    await door.is_reached()
    await cancel_twice(waiting)
    door.opened.set()
    await asyncio.wait({waiting}, timeout=30)
    assert waiting.cancelled()


def refuse() -> None:
    raise NoEffect("no")
