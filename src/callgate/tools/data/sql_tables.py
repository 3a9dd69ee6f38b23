"""The tables that a query is given, checked: one list of columns for each, and rows of that length."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

MOST_TABLES = 50
MOST_COLUMNS = 500
MOST_CELLS = 1_000_000
"""Of one table. Rows may lack keys, so that few bytes can mean many empty cells."""
LONGEST_NAME = 200
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Table:
    """One table."""

    name: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    """Numbers, texts, truth values and None; what is nested is JSON text."""


def read_tables(given: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Table]:
    """Check what a query is to be asked of.

    Raises:
        ValueError: A table cannot be one; says which, and why.
    """
    if len(given) > MOST_TABLES:
        raise ValueError(f"tables has {len(given)} tables; at most {MOST_TABLES} fit")
    _need_distinct(given, where="tables")
    return [_table(name, rows) for name, rows in given.items()]


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    columns = tuple(dict.fromkeys(key for row in rows for key in row))
    where = f"tables.{name}"
    if rows and not columns:
        raise ValueError(f"{where} has rows and no columns, as none of its rows has a key; give them one")
    if len(columns) > MOST_COLUMNS or len(columns) * len(rows) > MOST_CELLS:
        raise ValueError(
            f"{where} is too large: {len(rows)} rows of {len(columns)} columns, counting every key of every row;"
            f" at most {MOST_COLUMNS} columns and {MOST_CELLS} cells fit"
        )
    _need_distinct(columns, where=where)
    return Table(name, columns, [tuple(_cell(row.get(key), f"{where}.{key}") for key in columns) for row in rows])


def _need_distinct(names: Sequence[str] | Mapping[str, Any], *, where: str) -> None:
    seen: dict[str, str] = {}
    for name in names:
        if not name or len(name) > LONGEST_NAME or not name.isprintable():
            raise ValueError(f"{where} has a name that is empty, too long or not printable: {name[:LONGEST_NAME]!r}")
        # Of bytes only the letters of ASCII become small ones, as in both engines.
        before = seen.setdefault(name.encode().lower().decode(), name)
        if before is not name:
            raise ValueError(f"{where} has {before} and {name}, which SQL takes for the same; rename one")


def _cell(value: Any, where: str) -> Any:
    _need_digits(value, where)
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value


def _need_digits(value: Any, where: str) -> None:
    """Refuse whole numbers that an engine would change, also those that it may take out of an object."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, int) and not -_LARGEST <= one < _LARGEST:
            raise ValueError(f"{where} has the number {str(one)[:40]}, which has more than 64 bits; give it as text")
        if isinstance(one, (dict, list)):
            left += cast("dict[str, Any]", one).values() if isinstance(one, dict) else cast("list[Any]", one)


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return '"' + name.replace('"', '""') + '"'
