"""Ten thousand tools: adding them one by one and to a gate, indexing and searching them, a pool of them, memory."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import Any

from benchmarks.growth import filler
from callgate.registry.snapshot import Snapshot

_MANY = """
import asyncio, json, resource, sys, time
from callgate import Callgate, Context, build_tool
from callgate.settings.load import parse_settings

SETTINGS = parse_settings("roles: {reader: {allow: ['group:read']}}", file="bench")

def declared(number):
    kind = ("read_only", "network_access")[number % 2]
    name, words = f"tool_{number}", f"Do number {number} with a file, a page or an issue."
    schema = {"type": "object", "properties": {f"value_{number % 7}": {"type": "string"}, "limit": {"type": "integer"}}}
    told = {"name": name, "description": words, "input_schema": schema}
    return build_tool(told | {"execute": work, "effects": kind, "risk": "low"})

async def work(arguments, context):
    return arguments

async def main():
    async with Callgate.open("memory://", SETTINGS) as gate:
        begun = time.process_time()
        gate.add([declared(number) for number in range(10_000)])
        registration = time.process_time() - begun
        reader = Context(role="reader")
        begun = time.process_time()
        pool = gate.pool(reader)
        first = time.process_time() - begun
        assert len(pool) == 5_000, len(pool)
        taken = []
        for _ in range(5):
            begun = time.process_time()
            gate.pool(reader)
            taken.append(time.process_time() - begun)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"registration_s": round(registration, 2), "first_pool_ms": round(first * 1000, 1),
        "pool_ms": round(sorted(taken)[2] * 1000, 1), "memory_mb": round(memory)}))

asyncio.run(main())
"""

_TOOLS = 10_000
_QUERIES = 100
_WORDS = ("send", "read", "list", "email", "file", "page", "issue", "note", "build", "search", "report", "table")


def measure() -> dict[str, Any]:
    """Milliseconds of processor time."""
    tools = [filler(number) for number in range(_TOOLS)]
    snapshot = Snapshot()
    begun = time.process_time()
    for tool in tools:
        snapshot = snapshot.with_tools([tool])
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
    many = subprocess.run([sys.executable, "-c", _MANY], capture_output=True, text=True, check=True)
    return json.loads(many.stdout) | {
        "single_adds_ms": round(adds * 1000, 1),
        "index_ms": round(index * 1000, 1),
        "search_p95_ms": round(p95 * 1000, 2),
    }
