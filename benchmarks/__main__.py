"""`make bench`: measure, print what was promised beside what was measured, and write `benchmarks/results.json`.

`make bench ARGS="reads gateway"` measures only these parts, and writes nothing: the file is of one run, and whole.
"""

from __future__ import annotations

import argparse
import asyncio
import inspect
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    batches,
    commits,
    flows,
    gateway,
    growth,
    intelligence,
    listeners,
    programs,
    reads,
    registry,
    sampling,
    searches,
    vault,
)

RESULTS = Path(__file__).parent / "results.json"

BOUNDS: list[tuple[str, tuple[str, ...], str, float, float | None]] = [
    ("read, async function, memory store", ("reads", "read_async", "cpu_ratio"), "<=", 25, 15),
    ("read, sync function, memory store", ("reads", "read_sync", "cpu_ratio"), "<=", 120, None),
    ("deduped replay, memory store", ("reads", "replay", "cpu_ratio"), "<=", 10, None),
    (
        "100 reads of 20 ms in one batch, over their cost",
        ("batches", "over_one_call_and_the_cost_of_all"),
        "<=",
        1.5,
        None,
    ),
    ("SQLite, 32 at once, over commit rate", ("commits", "throughput_32_over_commit_rate"), ">=", 1.5, 3),
    ("SQLite, 1000 at once, over commit rate", ("commits", "throughput_1000_over_commit_rate"), ">=", 2.5, 5),
    ("SQLite, p50 alone, over one commit", ("commits", "p50_alone_over_commit"), "<=", 6, 2.5),
    ("a program of 1,000 reads over the reads", ("flows", "program_reads", "wall_ratio"), "<=", 3, None),
    ("a program of 1,000 effects over the effects", ("flows", "program_effects", "wall_ratio"), "<=", 3, None),
    ("run_shell over the command alone, ms", ("programs", "run_shell_adds_median_ms"), "<=", 30, None),
    (
        "a plain loop over monte_carlo_native, one core",
        ("sampling", "plain_over_one_core", "cpu_ratio"),
        ">=",
        10,
        None,
    ),
    ("monte_carlo_native, one core over two", ("sampling", "one_core_over_two", "best_wall_ratio"), ">=", 1.7, 2),
    (
        "the same: two programs over two threads",
        ("sampling", "two_programs_over_two_threads", "best_wall_ratio"),
        ">=",
        0.85,
        1,
    ),
    ("search_files over ripgrep, this repository", ("searches", "usual", "wall_ratio"), "<=", 1.5, 1.25),
    ("the same, with hits in hundreds of files", ("searches", "much", "wall_ratio"), "<=", 1.5, 1.25),
    ("the same, with about 1,000 hits", ("searches", "most", "wall_ratio"), "<=", 1.5, 1.25),
    ("a package of 50,000 lines and more indexed, s", ("intelligence", "indexing_s"), "<=", 60, None),
    ("its index after one change, s", ("intelligence", "after_one_change_s"), "<=", 1, None),
    ("search_code in it, p95 ms", ("intelligence", "search_p95_ms"), "<=", 100, None),
    ("vault_search in 10,000 notes, p95 ms", ("vault", "search_p95_ms"), "<=", 50, None),
    ("the same, seconds apart, p95 ms", ("vault", "search_seconds_apart_p95_ms"), "<=", 50, None),
    ("the same, each after a change, p95 ms", ("vault", "search_after_a_change_p95_ms"), "<=", 50, None),
    ("vault_move of a note with 500 back links, s", ("vault", "move_of_500_back_links_s"), "<=", 2, None),
    ("MCP gateway over HTTP, alone, over the SDK", ("gateway", "http_alone", "wall_ratio"), "<=", 3, 2.2),
    ("MCP gateway over HTTP, 32 at once", ("gateway", "http_32_at_once", "wall_ratio"), "<=", 3, 2.2),
    ("MCP gateway over stdio, alone", ("gateway", "stdio_alone", "wall_ratio"), "<=", 3, None),
    ("2,000 listeners, 200 calls/s, 1 min: errors", ("listeners", "errors"), "<=", 0, None),
    ("the same: events that a listener missed", ("listeners", "missed"), "<=", 0, None),
    ("the same: growth of memory, MB", ("listeners", "memory_growth_mb"), "<=", 8, None),
    ("10,000 tools over 10", ("growth", "tools_10_000_over_10", "cpu_ratio"), "<=", 1.15, None),
    ("1,000 roles over 1", ("growth", "roles_1_000_over_1", "cpu_ratio"), "<=", 1.15, None),
    ("50 layers over none", ("growth", "layers_50_over_0", "cpu_ratio"), "<=", 1.15, None),
    ("1,000,000 recorded calls over 0", ("growth", "recorded_calls_1_000_000_over_0", "wall_ratio"), "<=", 1.15, None),
    ("10,000 tools added one by one, ms", ("registry", "single_adds_ms"), "<=", 1000, None),
    ("10,000 tools indexed, ms", ("registry", "index_ms"), "<=", 1500, None),
    ("search among 10,000, p95 ms", ("registry", "search_p95_ms"), "<=", 10, None),
    ("10,000 tools declared and added to a gate, s", ("registry", "registration_s"), "<=", 5, None),
    ("a role's pool among 10,000, ms", ("registry", "pool_ms"), "<=", 50, None),
    ("the first pool of a role, ms", ("registry", "first_pool_ms"), "<=", 50, None),
    ("memory of a process with 10,000 tools, MB", ("registry", "memory_mb"), "<=", 300, None),
    ("callgate --version, ms", ("imports", "command_version_ms"), "<=", 300, None),
    ("import callgate, ms", ("imports", "import_callgate_ms"), "<=", 150, None),
]
"""What is measured, where it stands in the results, the bound, and the goal where there is one."""


def import_times() -> dict[str, float]:
    """Milliseconds in fresh processes, the best of five: the machine's noise only adds."""
    return {
        "import_callgate_ms": _import_time("import callgate"),
        "command_version_ms": _best([sys.executable, "-m", "callgate", "--version"]),
        "import_gate_and_tool_ms": _import_time("from callgate import Callgate, Context, tool"),
    }


def _import_time(statement: str) -> float:
    code = f"import time; t = time.perf_counter(); {statement}; print((time.perf_counter() - t) * 1000)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return round(min(float(run.stdout) for run in runs), 1)


def _best(command: list[str]) -> float:
    taken: list[float] = []
    for _ in range(5):
        begun = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        taken.append(time.perf_counter() - begun)
    return round(min(taken) * 1000, 1)


PARTS: dict[str, tuple[Callable[..., Any], str | None]] = {
    "imports": (import_times, import_times.__doc__),
    "reads": (reads.measure, reads.__doc__),
    "batches": (batches.measure, batches.__doc__),
    "commits": (commits.measure, commits.__doc__),
    "registry": (registry.measure, registry.__doc__),
    "flows": (flows.measure, flows.__doc__),
    "programs": (programs.measure, programs.__doc__),
    "sampling": (sampling.measure, sampling.__doc__),
    "searches": (searches.measure, searches.__doc__),
    "intelligence": (intelligence.measure, intelligence.__doc__),
    "vault": (vault.measure, vault.__doc__),
    "gateway": (gateway.measure, gateway.__doc__),
    "listeners": (listeners.measure, listeners.__doc__),
    "growth": (growth.measure, growth.__doc__),
}
"""What can be measured, in this order: how, and what it says of itself."""


async def measure(names: Sequence[str]) -> dict[str, Any]:
    """These parts, one after the other."""
    results: dict[str, Any] = {"python": platform.python_version(), "machine": platform.machine()}
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as name:
        for part in names:
            print(f"{part} …", flush=True)
            how = PARTS[part][0]
            found = how(Path(name)) if "folder" in inspect.signature(how).parameters else how()
            results[part] = await found if inspect.isawaitable(found) else found
    return results


def report(results: dict[str, Any]) -> int:
    """Print every bound of what was measured beside its measure; how many are missed."""
    missed = 0
    for text, path, sign, bound, goal in BOUNDS:
        if path[0] not in results:
            continue
        value: Any = results
        for step in path:
            value = value[step]
        held = value <= bound if sign == "<=" else value >= bound
        missed += not held
        aim = f", goal {goal:g}" if goal is not None else ""
        print(f"{'ok  ' if held else 'MISS'} {text:42} {value:10.2f}   {sign} {bound:g}{aim}")
    return missed


def asked(words: Sequence[str] | None) -> list[str]:
    """Which parts somebody wants, in our order; all where nobody says."""
    first = {name: (text or "").splitlines()[0] for name, (_, text) in PARTS.items()}
    reader = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure, and print what was promised beside what was measured. A whole run takes many minutes.",
        epilog="\n".join(["parts:", *(f"  {name:13} {text}" for name, text in first.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    told = "only these parts; all of them, and results.json is written, when left out"
    reader.add_argument("parts", nargs="*", metavar="PART", help=told)
    named = reader.parse_args(words).parts
    unknown = [name for name in named if name not in PARTS]
    if unknown:
        reader.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return [name for name in PARTS if name in named or not named]


def main(words: Sequence[str] | None = None) -> int:
    """Measure and tell, with keys of its own: nobody's are used or made."""
    parts = asked(words)
    with tempfile.TemporaryDirectory() as keys:
        os.environ["XDG_CONFIG_HOME"] = keys
        results = asyncio.run(measure(parts))
    missed = report(results)
    if len(parts) == len(PARTS):
        RESULTS.write_text(json.dumps(results, indent=2) + "\n")
        print(f"written to {RESULTS.name}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
