"""However often a program sleeps, wakes and is run again from its journal, it does what it would have done at once."""

from __future__ import annotations

import random
from typing import Any

import pytest

from callgate import Callgate, tool
from callgate.model.program import ProgramState
from tests.journeys.gates import gate_of, parts_of
from tests.journeys.program_tools import CHAINED

pytestmark = pytest.mark.slow

SOURCE = """
import asyncio, random, time

async def errand(name, steps):
    got = []
    for step in range(steps):
        got.append(await look(f"{name}{step}"))
        if random.random() < 0.5:
            got.append(await act(f"{name}{step}", len(got)))
        else:
            try:
                got.append(await act(f"{name}{step}!", step))
            except PermissionError:
                got.append("refused")
    return got + [time.time() > 0]

async def pair(name):
    return await asyncio.gather(errand(name + "x", 2), errand(name + "y", 1))

print("begun")
first = await asyncio.gather(errand("a", 2), pair("b"), errand("c", 1))
print("then", await act("middle", 0))
second = await pair("d")
[first, second]
"""


class World:
    """What happened, in order."""

    def __init__(self) -> None:
        self.acts: list[tuple[str, int]] = []

    @property
    def tools(self) -> list[Any]:
        @tool(effects="read_only")
        async def look(what: str) -> str:
            """Look at something."""
            return what.upper()

        @tool(effects="network_access", risk="high", allowed_callers=CHAINED)
        async def act(what: str, much: int) -> str:
            """Do something that needs a person."""
            self.acts.append((what, much))
            return f"did {what}"

        return [look, act]


async def lived(seed: int, *, forgetful: bool) -> tuple[Any, str, list[tuple[str, int]], int]:
    """A program's whole life; people decide about some of what waits, in any order, and rarely about all of it."""
    world, chance, losing, naps = World(), random.Random(seed), random.Random(seed), 0
    async with gate_of(*world.tools, store="memory://") as gate:
        run = await gate.run_program(SOURCE, program_id="p1")
        while run.state is ProgramState.SLEEPING:
            naps += 1
            assert naps < 100
            for question in chance.sample(run.waiting, chance.randint(1, len(run.waiting))):
                await _decide(gate, question.approval_id)
            if forgetful and losing.random() < 0.7:
                await _forget(gate)
            run = await gate.resume_program("p1")
        assert (await gate.verify_audit()).ok
    return run.unwrap(), run.printed, sorted(world.acts), naps


async def _decide(gate: Callgate, approval_id: str) -> None:
    what = (await gate.approval(approval_id)).what
    unwanted = '"by1!"' in what or '"c0!"' in what
    await (gate.reject(approval_id, by="ann") if unwanted else gate.approve(approval_id, by="ann"))


async def _forget(gate: Callgate) -> None:
    await parts_of(gate).store.write(lambda tx: tx.put_sealed("program:p1:snapshot", b"", keep_until=None))


async def test_run_again_from_its_journal_a_program_does_what_it_does_when_it_goes_on_from_where_it_was() -> None:
    naps: set[int] = set()
    for seed in range(12):
        went_on, run_again = await lived(seed, forgetful=False), await lived(seed, forgetful=True)
        assert run_again == went_on
        _, printed, acts, slept = went_on
        assert printed.startswith("begun\nthen did middle")
        assert len(acts) == len({what for what, _ in acts})
        naps.add(slept)
    assert len(naps) > 1
