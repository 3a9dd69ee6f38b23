"""Chains in waves and in sequence: the same results, and the same order of effects for everything they touch."""

import asyncio
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from callgate import Callgate, tool
from callgate.flows.chain.chain import Chain
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.testing import memory_gate

FREE = Settings(autonomy=Autonomy.A4)
SYSTEMS = ("bank", "mail")
HERE = "here"


class World:
    """What the tools touch, and who touched it in which order: kept outside of any gate."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.values: dict[str, int] = dict.fromkeys((*SYSTEMS, HERE), 0)
        self.seen: dict[str, list[tuple[str, int]]] = {name: [] for name in self.values}

    async def dawdle(self) -> None:
        for _ in range(self._random.randrange(4)):
            await asyncio.sleep(0)

    async def get(self, name: str) -> int:
        await self.dawdle()
        self.seen[name].append(("get", self.values[name]))
        return self.values[name]

    async def put(self, name: str, value: int) -> int:
        await self.dawdle()
        self.values[name] = value % 1000
        self.seen[name].append(("put", self.values[name]))
        await self.dawdle()
        return self.values[name]

    async def add(self, name: str, value: int) -> None:
        """Adding commutes, which is what makes it safe to run beside its like."""
        await self.dawdle()
        self.values[name] += value
        self.seen[name].append(("add", value))
        await self.dawdle()


def _remote(world: World, system: str) -> Iterator[Any]:
    @tool(name=f"{system}.get", effects={"read_only", "network_access"})
    async def get(near: int = 0) -> int:
        """Read a value."""
        return await world.get(system) + near

    @tool(name=f"{system}.put", effects="network_access", risk="low", allowed_callers={"chain"})
    async def put(value: int) -> int:
        """Set a value."""
        return await world.put(system, value)

    @tool(name=f"{system}.add", effects="network_access", risk="low", allowed_callers={"chain"}, concurrency_safe=True)
    async def add(value: int) -> None:
        """Add to a value."""
        await world.add(system, value)

    yield from (get, put, add)


def _local(world: World) -> Iterator[Any]:
    @tool(effects="read_only")
    async def look(near: int = 0) -> int:
        """Read everything there is: a tool that says little may."""
        return sum([await world.get(name) for name in (*SYSTEMS, HERE)]) + near

    @tool(effects="system_state", risk="low", allowed_callers={"chain"})
    async def change(value: int) -> int:
        """Set a value on this machine."""
        return await world.put(HERE, value)

    yield from (look, change)


def gate_over(world: World) -> Callgate:
    tools = [each for system in SYSTEMS for each in _remote(world, system)]
    return memory_gate(*tools, *_local(world), config=FREE)


slowly = settings(
    suppress_health_check=[HealthCheck.too_slow],
    # Each example opens two gates: what is found is told as it was found.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
READS = ("bank.get", "mail.get", "look")
WRITES = ("bank.put", "mail.put", "change")
ADDS = ("bank.add", "mail.add")


class Line(NamedTuple):
    """One statement: what is called, with a number or an earlier result, and under which name it is kept."""

    tool: str
    number: int
    earlier: int | None
    name: int | None

    def text(self, named: list[int]) -> str:
        taken = named[self.earlier % len(named)] if self.earlier is not None and named else None
        call = f"{self.tool}({self.number if taken is None else f'v{taken}'})"
        return call if self.name is None or self.tool in ADDS else f"v{self.name} = {call}"


lines = st.builds(
    Line,
    st.sampled_from((*READS, *WRITES, *ADDS)),
    st.integers(0, 9),
    st.none() | st.integers(0, 5),
    st.none() | st.integers(0, 4),
)


def written(chain: list[Line]) -> str:
    named: list[int] = []
    texts: list[str] = []
    for line in chain:
        texts.append(line.text(named))
        if line.name is not None and line.tool not in ADDS and line.name not in named:
            named.append(line.name)
    return "\n".join(texts)


def run(source: str, mode: str, *, seed: int, parallel: bool = False) -> tuple[Chain, World]:
    async def main() -> tuple[Chain, World]:
        world = World(seed)
        async with gate_over(world) as gate:
            return await gate.chain(source, mode=mode, parallel_mutations=parallel), world

    return asyncio.run(main())


def outputs(chain: Chain) -> list[Any]:
    assert chain.ok, chain.to_human()
    return [outcome.output for outcome in chain.outcomes if outcome is not None]


def grouped(seen: list[tuple[str, int]]) -> list[Any]:
    """What was seen, with additions that follow one another as one heap, and reads that do as well."""
    heaps: list[tuple[str, list[int]]] = []
    for kind, value in seen:
        if heaps and heaps[-1][0] == kind and kind != "put":
            heaps[-1][1].append(value)
        else:
            heaps.append((kind, [value]))
    return [(kind, sorted(values)) for kind, values in heaps]


@pytest.mark.slow
@pytest.mark.requirement("CHN-07", "CHN-12", "CHN-13")
@settings(slowly, max_examples=60)
@given(chain=st.lists(lines, min_size=1, max_size=14), seed=st.integers(0, 2**16))
def test_waves_and_sequence_give_the_same_results_and_the_same_order_of_effects(chain: list[Line], seed: int):
    source = written(chain)
    in_order, there = run(source, "seq", seed=seed)
    in_waves, here = run(source, "dep", seed=seed + 1)
    assert outputs(in_waves) == outputs(in_order)
    assert in_waves.values == in_order.values
    assert here.values == there.values
    for name, seen in here.seen.items():
        assert [each for each in seen if each[0] != "get"] == [each for each in there.seen[name] if each[0] != "get"]
        assert grouped(seen) == grouped(there.seen[name])
    assert sorted(place for wave in in_waves.waves for place in wave) == list(range(len(in_waves.steps)))


@pytest.mark.slow
@pytest.mark.requirement("CHN-08")
@settings(slowly, max_examples=40)
@given(chain=st.lists(lines, min_size=1, max_size=14), seed=st.integers(0, 2**16))
def test_mutations_beside_each_other_change_no_result_where_their_tools_are_safe(chain: list[Line], seed: int):
    source = written(chain)
    in_order, there = run(source, "seq", seed=seed)
    in_waves, here = run(source, "dep", seed=seed + 1, parallel=True)
    assert outputs(in_waves) == outputs(in_order)
    assert here.values == there.values
    for name, seen in here.seen.items():
        assert grouped(seen) == grouped(there.seen[name])
