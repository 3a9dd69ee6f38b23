"""Entries of projections, looked through one by one: what SQLite finds by an index. Knows no tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from callgate.events.recordable import read_back
from callgate.ports import Count

T = TypeVar("T")
Entry = dict[str, Any]


def is_equal(entry: Entry, fields: Mapping[str, str]) -> bool:
    """Whether all of these fields have these values."""
    return all(entry.get(name) == value for name, value in fields.items())


def asked_since(kept: Mapping[str, bytes], since: float, *, until: float | None = None) -> list[Entry]:
    """Those that were asked in that time, the last first."""
    entries = ((key, read_back(body)) for key, body in kept.items())
    timed = ((at, key, entry) for key, entry in entries if (at := _number(entry, "asked_at")) is not None)
    meant = [(at, key, entry) for at, key, entry in timed if at >= since and (until is None or at < until)]
    return [entry for _, _, entry in sorted(meant, key=lambda each: each[:2], reverse=True)]


def counted(entries: Iterable[Entry], stretch: float) -> list[Count]:
    """How many are alike in each stretch of time."""
    numbers: Counter[tuple[int, Any, Any]] = Counter()
    durations: defaultdict[tuple[int, Any, Any], list[float]] = defaultdict(list)
    for entry in entries:
        alike = (int(entry["asked_at"] / stretch), _text(entry, "status"), _text(entry, "tool"))
        numbers[alike] += 1
        duration = _number(entry, "duration_ms")
        if duration is not None:
            durations[alike].append(duration)
    return [
        Count(*alike, number, len(durations[alike]), float(sum(durations[alike]))) for alike, number in numbers.items()
    ]


def middle(entries: Iterable[Entry], statuses: frozenset[str]) -> float | None:
    """The middle one of how long those took that stand so."""
    found = [_number(entry, "duration_ms") for entry in entries if entry.get("status") in statuses]
    measured = sorted(each for each in found if each is not None)
    return measured[len(measured) // 2] if measured else None


def after_last(items: Iterator[T], meant: Callable[[T], bool]) -> Iterator[T]:
    """What comes after the last that is meant; nothing where none is."""
    every = list(items)
    last = max((place for place, item in enumerate(every) if meant(item)), default=len(every))
    return iter(every[last + 1 :])


def _number(entry: Entry, name: str) -> float | None:
    value = entry.get(name)
    return float(value) if isinstance(value, float | int) and not isinstance(value, bool) else None


def _text(entry: Entry, name: str) -> str | None:
    value = entry.get(name)
    return value if isinstance(value, str) else None
