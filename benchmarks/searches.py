"""search_files on this repository, against ripgrep alone: in turns, so that both meet the same noise.

Besides the ratio its parts are told: what starting a program costs at all, and what the gate adds to a search that
finds nothing, so that no line has to be read again by handle.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from callgate import Callgate
from callgate.tools.programs import find_program

ROOT = Path(__file__).parent.parent
SEARCHES = {
    "usual": {"pattern": r"async with asyncio\.timeout\(", "limit": 1000},
    "nothing": {"pattern": "nobody[-]writes[-]this"},
    "much": {"pattern": "^import asyncio", "limit": 1000},
    "most": {"pattern": "@pytest.mark.param", "limit": 1000},
}
"""With about a hundred hits, with none, with hits in hundreds of files, and with as many hits as it tells at most."""
ROUNDS = 25


async def measure() -> dict[str, Any]:
    """Each search by both, and what it costs to start a program."""
    program = find_program("rg")
    assert program is not None, "the lock has it"
    async with Callgate.open("memory://", working_directory=ROOT, builtin_tools=["search_files"]) as gate:
        results: dict[str, Any] = {
            name: await _compare(gate, program, arguments=arguments) for name, arguments in SEARCHES.items()
        }
    started = [_alone([program, "--version"])[0] for _ in range(ROUNDS)]
    return results | {"starting_a_program_ms": _milliseconds(started)}


async def _compare(gate: Callgate, program: str, *, arguments: dict[str, Any]) -> dict[str, Any]:
    """Milliseconds of both, medians over the rounds, and the median of the ratios within each."""
    alone: list[float] = []
    governed: list[float] = []
    lines = 0
    for _ in range(ROUNDS + 1):
        seconds, said = _alone([program, "--line-number", arguments["pattern"]])
        begun = time.perf_counter()
        found = (await gate.call("search_files", arguments)).unwrap()
        governed.append(time.perf_counter() - begun)
        alone.append(seconds)
        lines = found["count"]
        assert lines == min(said.count(b"\n"), arguments.get("limit", lines)), "both did the same work"
    return {
        "wall_ratio": round(statistics.median(b / a for a, b in zip(alone[1:], governed[1:], strict=True)), 2),
        "ripgrep_ms": _milliseconds(alone[1:]),
        "search_files_ms": _milliseconds(governed[1:]),
        "lines": lines,
    }


def _alone(command: list[str]) -> tuple[float, bytes]:
    begun = time.perf_counter()
    said = subprocess.run(command, cwd=ROOT, capture_output=True, check=False).stdout
    return time.perf_counter() - begun, said


def _milliseconds(taken: list[float]) -> float:
    return round(statistics.median(taken) * 1000, 2)
