"""A dry run shows every effect of a program in its order; one yes covers the list, and nothing else is made."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from callgate import Callgate, Context, tool
from callgate.errors import InvalidArguments
from callgate.model.levels import Autonomy
from callgate.model.program import ProgramState
from callgate.model.tool import Preview
from callgate.testing import HandClock
from tests.journeys.gates import gate_of
from tests.journeys.program_tools import CHAINED, Town

if TYPE_CHECKING:
    from pathlib import Path

    from callgate.model.event import Event

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


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ("reject", "ann said no to the list: not today"),
        ("respond", "ann answered instead of deciding about the list: ask me tomorrow"),
        ("expire", "the question about the list is expired"),
    ],
)
async def test_any_answer_but_yes_lets_nothing_of_the_list_happen_also_not_what_needed_nobody(
    answer: str, told: str
) -> None:
    town, clock = Town(), HandClock()
    async with gate_of(*town.tools, clock=clock) as gate:
        run = await gate.run_program("send('first')\npay(5)\nsend('last')", dry_run=True)
        question = run.waiting[0].approval_id
        if answer == "reject":
            await gate.reject(question, by="ann", why="not today")
        elif answer == "respond":
            await gate.respond(question, by="ann", text="ask me tomorrow")
        else:
            clock.turn(365 * 86_400)
        done = await gate.resume_program(run.id)
        assert done.error is not None
        assert (done.state, done.error.kind) == (ProgramState.FAILED, "refused")
        assert told in done.error.message
        assert await gate.resume_program(run.id) == done
        assert (await gate.verify_audit()).ok
    assert (town.paid, town.sent) == ([], [])


async def test_a_dry_run_asked_for_again_gives_the_same_proposal_and_nothing_is_made() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        first = await gate.run_program("send('a')", program_id="p1", dry_run=True)
        assert first.state is ProgramState.PROPOSED
        assert await gate.run_program("send('a')", program_id="p1", dry_run=True) == first
        assert town.sent == []
        done = await gate.resume_program("p1")
        assert await gate.run_program("send('a')", program_id="p1", dry_run=True) == done
    assert town.sent == ["a"]


async def test_a_dry_run_asked_for_again_after_the_yes_makes_nothing_either() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("pay(5)", program_id="p1", dry_run=True)
        await gate.approve(run.waiting[0].approval_id, by="ann")
        again = await gate.run_program("pay(5)", program_id="p1", dry_run=True)
    assert (again.state, town.paid) == (ProgramState.PROPOSED, [])


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


class Changing:
    """Something that says another number whenever it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    @property
    def look(self) -> Any:
        """The tool."""

        @tool(effects="read_only")
        async def look() -> int:
            """Look, and see something else than before."""
            self.looks += 1
            return self.looks

        return look


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio\nx = await look()\nawait asyncio.gather(send(str(x)), send('second'))",
        "if look() == 1:\n    send('charge')\nelse:\n    price(1)\nsend('ship')",
        "if look() == 1:\n    price(1)\nelse:\n    send('more')\nsend('ship')",
        "if look() == 1:\n    send('charge')\nsend('ship')",
        "given = ways[look() - 1]\ntry:\n    send(*given)\nexcept TypeError:\n    pass\nsend('ship')",
    ],
    ids=["another first", "a read instead", "one more", "one less", "arguments that do not fit"],
)
async def test_nothing_is_made_from_the_first_effect_on_that_is_not_the_one_of_the_dry_run(source: str) -> None:
    town = Town()
    async with gate_of(*town.tools, Changing().look) as gate:
        run = await gate.run_program(source, inputs={"ways": [["a"], ["a", "b", "c"]]}, dry_run=True)
        assert (run.state, run.waiting) == (ProgramState.PROPOSED, ())
        done = await gate.resume_program(run.id)
    assert done.error is not None
    assert (done.state, done.error.kind, town.sent) == (ProgramState.FAILED, "diverged", [])


def _reloading(gate: Callgate, done: list[int], *, at: int = 1) -> list[Any]:
    """A tool that reads, until another one reloads it, the first time it is called or later: then it has effects."""
    calls: list[int] = []

    @tool(name="peek", effects="read_only", allowed_callers=CHAINED)
    async def peek(number: int) -> int:
        """Look at a number."""
        return number

    @tool(name="peek", effects="system_state", risk="low", allowed_callers=CHAINED)
    async def poke(number: int) -> int:
        """Look at a number."""
        done.append(number)
        return number

    @tool(effects="read_only")
    async def reload() -> int:
        """The source of the other tool is reloaded meanwhile."""
        calls.append(1)
        if len(calls) == at:
            gate.add(poke, update=True)
        return 1

    return [peek, reload]


async def test_a_tool_that_has_effects_since_the_dry_run_began_is_shown_and_not_made() -> None:
    done: list[int] = []
    async with gate_of() as gate:
        gate.add(_reloading(gate, done))
        run = await gate.run_program("reload()\npeek(3)", dry_run=True)
    assert (run.state, [each.tool for each in run.plan], done) == (ProgramState.PROPOSED, ["peek"], [])


async def test_a_tool_that_has_effects_since_the_real_run_began_is_not_in_the_list_and_stops_it() -> None:
    done: list[int] = []
    async with gate_of() as gate:
        gate.add(_reloading(gate, done, at=2))
        run = await gate.run_program("reload()\npeek(3)", dry_run=True)
        assert (run.state, run.plan) == (ProgramState.PROPOSED, ())
        run = await gate.resume_program(run.id)
    assert run.error is not None
    assert (run.error.kind, done) == ("diverged", [])


async def test_a_tool_that_has_effects_since_the_program_began_is_made_under_a_key_like_every_effect() -> None:
    done: list[int] = []
    async with gate_of() as gate:
        gate.add(_reloading(gate, done))
        run = await gate.run_program("reload()\npeek(3)", Context(session="s"), program_id="p1")
        assert run.ok
        events = [event.payload or {} async for event in gate.events(types=["tool_call.attempted"])]
    assert done == [3]
    assert [each.get("key") for each in events] == [None, "program:p1:1"]


async def test_the_interpreter_of_a_dry_run_is_never_gone_on_with_in_earnest(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("version: 1\nglobal:\n  rules:\n    - {match: ask, verdict: confirm, why: asks}\n")
    made: list[tuple[str, str]] = []

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

    source = "number = order('tea')\nask('sure?')\nship(number)"
    async with gate_of(ask, order, ship, config=tmp_path / "c.yaml") as gate:
        run = await gate.run_program(source, program_id="p1", dry_run=True)
        await gate.approve(run.waiting[0].approval_id, by="ann")
        assert (await gate.resume_program("p1")).state is ProgramState.PROPOSED
        asked = asyncio.Event()

        def heard(_event: Event) -> None:
            asked.set()

        gate.on("gate.required", heard)
        earnest = asyncio.ensure_future(gate.resume_program("p1", wait=60))
        await asyncio.wait_for(asked.wait(), 5)
        earnest.cancel()
        with pytest.raises(asyncio.CancelledError):
            await earnest
        run = await gate.resume_program("p1")
        await gate.approve(run.waiting[0].approval_id, by="ann")
        done = await gate.resume_program("p1")
    assert done.error is not None
    # In its dry run the number was a stand-in: the program stops, and ships nothing under it.
    assert (done.error.kind, made) == ("diverged", [("order", "tea")])


async def test_a_list_that_is_too_long_for_a_person_ends_the_dry_run_and_says_so() -> None:
    town = Town()
    async with gate_of(*town.tools) as gate:
        run = await gate.run_program("for i in range(101):\n    pay(i)", dry_run=True)
        assert run.error is not None
        assert (run.state, run.error.kind) == (ProgramState.FAILED, "limit")
        assert "101 calls" in run.error.message
        assert (await gate.find_program(run.id)) == run
    assert town.paid == []


async def test_a_list_with_an_effect_in_it_that_cannot_work_ends_the_dry_run_and_says_so() -> None:
    town = Town()

    def would(arguments: dict[str, Any], context: Any) -> str:
        raise InvalidArguments("there is no page away; make it first")

    @tool(effects="system_state", risk="high", allowed_callers=CHAINED, preview=would)
    async def publish(page: str) -> str:
        """Publish a page."""
        return page

    async with gate_of(*town.tools, publish) as gate:
        run = await gate.run_program("publish('away')\nsend('a')", dry_run=True)
        assert run.error is not None
        assert (run.state, run.error.kind) == (ProgramState.FAILED, "refused")
        assert run.error.message == "its list cannot be made: call 1 (publish): there is no page away; make it first"
        assert await gate.approvals(states=None) == []
    assert town.sent == []


async def test_an_error_that_a_stand_in_may_have_caused_says_so() -> None:
    @tool(effects="network_access", risk="low", allowed_callers={"direct", "chain"}, output_schema={"type": "object"})
    def order(item: str) -> dict[str, Any]:
        """Order something."""
        return {"number": 7, "item": item}

    async with Callgate.open("memory://", context=Context(autonomy=Autonomy.A4)) as gate:
        gate.add(order)
        run = await gate.run_program("order('tea')['number']", dry_run=True)
        assert run.error is not None
        assert "KeyError" in run.error.message
        assert "stand-ins were their results: {} for order" in run.error.message
        plain = await gate.run_program("{}['number']", dry_run=True)
        assert plain.error is not None
        assert "stand-in" not in plain.error.message
        assert (await gate.run_program("order('tea')['number']")).value == 7
