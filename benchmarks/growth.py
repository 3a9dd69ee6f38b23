"""Whether a call costs more when there are more tools, roles, layers or recorded calls. It must not."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.ratios import Ratio, compare
from benchmarks.reads import FREE, word_count
from callgate import Callgate, Context, build_tool, tool
from callgate.model.layer import Layer, LayerKind
from callgate.settings.values import Role, Settings

_TIMES = 3_000
_RECORDED = 1_000_000


@tool(effects="modifies_files", risk="medium", concurrency_safe=True)
async def note(number: int) -> int:
    """An effect that costs nothing itself."""
    return number


async def measure(folder: Path) -> dict[str, Any]:
    """The cost with many over the cost with few, each as a ratio near 1."""
    return {
        "tools_10_000_over_10": (await _tools()).to_json(),
        "roles_1_000_over_1": (await _roles()).to_json(),
        "layers_50_over_0": (await _layers()).to_json(),
        "recorded_calls_1_000_000_over_0": (await _recorded(folder)).to_json(),
    }


async def _two_gates(
    few: Callgate, many: Callgate, make: Callable[[Callgate], Callable[[int], Awaitable[None]]], times: int
) -> Ratio:
    async with few as first, many as second:
        return await compare(make(first), make(second), times=times, rounds=5)


def _reading(context: Context) -> Callable[[Callgate], Callable[[int], Awaitable[None]]]:
    def make(gate: Callgate) -> Callable[[int], Awaitable[None]]:
        gate.add(word_count)

        async def loop(times: int) -> None:
            for _ in range(times):
                await gate.call("word_count", {"text": "a b"}, context)

        return loop

    return make


def filler(number: int) -> Any:
    """One of many tools."""

    async def execute(payload: dict[str, Any], context: Any) -> str:
        return "done"

    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    definition = {"name": f"tool_{number}", "description": f"Tool number {number}.", "input_schema": schema}
    return build_tool(definition | {"execute": execute}, effects="read_only")


async def _tools() -> Ratio:
    few, many = Callgate.open("memory://", FREE), Callgate.open("memory://", FREE)
    few.add(*(filler(number) for number in range(10)))
    many.add(*(filler(number) for number in range(10_000)))
    return await _two_gates(few, many, _reading(Context()), _TIMES)


def _with_roles(count: int) -> Settings:
    names = ["default", *(f"role_{number}" for number in range(count - 1))]
    layers = {name: Layer(name=name, kind=LayerKind.ROLE, allow=("group:all",)) for name in names}
    roles = {name: Role(name=name, scopes=frozenset({"*"}), layer=layer) for name, layer in layers.items()}
    return replace(FREE, roles=roles)


async def _roles() -> Ratio:
    few, many = Callgate.open("memory://", _with_roles(1)), Callgate.open("memory://", _with_roles(1_000))
    return await _two_gates(few, many, _reading(Context()), _TIMES)


async def _layers() -> Ratio:
    layers = tuple(Layer(name=f"layer {number}", deny=(f"nothing_{number}",)) for number in range(50))
    few, many = Callgate.open("memory://", FREE), Callgate.open("memory://", FREE)
    async with few as first, many as second:
        base, measured = _reading(Context())(first), _reading(Context(layers=layers))(second)
        return await compare(base, measured, times=_TIMES, rounds=5)


async def _recorded(folder: Path) -> Ratio:
    full = folder / "full.db"
    async with Callgate.open(f"sqlite:///{full}", FREE) as gate:
        gate.add(note)
        await gate.call("note", {"number": 0}, Context(idempotency_key="seed"))
    _multiply(full, _RECORDED)
    few = Callgate.open(f"sqlite:///{folder / 'empty.db'}", FREE)
    many = Callgate.open(f"sqlite:///{full}", FREE)
    return await _two_gates(few, many, _writing, 300)


def _writing(gate: Callgate) -> Callable[[int], Awaitable[None]]:
    gate.add(note)
    numbers = iter(range(10_000_000))

    async def loop(times: int) -> None:
        for _ in range(times):
            number = next(numbers)
            await gate.call("note", {"number": number}, Context(idempotency_key=f"k{number}"))

    return loop


def _multiply(path: Path, count: int) -> None:
    """Fill the ledger and the log with copies of the one recorded call, each under its own key and id."""
    database = sqlite3.connect(path)
    for table, unique in (("attempts", ("key", "call_id")), ("events", ("id", "sequence", "call"))):
        _copy_rows(database, table, unique, count)
    database.commit()
    database.close()


def _copy_rows(database: sqlite3.Connection, table: str, unique: tuple[str, ...], count: int) -> None:
    # What SQLite numbers by itself is left to it.
    columns = [
        row[1] for row in database.execute(f"PRAGMA table_info({table})") if not (row[5] and row[2] == "INTEGER")
    ]
    texts = {"sequence": "10 + n.value", "id": "'i' || n.value", "call": "'c' || n.value"}
    texts |= {"key": "'old' || n.value", "call_id": "'c' || n.value"}
    chosen = ", ".join(texts[name] if name in unique else f"t.{name}" for name in columns)
    database.execute(
        f"WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < {count}) "
        f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM n, "
        f"(SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1) t"
    )
