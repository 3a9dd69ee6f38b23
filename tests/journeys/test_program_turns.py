"""Programs beside ordinary calls: whatever a program does, the others of its gate have their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from callgate import Callgate
from callgate.model.program import ProgramLimits, ProgramRun
from callgate.testing import memory_gate
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import Town

ORDINARY, LAST = 7, 99_999
BUILTIN = """
import re
text = 'a'
for item in range(100, 200):
    price(item)
    text = text + text if item < 121 else text
price(99_999)
re.sub('a', 'b', text)
"""
"""Nothing inside the sandbox ends its last line."""


async def call_beside(gate: Callgate, program: asyncio.Task[ProgramRun], enough: Callable[[], bool]) -> None:
    """Make ordinary calls one after the other while a program runs, until there are enough."""
    while not (program.done() or enough()):
        (await gate.call("price", {"item": ORDINARY})).unwrap()
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    "source",
    [
        "price(99_999)\nwhile True:\n    pass",
        "for item in range(100, 200):\n    price(item)\nprice(99_999)\nwhile True:\n    pass",
        "for item in range(100, 200):\n    await price(item)\nawait price(99_999)\nsum(range(10**12))",
        "price(99_999)\nwhile True:\n    print('x' * 100)",
        BUILTIN,
    ],
    ids=["at once", "after short turns", "in a builtin", "printing", "in a builtin without end"],
)
async def test_a_program_that_computes_without_end_holds_up_no_other_call(source: str) -> None:
    town = Town()

    def beside() -> int:
        """Counted by the tool itself: ordinary calls since the program has made its last one."""
        return town.read[town.read.index(LAST) :].count(ORDINARY) if LAST in town.read else 0

    # The program may compute for longer than the test may take: who waited for it would come too late.
    async with memory_gate(*town.tools) as gate, asyncio.timeout(30):
        program = asyncio.create_task(gate.run_program(source, limits=ProgramLimits(seconds=60)))
        await call_beside(gate, program, lambda: beside() > 20)
        assert not program.done()
        program.cancel()
        with pytest.raises(asyncio.CancelledError):
            await program


@pytest.mark.usefixtures("on_each_store")
async def test_a_program_of_many_short_turns_lets_others_have_theirs() -> None:
    town = Town()

    def beside() -> int:
        """Ordinary calls since the program has found its pace, and nothing of it waits for anything any more."""
        return town.read[town.read.index(400) :].count(ORDINARY) if 400 in town.read else 0

    async with gate_of(*town.tools) as gate:
        program = asyncio.create_task(gate.run_program("for item in range(100, 1_000):\n    await price(item)"))
        await call_beside(gate, program, lambda: beside() > 5)
        assert 999 not in town.read
        (await program).unwrap()
