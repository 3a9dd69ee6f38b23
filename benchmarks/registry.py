"""The registry with ten thousand tools: adding them one by one, indexing them, and searching them by words."""

from __future__ import annotations

import random
import time
from typing import Any

from benchmarks.growth import filler
from callgate.registry.snapshot import Snapshot

_TOOLS = 10_000
_QUERIES = 100
_WORDS = ("send", "read", "list", "email", "file", "page", "issue", "note", "build", "search", "report", "table")


def measure() -> dict[str, Any]:
    """Milliseconds of processor time."""
    tools = [filler(number) for number in range(_TOOLS)]
    snapshot = Snapshot()
    begun = time.process_time()
    for tool in tools:
        snapshot = snapshot.with_tool(tool)
    adds = time.process_time() - begun
    begun = time.process_time()
    snapshot.search("tool number")
    index = time.process_time() - begun
    chance = random.Random(1)
    taken: list[float] = []
    for _ in range(_QUERIES):
        query = " ".join(["tool", *chance.choices(_WORDS, k=3)])
        begun = time.process_time()
        snapshot.search(query)
        taken.append(time.process_time() - begun)
    p95 = sorted(taken)[int(_QUERIES * 0.95)]
    return {
        "single_adds_ms": round(adds * 1000, 1),
        "index_ms": round(index * 1000, 1),
        "search_p95_ms": round(p95 * 1000, 2),
    }
