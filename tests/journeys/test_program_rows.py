"""What is kept of a program is what was kept last, also after a write that failed, a cancellation, and an old copy."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from callgate import Callgate, Context, tool
from callgate.errors import ProgramConflict, StoreUnavailable
from callgate.model.canonical import dumps
from callgate.model.program import ProgramState
from tests.journeys.faulty import make_faulty
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import CHAINED, Town

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from callgate.ports import Transaction

T = TypeVar("T")

CHANGED_MIND = """
import asyncio
if await look() == 1:
    await asyncio.gather(act("a"), act("b"))
else:
    await asyncio.gather(act("b"), act("a"))
"""


class World:
    """What happened. It looks different every time, and from a look on the store can be watched."""

    def __init__(self) -> None:
        self.looks = 0
        self.acts: list[str] = []
        self.since_look: list[int] = []
        """A number for each write since then."""

    @property
    def tools(self) -> list[Any]:
        """One that reads, one with an effect."""

        @tool(effects="read_only")
        async def look() -> int:
            """Look."""
            self.looks += 1
            self.since_look.clear()
            return self.looks

        @tool(effects="system_state", risk="low", allowed_callers=CHAINED, concurrency_safe=True)
        async def act(what: str) -> str:
            """Act."""
            self.acts.append(what)
            return what

        return [look, act]

    def watch(self, gate: Callgate, *, write: int, meanwhile: Callable[[], Awaitable[None]]) -> None:
        """Do something before that write after the first look."""
        faulty = make_faulty(gate)
        real = faulty.write

        async def watched(unit: Callable[[Transaction], T]) -> T:
            self.since_look.append(1)
            if self.looks == 1 and len(self.since_look) == write:
                await meanwhile()
            return await real(unit)

        faulty.write = watched


@pytest.mark.usefixtures("on_each_store")
async def test_a_journal_that_could_not_be_kept_once_makes_no_effect_twice() -> None:
    world = World()

    async def fail() -> None:
        raise StoreUnavailable("the disk is full")

    async with gate_of(*world.tools) as gate:
        world.watch(gate, write=1, meanwhile=fail)
        with pytest.raises(StoreUnavailable):
            await gate.run_program(CHANGED_MIND, program_id="p1")
        assert (await gate.find_program("p1")).state is ProgramState.INTERRUPTED
        done = await gate.resume_program("p1")
        assert (await gate.verify_audit()).ok
    assert (done.ok, sorted(world.acts), world.looks) == (True, ["a", "b"], 1)


@pytest.mark.usefixtures("on_each_store")
@pytest.mark.parametrize(
    ("write", "left"),
    [(1, ProgramState.INTERRUPTED), (4, ProgramState.INTERRUPTED), (5, ProgramState.FINISHED)],
    ids=["its journal before an effect", "its journal after it", "its end"],
)
async def test_a_program_that_is_cancelled_while_something_of_it_is_written_keeps_its_place(
    write: int, left: ProgramState
) -> None:
    world, writing, go = World(), asyncio.Event(), asyncio.Event()

    async def stand() -> None:
        writing.set()
        await go.wait()

    async with gate_of(*world.tools) as gate:
        world.watch(gate, write=write, meanwhile=stand)
        task = asyncio.ensure_future(gate.run_program("n = look()\nact('a')\nn", program_id="p1"))
        await asyncio.wait_for(writing.wait(), 60)
        task.cancel()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await gate.find_program("p1")).state is left
        done = await gate.resume_program("p1")
    assert (done.unwrap(), world.acts, world.looks) == (1, ["a"], 1)


@pytest.mark.usefixtures("on_each_store")
async def test_who_comes_too_late_does_not_make_a_running_program_free_for_a_third() -> None:
    town, entered, go = Town(), asyncio.Event(), asyncio.Event()

    @tool(effects="read_only")
    async def stand() -> int:
        """Stand still."""
        entered.set()
        await go.wait()
        return 1

    async with gate_of(*town.tools, stand) as gate:
        run = await gate.run_program("pay(5)\nstand()\nsend('x')", program_id="p1")
        await gate.approve(run.waiting[0].approval_id, by="ann")
        both = [asyncio.ensure_future(gate.resume_program("p1")) for _ in range(2)]
        await asyncio.wait_for(entered.wait(), 60)
        [late], [runs] = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        assert isinstance(late.exception(), ProgramConflict)
        assert (await gate.find_program("p1")).state is ProgramState.RUNNING
        with pytest.raises(ProgramConflict, match="running"):
            await gate.resume_program("p1")
        go.set()
        assert (await runs).ok
    assert (town.paid, town.sent) == ([5], ["x"])


@pytest.mark.usefixtures("on_each_store")
async def test_two_who_begin_one_program_at_once_have_its_effects_once() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        both = [gate.run_program("send('x')", program_id="p1") for _ in range(2)]
        made = await asyncio.gather(*both, return_exceptions=True)
        assert (await gate.find_program("p1")).ok
    assert sorted(type(each).__name__ for each in made) == ["ProgramConflict", "ProgramRun"]
    assert town.sent == ["x"]


@pytest.mark.usefixtures("on_each_store")
async def test_what_is_recorded_of_a_program_does_not_let_its_inputs_be_guessed() -> None:
    async with gate_of() as gate:
        await gate.run_program("1", Context(), inputs={"pin": 4711}, program_id="p1")
        [started] = [event.payload or {} async for event in gate.events(types=["program.started"])]
        parts = ["1", {"pin": 4711}, "agent"]
        guesses = [[*parts, "default", False], [*parts, None, "default", False]]
    assert len(started["digest"]) >= 32
    assert started["digest"] not in [hashlib.sha256(dumps(guess)).hexdigest() for guess in guesses]


def _rows(path: Path) -> dict[str, bytes]:
    with sqlite3.connect(path) as db:
        kept = dict(db.execute("SELECT id, blob FROM sealed WHERE id LIKE 'program:p1%'").fetchall())
    db.close()
    return kept


def _put_back(path: Path, rows: dict[str, bytes], *names: str) -> None:
    """As somebody with the file and without the key could."""
    with sqlite3.connect(path) as db:
        for name in names:
            assert db.execute("UPDATE sealed SET blob = ? WHERE id = ?", (rows[name], name)).rowcount == 1
    db.close()


@pytest.mark.parametrize("names", [["program:p1:state"], ["program:p1:state", "program:p1:snapshot"]])
async def test_a_state_that_was_put_back_is_found_and_the_program_does_not_go_on(
    tmp_path: Path, names: list[str]
) -> None:
    town, path = Town(), tmp_path / "gate.db"
    url = f"sqlite:///{path}"
    async with gate_of(*town.tools, store=url) as gate:
        run = await gate.run_program("x = price(1)\npay(5)\nsend('x')\npay(6)\nx", program_id="p1")
        await gate.approve(run.waiting[0].approval_id, by="ann")
    before = _rows(path)
    async with gate_of(*town.tools, store=url) as gate:
        run = await gate.resume_program("p1")
        assert run.state is ProgramState.SLEEPING
        await gate.approve(run.waiting[0].approval_id, by="ann")
    _put_back(path, before, *names)
    async with gate_of(*town.tools, store=url) as gate:
        with pytest.raises(ProgramConflict, match="not what was recorded of it last"):
            await gate.resume_program("p1")
        with pytest.raises(ProgramConflict, match="not what was recorded of it last"):
            await gate.find_program("p1")
        assert [entry.id for entry in await gate.programs()] == ["p1"]
    assert (town.paid, town.sent) == ([5], ["x"])


async def test_a_finished_program_whose_older_state_was_put_back_does_not_run_again(tmp_path: Path) -> None:
    town, path = Town(), tmp_path / "gate.db"
    url = f"sqlite:///{path}"
    async with gate_of(*town.tools, store=url) as gate:
        run = await gate.run_program("pay(5)", program_id="p1")
        await gate.approve(run.waiting[0].approval_id, by="ann")
        before = _rows(path)
        assert (await gate.resume_program("p1")).ok
    _put_back(path, before, "program:p1:state")
    async with gate_of(*town.tools, store=url) as gate:
        with pytest.raises(ProgramConflict, match="not what was recorded of it last"):
            await gate.resume_program("p1")
    assert town.paid == [5]


async def test_a_program_whose_record_was_erased_does_not_go_on(tmp_path: Path) -> None:
    town, path = Town(), tmp_path / "gate.db"
    async with gate_of(*town.tools, store=f"sqlite:///{path}") as gate:
        run = await gate.run_program("pay(5)", program_id="p1")
        await gate.approve(run.waiting[0].approval_id, by="ann")
        assert await gate.erase(by="ann", why="asked to", types=["program.slept"]) == 1
        with pytest.raises(ProgramConflict, match="not what was recorded of it last"):
            await gate.resume_program("p1")
    assert town.paid == []


def _shop(made: list[tuple[str, str]]) -> list[Any]:
    @tool(effects="read_only")
    async def ask(question: str) -> str:
        """Look at something that needs a person's yes."""
        return question

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def order(item: str) -> str:
        """Order something; its number comes back."""
        made.append(("order", item))
        return "no. 42"

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def ship(number: str) -> str:
        """Ship an order."""
        made.append(("ship", number))
        return number

    return [ask, order, ship]


@pytest.mark.parametrize("part", ["1", "snapshot"])
async def test_a_part_of_the_dry_run_that_was_put_back_is_found(tmp_path: Path, part: str) -> None:
    (tmp_path / "c.yaml").write_text("version: 1\nglobal:\n  rules:\n    - {match: ask, verdict: confirm, why: asks}\n")
    made: list[tuple[str, str]] = []
    path = tmp_path / "gate.db"

    def opened() -> Callgate:
        return gate_of(*_shop(made), store=f"sqlite:///{path}", config=tmp_path / "c.yaml")

    async with opened() as gate:
        run = await gate.run_program("n = order('tea')\nask('sure?')\nship(n)", program_id="p1", dry_run=True)
        await gate.approve(run.waiting[0].approval_id, by="ann")
    before = _rows(path)
    async with opened() as gate:
        assert (await gate.resume_program("p1")).state is ProgramState.PROPOSED
        run = await gate.resume_program("p1")
        assert (run.state, made) == (ProgramState.SLEEPING, [("order", "tea")])
        await gate.approve(run.waiting[0].approval_id, by="ann")
    _put_back(path, before, f"program:p1:{part}")
    async with opened() as gate:
        with pytest.raises(ProgramConflict, match=r"is not the one (that was )?kept last"):
            await gate.resume_program("p1")
    assert made == [("order", "tea")]
