"""Which calls share a wave: what may overlap does, and what may be about the same thing keeps its order."""

import asyncio
from collections.abc import Iterable
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate import Call, Callgate, tool
from callgate.adapters.convert import convert
from callgate.errors import ConfigurationError
from callgate.flows.waves import NOTHING, Footprint, Waves, footprint, in_order, in_waves, must_follow, one_by_one
from callgate.model.context import Context
from callgate.model.levels import Autonomy
from callgate.model.outcome import Outcome
from callgate.model.tool import Tool
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)


def declared(**fields: Any) -> Tool:
    async def act() -> None:
        """Act."""

    return convert(tool(**fields)(act))[0]


READ = footprint(declared(effects="read_only"))
SHY_READ = footprint(declared(effects="read_only", concurrency_safe=False))
WRITE = footprint(declared(effects="system_state"))
SAFE_WRITE = footprint(declared(effects="modifies_files", concurrency_safe=True))
UNDECLARED = footprint(declared(scopes={"fs:write"}))
MAIL_WRITE = footprint(declared(name="mail.send", effects="network_access"))
MAIL_READ = footprint(declared(name="mail.list", effects={"read_only", "network_access"}))
BANK_READ = footprint(declared(name="bank.balance", effects={"read_only", "network_access"}))
BANK_SAFE_WRITE = footprint(declared(name="bank.pay", effects="network_access", concurrency_safe=True))


@pytest.mark.parametrize(
    ("calls", "waves"),
    [
        ([], ()),
        ([READ, READ, BANK_READ], ((0, 1, 2),)),
        ([WRITE, WRITE, WRITE], ((0,), (1,), (2,))),
        ([READ, WRITE, READ], ((0,), (1,), (2,))),
        ([WRITE, READ, READ, WRITE], ((0,), (1, 2), (3,))),
        ([SAFE_WRITE, SAFE_WRITE, READ, SAFE_WRITE], ((0, 1), (2,), (3,))),
        ([SHY_READ, SHY_READ, READ], ((0, 2), (1,))),
        ([MAIL_WRITE, MAIL_READ, BANK_READ], ((0, 2), (1,))),
        ([MAIL_WRITE, BANK_SAFE_WRITE, BANK_READ], ((0, 1), (2,))),
        ([MAIL_WRITE, READ], ((0,), (1,))),
        ([UNDECLARED, MAIL_READ], ((0,), (1,))),
        ([UNDECLARED, UNDECLARED], ((0,), (1,))),
        ([WRITE, NOTHING, WRITE, READ], ((0, 1), (2,), (3,))),
    ],
)
def test_calls_are_put_into_waves_by_what_their_tools_declare(calls: list[Footprint], waves: Waves):
    assert in_waves(calls) == waves


def test_a_tool_that_nobody_knows_touches_nothing_and_one_that_says_little_may_touch_anything():
    assert footprint(None) == NOTHING
    assert Footprint(writes=True, safe=False, connector=None) == UNDECLARED
    assert MAIL_WRITE.connector == "mail"
    on_this_machine = footprint(declared(name="mail.archive", effects={"network_access", "modifies_files"}))
    assert on_this_machine.connector is None


def test_mutations_share_a_wave_only_where_the_caller_and_both_tools_say_so():
    assert in_waves([SAFE_WRITE, BANK_SAFE_WRITE], parallel_mutations=True) == ((0, 1),)
    assert in_waves([SAFE_WRITE, BANK_SAFE_WRITE], parallel_mutations=False) == ((0,), (1,))
    assert in_waves([WRITE, MAIL_WRITE], parallel_mutations=True) == ((0,), (1,))


def test_a_call_that_takes_a_result_waits_for_it():
    assert in_waves([READ, READ, READ], needs=[[], [0], []]) == ((0, 2), (1,))
    assert in_waves([READ, READ, READ], needs=[(), {0}, {0, 1}]) == ((0,), (1,), (2,))


footprints = st.builds(Footprint, st.booleans(), st.booleans(), st.sampled_from([None, "a", "b"]))


@given(calls=st.lists(footprints, max_size=30), parallel=st.booleans(), data=st.data())
def test_waves_hold_every_call_once_and_keep_every_order_that_matters(
    calls: list[Footprint], parallel: bool, data: st.DataObject
):
    needs = [
        data.draw(st.sets(st.integers(0, place - 1), max_size=3)) if place else set[int]()
        for place in range(len(calls))
    ]
    waves = in_waves(calls, needs=needs, parallel_mutations=parallel)
    assert sorted(place for wave in waves for place in wave) == list(range(len(calls)))
    wave_of = {place: number for number, wave in enumerate(waves) for place in wave}
    for first, second in combinations(range(len(calls)), 2):
        if in_order(calls[first], calls[second], parallel_mutations=parallel) or first in needs[second]:
            assert wave_of[first] < wave_of[second]
            assert first in must_follow(waves)(second)
    for number, wave in enumerate(waves):
        # Nothing waits longer than it has to.
        assert number == 0 or all(
            any(
                wave_of[other] == number - 1
                and (in_order(calls[other], calls[place], parallel_mutations=parallel) or other in needs[place])
                for other in range(place)
            )
            for place in wave
        )
    assert one_by_one(waves) == tuple((place,) for wave in waves for place in wave)


@given(first=footprints, second=footprints)
def test_declaring_less_never_lets_more_overlap(first: Footprint, second: Footprint):
    for worse in (second._replace(safe=False), second._replace(connector=None)):
        assert in_order(first, worse) or not in_order(first, second)
        assert in_order(worse, first) or not in_order(second, first)


class Witness:
    """Writes down when calls begin and end, outside of any gate."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.inside = 0
        self.most = 0

    async def stay(self, name: str) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.seen.append(f"{name} begins")
        for _ in range(20):
            await asyncio.sleep(0)
        self.seen.append(f"{name} ends")
        self.inside -= 1


def _tools(witness: Witness) -> list[Any]:
    @tool(effects="read_only")
    async def look(name: str) -> str:
        """Look."""
        await witness.stay(name)
        return name

    @tool(effects="system_state", risk="low")
    async def change(name: str) -> str:
        """Change something."""
        await witness.stay(name)
        return name

    return [look, change]


def _calls(*calls: str) -> list[Call]:
    return [Call(*_named(call)) for call in calls]


def _named(call: str) -> tuple[str, dict[str, Any]]:
    name, _, text = call.partition(" ")
    return name, {"name": text}


async def _batch(gate: Callgate, calls: Iterable[Any], concurrency: int | None = None) -> list[Outcome]:
    return await gate.batch(list(calls), Context(), concurrency=concurrency)


@pytest.mark.requirement("BAT-06", "CHN-12")
async def test_a_batch_keeps_a_read_behind_the_write_before_it_and_a_write_behind_the_read_before_it():
    witness = Witness()
    async with memory_gate(*_tools(witness), config=FREE) as gate:
        outcomes = await _batch(gate, _calls("look a", "change b", "look c", "look d"))
    assert [outcome.unwrap() for outcome in outcomes] == ["a", "b", "c", "d"]
    assert witness.seen[:5] == ["a begins", "a ends", "b begins", "b ends", "c begins"]
    assert witness.seen[5] == "d begins"


@pytest.mark.parametrize(("most", "expected"), [(1, 1), (3, 3), (64, 10), (None, 4)])
async def test_no_more_calls_run_at_once_than_was_said(most: int | None, expected: int):
    witness = Witness()
    config = Settings(autonomy=Autonomy.A4, batch_concurrency=4)
    async with memory_gate(*_tools(witness), config=config) as gate:
        outcomes = await _batch(gate, _calls(*(f"look {name}" for name in range(10))), concurrency=most)
    assert [outcome.unwrap() for outcome in outcomes] == [str(name) for name in range(10)]
    assert witness.most == expected


@pytest.mark.parametrize("number", [0, -1, 1.5, True, "many"])
async def test_a_concurrency_that_is_no_number_of_calls_is_refused_before_anything_runs(number: Any):
    witness = Witness()
    async with memory_gate(*_tools(witness), config=FREE) as gate:
        with pytest.raises(ConfigurationError, match="concurrency"):
            await _batch(gate, _calls("look a"), concurrency=number)
    assert witness.seen == []


async def test_middleware_that_breaks_in_one_call_is_raised_once_every_other_call_has_ended():
    witness = Witness()

    async def around(call: Call, context: Context, proceed: Any) -> Outcome:
        if call.arguments["name"] == "bad":
            raise LookupError("broken middleware")
        return await proceed(call, context)

    async with memory_gate(*_tools(witness), config=FREE, around=[around]) as gate:
        with pytest.raises(LookupError, match="broken middleware"):
            await _batch(gate, _calls("look a", "look bad", "change b", "look c"), concurrency=2)
    assert [line for line in witness.seen if line.endswith("ends")] == ["a ends", "b ends", "c ends"]


@pytest.mark.parametrize("most", [2, 64])
async def test_whoever_lets_go_of_a_batch_waits_for_what_runs_and_starts_nothing_more(most: int):
    witness = Witness()
    entered, left = asyncio.Event(), list[str]()

    @tool(effects="read_only")
    async def linger(name: str) -> str:
        """Stay until somebody lets go."""
        try:
            entered.set()
            await asyncio.Event().wait()
        finally:
            left.append(name)
        return name

    async with asyncio.timeout(30), memory_gate(linger, *_tools(witness), config=FREE) as gate:
        batch = asyncio.ensure_future(_batch(gate, _calls("linger a", "linger b", "change c"), concurrency=most))
        await entered.wait()
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        assert "a" in left
        recorded = [event async for event in gate.events(types=["tool_call.*"])]
    ended = {event.call for event in recorded if event.type != "tool_call.attempted"}
    assert ended == {event.call for event in recorded if event.type == "tool_call.attempted"}
    assert witness.seen == []
