"""sql_query: one query over tables that are given with it, in memory and in a process of its own."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.tools.data.nothing_outside import nothing_outside
from callgate.tools.data.sql_process import ask_in_process
from callgate.tools.libraries import find_library

SECONDS = 20
_PEOPLE = [{"name": "Alice", "age": 30}, {"name": "Bob", "age": 20}]


@tool(
    effects="read_only",
    concurrency_safe=True,
    scopes=[],
    timeout=30,
    resources=nothing_outside,
    output_schema={"type": "array", "items": {"type": "object"}},
    examples=[{"query": "SELECT name, age FROM users WHERE age > 25", "tables": {"users": _PEOPLE}}],
)
async def sql_query(  # noqa: PLR0917 - a tool's arguments have names
    query: Annotated[str, Field(min_length=1, max_length=100_000)],
    tables: dict[str, list[dict[str, Any]]] | None = None,
    engine: Literal["sqlite", "duckdb"] = "sqlite",
) -> list[dict[str, Any]]:
    """Ask one SQL query of tables that are given with it. It reads, and reaches nothing but them.

    Values keep their types, but that true and false are 1 and 0 in SQLite; lists and objects are JSON text, binary
    results hexadecimal text, and of DuckDB dates, times, intervals, and decimals with too many digits for a number
    text. At most 10000 rows.

    Args:
        query: One SELECT, in the dialect of the engine.
        tables: The rows of each table by its name, as objects.
        engine: sqlite, or duckdb where it is installed.
    """
    if engine == "duckdb" and find_library("duckdb") is None:
        raise ValueError("engine duckdb is not installed; use sqlite, or: pip install 'callgate[duckdb]'")
    question = {"query": query, "tables": tables or {}, "engine": engine, "seconds": SECONDS}
    return await ask_in_process(question)
