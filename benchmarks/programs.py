"""Programs: what the sandbox and the gate add to a command over starting it alone."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from callgate import Callgate, Context
from callgate.model.levels import Autonomy

_TURNS = 25
_COMMAND = "true"
_SETTINGS = "autonomy: A4\nscopes: {shell: {requires_approval: false}}\n"


async def measure() -> dict[str, Any]:
    """Milliseconds, of turns in which both run one after the other: the best of each, the median of what is added."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "callgate.yaml").write_text(_SETTINGS)
        gate = Callgate.open("memory://", place / "callgate.yaml", working_directory=place, builtin_tools=["run_shell"])
        async with gate:
            pairs = [(await _alone(place), await _called(gate, session=f"s{turn}")) for turn in range(_TURNS + 1)][1:]
    alone, called = zip(*pairs, strict=True)
    return {
        "command_alone_ms": round(min(alone), 2),
        "run_shell_ms": round(min(called), 2),
        "run_shell_adds_ms": round(min(called) - min(alone), 2),
        "run_shell_adds_median_ms": round(statistics.median(two - one for one, two in pairs), 2),
    }


async def _alone(place: Path) -> float:
    begun = time.perf_counter()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec("/bin/sh", "-c", _COMMAND, cwd=place, stdout=pipe, stderr=pipe)
    await process.communicate()
    return (time.perf_counter() - begun) * 1000


async def _called(gate: Callgate, *, session: str) -> float:
    # In one session, the same command again would be a question to a person.
    context = Context(autonomy=Autonomy.A4, session=session)
    begun = time.perf_counter()
    outcome = await gate.call("run_shell", {"command": _COMMAND}, context)
    taken = (time.perf_counter() - begun) * 1000
    outcome.unwrap()
    return taken
