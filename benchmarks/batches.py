"""A batch of calls that wait for something: how near the whole comes to the time of one of them."""

from __future__ import annotations

import asyncio
import gc
import statistics
import time
from typing import Any

from benchmarks.ratios import cost
from callgate import Call, Callgate, Context, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings

_CALLS = 100
_SECONDS = 0.02
_ROUNDS = 9


@tool(effects="read_only")
async def look_up(text: str) -> str:
    """Wait for an answer from far away."""
    await asyncio.sleep(_SECONDS)
    return text


@tool(effects="read_only")
async def answer(text: str) -> str:
    """Answer at once."""
    return text


async def measure() -> dict[str, Any]:
    """100 independent reads of 20 ms in one batch, over 20 ms and what 100 calls cost by themselves."""
    async with Callgate.open("memory://", Settings(autonomy=Autonomy.A4)) as gate:
        gate.add(look_up, answer)
        context = Context()

        async def one_by_one(times: int) -> None:
            for _ in range(times):
                await gate.call("answer", {"text": "a"}, context)

        async def batch() -> float:
            calls = [Call("look_up", {"text": str(number)}) for number in range(_CALLS)]
            gc.collect()
            begun = time.perf_counter()
            outcomes = await gate.batch(calls, context, concurrency=_CALLS)
            taken = time.perf_counter() - begun
            if not all(outcome.ok for outcome in outcomes):
                raise RuntimeError(outcomes)
            return taken

        await one_by_one(1000)
        await batch()
        alone = statistics.median([(await cost(one_by_one, 1000)).wall for _ in range(_ROUNDS)])
        whole = statistics.median([await batch() for _ in range(_ROUNDS)])
    return {
        "per_call_us": round(alone * 1e6, 1),
        "batch_ms": round(whole * 1e3, 2),
        "over_one_call_and_the_cost_of_all": round(whole / (_SECONDS + _CALLS * alone), 3),
        "over_one_call": round(whole / (_SECONDS + alone), 3),
    }
