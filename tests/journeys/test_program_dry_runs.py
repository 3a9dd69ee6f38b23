"""A dry run shows every effect of a program in its order; one yes covers the list, and nothing else is made."""

from __future__ import annotations

from typing import Any

import pytest

from callgate import tool
from callgate.model.program import ProgramState
from callgate.model.tool import Preview
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import CHAINED, Town

pytestmark = pytest.mark.usefixtures("on_each_store")

SOURCE = """
import asyncio
a = await price(3)
await pay(a)
await send(f"paid {a}")
await asyncio.gather(pay(1), pay(2))
"done"
"""


async def test_a_dry_run_makes_no_effect_and_lists_every_one_in_order() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(SOURCE, dry_run=True)
        assert (run.state, town.paid, town.sent, town.read) == (ProgramState.PROPOSED, [], [], [3])
        listed = [(each.tool, each.what.splitlines()[1].strip(), each.verdict) for each in run.plan]
        assert listed == [
            ("pay", "amount: 30", "confirm"),
            ("send", 'to: "paid 30"', "allow"),
            ("pay", "amount: 1", "confirm"),
            ("pay", "amount: 2", "confirm"),
        ]
        [question] = run.waiting
        shown = await gate.approval(question.approval_id)
        for what in ("amount: 30", "paid 30", "amount: 1", "amount: 2"):
            assert what in shown.what
        events = [event.type async for event in gate.events(types=["tool_call.*"])]
    assert events == ["tool_call.attempted", "tool_call.succeeded"]


async def test_one_yes_covers_the_list_and_the_program_runs_in_earnest() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(SOURCE, dry_run=True)
        still = await gate.resume_program(run.id)
        assert (still.state, town.paid) == (ProgramState.PROPOSED, [])
        await gate.approve(run.waiting[0].approval_id, by="ann")
        done = await gate.resume_program(run.id)
    assert done.unwrap() == "done"
    assert (town.paid, town.sent) == ([30, 1, 2], ["paid 30"])


async def test_a_no_to_the_list_lets_none_of_it_happen() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program(SOURCE, dry_run=True)
        await gate.reject(run.waiting[0].approval_id, by="ann", why="not today")
        done = await gate.resume_program(run.id)
    assert done.error is not None
    assert "not today" in done.error.message
    assert (town.paid, town.sent) == ([], [])


async def test_a_program_that_comes_to_another_effect_than_its_dry_run_stops_there() -> None:
    town = Town()
    prices = [3, 4]

    @tool(effects="read_only")
    async def stock() -> int:
        """How many there are, which changes."""
        return prices.pop(0)

    async with gate_of(*town.tools, stock) as gate:
        run = await gate.run_program("send('first')\npay(stock())", dry_run=True)
        await gate.approve(run.waiting[0].approval_id, by="ann")
        done = await gate.resume_program(run.id)
    assert done.error is not None
    assert (done.state, done.error.kind) == (ProgramState.FAILED, "diverged")
    assert "pay" in done.error.message
    assert (town.sent, town.paid) == (["first"], [])


async def test_an_effect_that_is_refused_is_refused_in_the_dry_run_too() -> None:
    town = Town()

    @tool(effects="system_state", risk="low", allowed_callers=CHAINED)
    async def count(number: int) -> int:
        """Count up to ten."""
        return number

    source = "try:\n    count(number='many')\nexcept PermissionError as error:\n    print(error)\nsend('x')"
    async with gate_of(*town.tools, count) as gate:
        run = await gate.run_program(source.replace("number='many'", "**given"), inputs={"given": {}}, dry_run=True)
    assert [each.tool for each in run.plan] == ["send"]
    assert "number" in run.printed


async def test_a_list_that_needs_nobody_can_be_looked_at_and_run() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("send('a')\nsend('b')", dry_run=True)
        assert (run.state, run.waiting, len(run.plan), town.sent) == (ProgramState.PROPOSED, (), 2, [])
        done = await gate.resume_program(run.id)
    assert done.ok
    assert town.sent == ["a", "b"]


async def test_a_preview_of_the_tool_is_part_of_the_list_and_a_stand_in_has_the_declared_shape() -> None:
    done: list[str] = []

    def shown(arguments: dict[str, Any], _context: Any) -> Preview:
        return Preview(text=f"+{arguments['text']}")

    @tool(effects="modifies_files", risk="medium", allowed_callers=CHAINED, preview=shown)
    async def write(text: str) -> dict[str, int]:
        """Write something."""
        done.append(text)
        return {"bytes": len(text)}

    @tool(
        effects="system_state",
        risk="low",
        allowed_callers=CHAINED,
        output_schema={
            "type": "object",
            "properties": {"id": {"type": "string"}, "tags": {"type": "array"}, "state": {"enum": ["open", "shut"]}},
        },
    )
    async def make(name: str) -> Any:
        """Make something."""
        done.append(name)
        return {"id": name, "tags": [], "state": "open"}

    async with gate_of(write, make) as gate:
        run = await gate.run_program(
            "m = make('x')\nprint(m['id'], m['tags'], m['state'])\nwrite('line')", dry_run=True
        )
    assert [each.preview for each in run.plan] == [None, "+line"]
    assert run.printed == " [] open\n"
    assert done == []


async def test_a_dry_run_that_sleeps_for_a_read_goes_on_as_one() -> None:
    town = Town()

    @tool(effects="read_only", risk="high")
    async def peek(at: str) -> str:
        """Look at something that needs a person's yes."""
        return at

    async with gate_of(*town.tools, peek) as gate:
        run = await gate.run_program("send('a')\npay(len(peek('secret')))", dry_run=True)
        assert run.state is ProgramState.SLEEPING
        await gate.approve(run.waiting[0].approval_id, by="ann")
        run = await gate.resume_program(run.id)
        assert (run.state, [each.tool for each in run.plan]) == (ProgramState.PROPOSED, ["send", "pay"])
    assert (town.sent, town.paid) == ([], [])
