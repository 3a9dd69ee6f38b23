"""Flows: what putting calls together costs over making the same calls by themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.ratios import Ratio, compare
from benchmarks.reads import FREE
from callgate import Callgate, Context, tool
from callgate.model.program import ProgramLimits

_CALLS = 1_000
_ROUNDS = 5
_LIMITS = ProgramLimits(calls=_CALLS, seconds=60)


@tool(effects="read_only")
async def double(number: int) -> int:
    """Twice a number."""
    return number * 2


@tool(effects="network_access", risk="medium", allowed_callers={"direct", "chain"})
async def store(number: int) -> int:
    """Keep a number somewhere."""
    return number


async def measure(folder: Path) -> dict[str, Any]:
    """Programs of a thousand calls against the calls alone."""
    return {
        "program_reads": (await _program("memory://", "double")).to_json(),
        "program_effects": (await _program(f"sqlite:///{folder / 'flows.db'}", "store")).to_json(),
    }


async def _program(store_url: str, name: str) -> Ratio:
    source = f"total = 0\nfor number in range(times):\n    total += await {name}(number)\ntotal"
    async with Callgate.open(store_url, FREE) as gate:
        gate.add(double, store)
        context = Context()

        async def direct(times: int) -> None:
            for number in range(times):
                (await gate.call(name, {"number": number}, context)).unwrap()

        async def program(times: int) -> None:
            (await gate.run_program(source, context, inputs={"times": times}, limits=_LIMITS)).unwrap()

        return await compare(direct, program, times=_CALLS, rounds=_ROUNDS)
