"""Reads and replays on the memory store, against the same function awaited behind pydantic's validation."""

from __future__ import annotations

from typing import Any

from pydantic import validate_call

from benchmarks.ratios import Ratio, compare
from callgate import Callgate, Context, tool
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings

FREE = Settings(autonomy=Autonomy.A4)
_TIMES = 5_000


@tool(effects="read_only")
async def word_count(text: str) -> int:
    """Count the words in a text."""
    return len(text.split())


@tool(effects="read_only", name="word_count_sync")
def word_count_sync(text: str) -> int:
    """Count the words in a text."""
    return len(text.split())


@tool(effects="network_access", risk="medium")
async def charge(amount: int) -> dict[str, int]:
    """Charge somebody."""
    return {"charged": amount}


_checked = validate_call(word_count)


async def _bare(times: int) -> None:
    for _ in range(times):
        await _checked(text="a b")


async def measure() -> dict[str, Any]:
    """Every ratio that is promised on the memory store."""
    return {
        "read_async": (await _read("word_count", _TIMES)).to_json(),
        "read_sync": (await _read("word_count_sync", _TIMES // 5)).to_json(),
        "replay": (await _replay()).to_json(),
    }


async def _read(name: str, times: int) -> Ratio:
    async with Callgate.open("memory://", FREE) as gate:
        gate.add(word_count, word_count_sync)
        context = Context()

        async def governed(count: int) -> None:
            for _ in range(count):
                await gate.call(name, {"text": "a b"}, context)

        return await compare(_bare, governed, times=times)


async def _replay() -> Ratio:
    async with Callgate.open("memory://", FREE) as gate:
        gate.add(charge)
        context = Context(idempotency_key="k")
        await gate.call("charge", {"amount": 5}, context)

        async def governed(count: int) -> None:
            for _ in range(count):
                await gate.call("charge", {"amount": 5}, context)

        return await compare(_bare, governed, times=_TIMES)
