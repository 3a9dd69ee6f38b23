"""Projections as rows: some of their fields stand beside them, so that entries are found without reading the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from callgate.events.recordable import read_back, recordable_bytes
from callgate.model.shapes import as_mapping
from callgate.ports import Count
from callgate.stores.sqlite.events import EventReader
from callgate.stores.sqlite.queries import ALL, BEHIND_ALL_TEXT
from callgate.stores.sqlite.statements import load, newest_first

SQL = load("rest")
_NEWEST = newest_first(SQL)
_BY, _EQUAL = "/* by */", "/* equal */"
_LOOKED_UP = ("trace", "approval_id", "session", "principal", "tool", "status")
"""Fields with an index of their name, the ones that few entries have in common first."""
_TEXTS = ("tool", "status", "principal", "session", "trace", "approval_id")
_NUMBERS = ("asked_at", "duration_ms")


class ProjectionReader(EventReader):
    """Answers about what events add up to."""

    def projection(self, name: str, key: str) -> dict[str, Any] | None:
        body = self._one(SQL["projection"], name, key)
        return None if body is None else read_back(body)

    def projections(
        self,
        name: str,
        *,
        limit: int | None = None,
        newest_first: bool = False,
        below: str | None = None,
        equal: Mapping[str, str] | None = None,
        skip: int = 0,
    ) -> list[dict[str, Any]]:
        wanted = equal or {}
        if not all(field.isidentifier() and _is_text(value) for field, value in wanted.items()):
            return []
        statement, values = _searching((_NEWEST if newest_first else SQL)["projections"], wanted)
        end = BEHIND_ALL_TEXT if below is None else below
        rows = self._ask(statement, name, end, *values, ALL if limit is None else limit, skip)
        return [read_back(row[0]) for row in rows]

    def projections_since(
        self, name: str, since: float, *, until: float | None = None, limit: int | None = None
    ) -> list[dict[str, Any]]:
        end, most = float("inf") if until is None else until, ALL if limit is None else limit
        return [read_back(row[0]) for row in self._ask(SQL["projections_since"], name, since, end, most)]

    def counts(self, name: str, *, since: float, stretch: float) -> list[Count]:
        return [Count(*row) for row in self._ask(SQL["counts"], stretch, name, since)]

    def middle_duration(self, name: str, *, since: float, statuses: Iterable[str]) -> float | None:
        meant = (name, since, orjson.dumps(list(statuses)).decode())
        return self._one(SQL["middle_duration"], *meant, self._one(SQL["durations"], *meant) // 2)


def to_columns(body: dict[str, Any]) -> tuple[Any, ...]:
    """An entry as it is written, and those of its fields that it is looked up by."""
    written = recordable_bytes(body)
    known = as_mapping(read_back(written)) or {}
    texts = (known.get(name) for name in _TEXTS)
    numbers = (known.get(name) for name in _NUMBERS)
    return (
        written.decode(),
        *(each if isinstance(each, str) else None for each in texts),
        *(float(each) if isinstance(each, float | int) and not isinstance(each, bool) else None for each in numbers),
    )


def text_in(body: str, field: str) -> str | None:
    """A text of an entry as it was written, whole, for a column beside it."""
    found = (as_mapping(read_back(body)) or {}).get(field)
    return found if isinstance(found, str) and _is_text(found) else None


def _searching(statement: str, equal: Mapping[str, str]) -> tuple[str, list[str]]:
    """The statement with these conditions, and their values.

    It is told which index to use: by itself SQLite walks through all entries, because they are in the order it needs.
    """
    known = [field for field in _LOOKED_UP if field in equal]
    others = [field for field in equal if field not in known]
    conditions = [f"AND {field} = ?" for field in known]
    # As JSON: json_extract ends a text at a NUL, and would find what belongs to another name.
    conditions += ["AND CASE WHEN json_valid(body) THEN body -> ? END = ?"] * len(others)
    values = [equal[field] for field in known]
    values += [each for field in others for each in (f'$."{field}"', recordable_bytes(equal[field]).decode())]
    index = f"INDEXED BY projections_by_{known[0]}" if known else ""
    return statement.replace(_BY, index).replace(_EQUAL, " ".join(conditions)), values


def _is_text(value: str) -> bool:
    """Whether it can be written: halves of letters, from a terminal say, stand in no entry."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
