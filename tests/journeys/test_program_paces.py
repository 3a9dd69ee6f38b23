"""A program of many short steps begins again where they cost less, and one with a long step where it may take its time.

Nothing of that can be seen from outside: every call is made once, and what is printed is printed once.
"""

from __future__ import annotations

import asyncio

import pytest

from callgate import tool
from callgate.flows.program import sandbox
from callgate.flows.program.steps import Pace
from callgate.model.program import ProgramLimits, ProgramState
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import CHAINED, Town

pytestmark = pytest.mark.usefixtures("on_each_store")
LONG_STEP = "for each in range(2_000_000):\n    pass\n"
MANY = "for item in range(100):\n    print(await price(item))\n"
PRINTED = "".join(f"{item * 10}\n" for item in range(100))


@pytest.fixture
def paces(monkeypatch: pytest.MonkeyPatch) -> list[Pace]:
    """The sandboxes that programs ran in, in order."""
    seen: list[Pace] = []
    begin = sandbox.Sandboxes.session

    async def noted(sandboxes: sandbox.Sandboxes, *given: object, pace: Pace) -> sandbox.Session:
        seen.append(pace)
        return await begin(sandboxes, *given, pace=pace)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(sandbox.Sandboxes, "session", noted)
    # However busy the machine is, a step of these tests is a short one, and none is ended for having had to wait.
    monkeypatch.setattr(sandbox, "_SHORT", 60.0)
    monkeypatch.setattr(sandbox, "_GRACE", 60.0)
    return seen


async def test_every_call_is_made_once_whatever_sandboxes_a_program_runs_in(paces: list[Pace]) -> None:
    town = Town()
    source = (
        f"await send('first')\n{MANY}await send('second')\n{LONG_STEP}"
        "await price(100)\nprint('end')\nawait send('third')"
    )
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(source)
        again = await gate.run_program(source)
    assert run.unwrap() == again.unwrap() == {"sent": "third"}
    assert paces == [Pace.NEW, Pace.QUICK, Pace.SLOW, Pace.QUICK, Pace.SLOW]
    assert run.printed == again.printed == f"{PRINTED}end\n"
    assert (run.calls, town.read) == (104, [*range(101)] * 2)
    assert town.sent == ["first", "second", "third"] * 2


async def test_a_call_that_is_under_way_goes_on_while_its_program_begins_again(paces: list[Pace]) -> None:
    town, go = Town(), asyncio.Event()

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def slow(word: str) -> str:
        """Wait to be let go."""
        await go.wait()
        town.sent.append(word)
        return word

    @tool(effects="read_only")
    async def let_go() -> int:
        """Let it go."""
        go.set()
        return 1

    source = (
        f"import asyncio\n{MANY}async def work():\n    await price(100)\n    n = 0\n    while n < 2_000_000:\n"
        "        n += 1\n    return await let_go()\nawait asyncio.gather(slow('a'), work(), slow('b'))"
    )
    async with gate_of(*town.tools, slow, let_go) as gate:
        run = await gate.run_program(source)
    assert run.unwrap() == ["a", 1, "b"]
    assert paces == [Pace.NEW, Pace.QUICK, Pace.SLOW]
    assert (sorted(town.sent), town.read) == (["a", "b"], [*range(101)])


async def test_a_program_that_slept_in_place_takes_its_time_when_it_wakes(paces: list[Pace]) -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(f"{MANY}paid = await pay(5)\n{LONG_STEP}(await price(7), paid)")
        assert run.state is ProgramState.SLEEPING
        await gate.approve(run.waiting[0].approval_id, by="ann")
        run = await gate.resume_program(run.id)
    assert run.unwrap() == [70, "paid 5"]
    assert run.printed == PRINTED
    assert paces == [Pace.NEW, Pace.QUICK, Pace.NEW, Pace.SLOW]
    assert (town.read, town.paid) == ([*range(100), 7], [5])


async def test_a_dry_run_in_place_lists_every_effect_once_and_makes_it_once_in_earnest(paces: list[Pace]) -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("for item in range(100):\n    await send(str(item))", dry_run=True)
        assert (len(run.plan), town.sent) == (100, [])
        (await gate.resume_program(run.id)).unwrap()
    assert town.sent == [str(item) for item in range(100)]
    assert Pace.QUICK in paces


async def test_limits_hold_in_every_sandbox(paces: list[Pace]) -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        calls = await gate.run_program("while True:\n    price(1)", limits=ProgramLimits(calls=120))
        time = await gate.run_program(f"{MANY}while True:\n    pass", limits=ProgramLimits(seconds=0.3))
        memory = await gate.run_program(f"{MANY}x = 'a' * 10**9")
    told = [run.error.message for run in (calls, time, memory) if run.error is not None and run.error.kind == "limit"]
    assert ["120 calls" in told[0], "time limit" in told[1], "memory limit" in told[2]] == [True] * 3
    assert paces == [Pace.NEW, Pace.QUICK, Pace.NEW, Pace.QUICK, Pace.SLOW, Pace.NEW, Pace.QUICK]
    assert town.read.count(1) == 122
