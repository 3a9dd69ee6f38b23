"""What a query found, as JSON: rows with one value per name, bounded in number and size while they are read."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

MOST_ROWS = 10_000
MOST_BYTES = 4 * 1024 * 1024
_PLAIN = (str, int, bool, type(None))


def read_rows(names: Sequence[str], found: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """The rows as objects.

    Args:
        names: Of the columns, in their order.
        found: The rows, read one after the other; no more of them than are allowed.

    Raises:
        ValueError: Two columns have one name, there is too much, or a value has no form in JSON.
    """
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"query gives two columns the name {twice}; name one of them otherwise with AS")
    rows: list[dict[str, Any]] = []
    size = 0
    for values in found:
        row = {name: _as_json(value, name) for name, value in zip(names, values, strict=True)}
        size += len(json.dumps(row, ensure_ascii=False, default=str).encode())
        if len(rows) == MOST_ROWS:
            raise ValueError(f"query finds more than {MOST_ROWS} rows; add a LIMIT, or ask for sums and counts")
        if size > MOST_BYTES:
            raise ValueError(f"query finds more than {MOST_BYTES} bytes; add a LIMIT, or ask for fewer columns")
        rows.append(row)
    return rows


def _as_json(value: Any, name: str) -> Any:
    if isinstance(value, _PLAIN):
        return value
    for kind, read in _READERS.items():
        if isinstance(value, kind):
            return read(value, name)
    return str(value)


def _number(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise ValueError(f"query finds {value} in {name}, which JSON has no form for; leave such rows out")
    return value


def _decimal(value: Decimal, _: str) -> float | str:
    """A number where it is written with the same digits, as 0.1 and what is whole; otherwise text with all of them."""
    number = float(value)
    if Decimal(repr(number)) == value:
        return number
    return int(value) if value == int(value) else f"{value:f}"


def _mapping(value: Mapping[Any, Any], name: str) -> dict[str, Any]:
    return {str(key): _as_json(inner, name) for key, inner in value.items()}


def _list(value: Iterable[Any], name: str) -> list[Any]:
    return [_as_json(inner, name) for inner in value]


_READERS: Mapping[Any, Callable[[Any, str], Any]] = {
    float: _number,
    Decimal: _decimal,
    (bytes, bytearray, memoryview): lambda value, _: bytes(value).hex(),
    dict: lambda value, name: _mapping(cast("dict[Any, Any]", value), name),
    (list, tuple): _list,
}
