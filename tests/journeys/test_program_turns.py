"""Programs beside ordinary calls: whatever a program does, the others of its gate have their turn."""

from __future__ import annotations

import asyncio

import pytest

from callgate import Callgate
from callgate.model.program import ProgramLimits, ProgramRun
from callgate.testing import memory_gate
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import Town

ORDINARY, LAST = 7, 99_999


async def beside(gate: Callgate, source: str, limits: ProgramLimits) -> ProgramRun:
    """Run a program, and make ordinary calls one after the other for as long as it runs."""
    running = asyncio.ensure_future(gate.run_program(source, limits=limits))
    while not running.done():
        (await gate.call("price", {"item": ORDINARY})).unwrap()
        await asyncio.sleep(0)
    return await running


@pytest.mark.parametrize(
    "source",
    [
        "price(99_999)\nwhile True:\n    pass",
        "for item in range(100, 200):\n    price(item)\nprice(99_999)\nwhile True:\n    pass",
        "for item in range(100, 200):\n    await price(item)\nawait price(99_999)\nsum(range(10**12))",
        "price(99_999)\nwhile True:\n    print('x' * 100)",
        # Nothing inside the sandbox can end this one.
        "import re\ntext = 'a'\nfor item in range(100, 200):\n    price(item)\n    text = text + text if item < 123 else text\n"
        "price(99_999)\nre.sub('a', 'b', text)",
    ],
    ids=["at once", "after short turns", "in a builtin", "printing", "in a builtin without end"],
)
async def test_a_program_that_computes_without_end_holds_up_no_other_call(source: str) -> None:
    town = Town()
    # In memory nothing is left to wait for once the program is stopped, so that what is counted is what went beside it.
    async with memory_gate(*town.tools) as gate:
        run = await beside(gate, source, ProgramLimits(seconds=0.5))
    assert run.error is not None
    assert run.error.kind == "limit"
    # Counted by the tool itself: all of them were made while the program was computing.
    assert town.read[town.read.index(LAST) :].count(ORDINARY) > 5


@pytest.mark.usefixtures("on_each_store")
async def test_a_program_of_many_short_turns_lets_others_have_theirs() -> None:
    town = Town()
    source = "for item in range(100, 1_000):\n    await price(item)"
    async with gate_of(*town.tools) as gate:
        (await beside(gate, source, ProgramLimits())).unwrap()
    first, last = town.read.index(100), town.read.index(999)
    assert town.read[first:last].count(ORDINARY) > 5
