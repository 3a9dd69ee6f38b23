"""The tools on code, on a real package of the lock: indexing it, one changed file, and searches through the gate."""

from __future__ import annotations

import shutil
import statistics
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any

from callgate import Callgate

PACKAGE = "sympy"
PARTS = ("core", "functions", "matrices", "printing", "solvers", "utilities")
LEAST = 50_000
QUERIES = (
    *("Symbol", "solve linear system", "as_coeff_Mul", "print latex", "determinant of a matrix", "lambdify", "cache"),
    *(
        "parse",
        "simplify trigonometric functions",
        "Expr",
        "is_commutative",
        "ode hint",
        "code printer",
        "sort arguments",
    ),
)
ROUNDS = 6
CHANGES = 9


async def measure() -> dict[str, Any]:
    """Seconds to index, to follow one change, and milliseconds of a search."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines, files = _copy(folder)
        store = f"sqlite:///{folder}/.callgate/callgate.db"
        async with Callgate.open(store, working_directory=folder, builtin_tools=["intelligence"]) as gate:
            indexing = await _timed(gate, "search_code", query="Symbol")
            changes = [await _change(gate, folder, number) for number in range(CHANGES)]
            computed = time.process_time()
            searches = [await _timed(gate, "search_code", query=query) for _ in range(ROUNDS) for query in QUERIES]
            computed = time.process_time() - computed
            definitions = [await _timed(gate, "find_definition", symbol="Expr") for _ in range(ROUNDS)]
            mapping = await _timed(gate, "get_repo_map")
    return {
        "lines": lines,
        "files": files,
        "indexing_s": round(indexing, 2),
        "after_one_change_s": round(max(changes), 3),
        "search_median_ms": round(statistics.median(searches) * 1000, 1),
        "search_p95_ms": round(statistics.quantiles(searches, n=20)[-1] * 1000, 1),
        "search_cpu_ms": round(computed / len(searches) * 1000, 1),
        "find_definition_median_ms": round(statistics.median(definitions) * 1000, 1),
        "get_repo_map_s": round(mapping, 2),
    }


def _copy(folder: Path) -> tuple[int, int]:
    source = Path(sysconfig.get_path("purelib")) / PACKAGE
    for part in PARTS:
        shutil.copytree(source / part, folder / PACKAGE / part, ignore=shutil.ignore_patterns("__pycache__"))
    sources = list(folder.rglob("*.py"))
    lines = sum(file.read_bytes().count(b"\n") for file in sources)
    assert lines >= LEAST, "enough to say something"
    return lines, len(sources)


async def _timed(gate: Callgate, tool: str, **arguments: Any) -> float:
    begun = time.perf_counter()
    output = (await gate.call(tool, arguments, timeout=300)).unwrap()
    taken = time.perf_counter() - begun
    assert output.get("pending", 0) == 0, "all of it is indexed"
    return taken


async def _change(gate: Callgate, folder: Path, number: int) -> float:
    """A change of one of the largest modules, and a question that only the change answers."""
    with (folder / PACKAGE / "core" / "expr.py").open("a") as file:
        file.write(f"\n\ndef added_number_{number}():\n    pass\n")
    begun = time.perf_counter()
    found = (await gate.call("find_definition", {"symbol": f"added_number_{number}"})).unwrap()
    taken = time.perf_counter() - begun
    assert found["found"], "the change is known"
    return taken
