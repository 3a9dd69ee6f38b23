"""Measuring: two ways of doing the same, in turns, so that both meet the same noise."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

Loop = Callable[[int], Awaitable[None]]
"""Does the thing so many times."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds per call, in processor time and on the wall."""

    cpu: float
    wall: float


@dataclass(frozen=True, slots=True)
class Ratio:
    """How much the one costs in terms of the other: the median over rounds of the ratio within each round."""

    cpu: float
    wall: float
    base: Cost
    measured: Cost
    spread: tuple[float, float]
    """The smallest and the largest processor ratio of any round."""
    whole: float
    """The wall time of all rounds of the one over that of all rounds of the other."""
    best: float
    """The wall time of the one's fastest round over that of the other's."""

    def to_json(self) -> dict[str, Any]:
        """In microseconds, for people."""
        return {
            "cpu_ratio": round(self.cpu, 2),
            "wall_ratio": round(self.wall, 2),
            "base_cpu_us": round(self.base.cpu * 1e6, 3),
            "cpu_us": round(self.measured.cpu * 1e6, 3),
            "base_wall_us": round(self.base.wall * 1e6, 3),
            "wall_us": round(self.measured.wall * 1e6, 3),
            "cpu_ratio_spread": [round(value, 2) for value in self.spread],
            "whole_wall_ratio": round(self.whole, 2),
            "best_wall_ratio": round(self.best, 2),
        }


async def cost(loop: Loop, times: int) -> Cost:
    """One measurement; what earlier ones left behind is collected first."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    await loop(times)
    return Cost((time.process_time() - cpu) / times, (time.perf_counter() - wall) / times)


async def compare(base: Loop, measured: Loop, *, times: int, rounds: int = 7) -> Ratio:
    """Both in turns, after one round that does not count."""
    pairs: list[tuple[Cost, Cost]] = []
    for turn in range(rounds + 1):
        pair = (await cost(base, times), await cost(measured, times))
        if turn:
            pairs.append(pair)
    cpu = [b.cpu / a.cpu for a, b in pairs]
    return Ratio(
        cpu=statistics.median(cpu),
        wall=statistics.median(b.wall / a.wall for a, b in pairs),
        base=Cost(statistics.median(a.cpu for a, _ in pairs), statistics.median(a.wall for a, _ in pairs)),
        measured=Cost(statistics.median(b.cpu for _, b in pairs), statistics.median(b.wall for _, b in pairs)),
        spread=(min(cpu), max(cpu)),
        whole=sum(b.wall for _, b in pairs) / sum(a.wall for a, _ in pairs),
        best=min(b.wall for _, b in pairs) / min(a.wall for a, _ in pairs),
    )
