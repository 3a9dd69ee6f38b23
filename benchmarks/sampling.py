"""monte_carlo_native, per sample, against a plain Python loop; and on two threads against one."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.ratios import Loop, compare
from callgate.tools.maths.integrals import integrate

_BOX = [(-1.0, 1.0), (-1.0, 1.0)]
_SAMPLES = 262_144
_MANY = 13_107_200


async def _plain(samples: int) -> None:
    """What somebody would write without NumPy."""
    stream = random.Random(42)
    inside = 0
    for _ in range(samples):
        x = stream.uniform(-1.0, 1.0)
        y = stream.uniform(-1.0, 1.0)
        inside += x * x + y * y <= 1.0
    if not 3.0 < 4.0 * inside / samples < 3.3:
        raise RuntimeError(inside)


def _native(threads: int) -> Loop:
    async def loop(samples: int) -> None:
        found = integrate(_BOX, "sphere", n_samples=samples, seed=42, threads=threads, check=lambda: None)
        if not 3.0 < found["integral"] < 3.3:
            raise RuntimeError(found)

    return loop


async def measure() -> dict[str, Any]:
    """The same integral in three ways, each pair in turns."""
    over_python = await compare(_native(1), _plain, times=_SAMPLES)
    two_over_one = await compare(_native(2), _native(1), times=_MANY, rounds=21)
    return {"plain_over_one_core": over_python.to_json(), "one_core_over_two": two_over_one.to_json()}
