"""Effects on SQLite, against what one commit of one row costs on the same disk in the same run."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.reads import FREE
from callgate import Callgate, Context, tool

_ROUNDS = 5


@tool(effects="modifies_files", risk="medium", concurrency_safe=True)
async def note(number: int) -> int:
    """An effect that costs nothing itself."""
    return number


def single_commits(folder: Path, count: int) -> list[float]:
    """Seconds of each commit of one row, as durable as the gate's own."""
    path = folder / "single.db"
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT)")
    taken: list[float] = []
    for _ in range(count):
        start = time.perf_counter()
        database.execute("INSERT INTO rows (body) VALUES (?)", ("x" * 200,))
        taken.append(time.perf_counter() - start)
    database.close()
    return taken


async def _concurrent(gate: Callgate, at_once: int, count: int) -> float:
    """Calls per second with so many under way."""
    left = iter(range(count))

    async def worker() -> None:
        for number in left:
            outcome = await gate.call("note", {"number": number}, Context(idempotency_key=None))
            assert outcome.ok, outcome

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(at_once)))
    return count / (time.perf_counter() - start)


async def _alone(gate: Callgate, count: int) -> list[float]:
    taken: list[float] = []
    for number in range(count):
        start = time.perf_counter()
        await gate.call("note", {"number": number})
        taken.append(time.perf_counter() - start)
    return taken


async def measure(folder: Path) -> dict[str, Any]:
    """Throughput and latency as multiples of one commit, in turns."""
    at_32: list[float] = []
    at_1000: list[float] = []
    alone: list[float] = []
    commits: list[float] = []
    async with Callgate.open(f"sqlite:///{folder / 'gate.db'}", FREE) as gate:
        gate.add(note)
        await _concurrent(gate, 32, 200)
        for _ in range(_ROUNDS):
            single = single_commits(folder, 400)
            rate = len(single) / sum(single)
            commits.append(rate)
            at_32.append(await _concurrent(gate, 32, 2_000) / rate)
            at_1000.append(await _concurrent(gate, 1_000, 6_000) / rate)
            alone.append(statistics.median(await _alone(gate, 200)) / statistics.median(single))
    return {
        "single_commits_per_second": round(statistics.median(commits)),
        "throughput_32_over_commit_rate": round(statistics.median(at_32), 2),
        "throughput_1000_over_commit_rate": round(statistics.median(at_1000), 2),
        "p50_alone_over_commit": round(statistics.median(alone), 2),
        "spread": {
            "throughput_32": [round(min(at_32), 2), round(max(at_32), 2)],
            "throughput_1000": [round(min(at_1000), 2), round(max(at_1000), 2)],
            "p50_alone": [round(min(alone), 2), round(max(alone), 2)],
        },
    }
