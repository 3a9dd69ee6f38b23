"""Measure: how large the values of a call are, found without recursion, so that no check hangs on hostile ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

DEEPEST = 64
MOST_VALUES = 20_000
MOST_TEXT = 1_000_000
_LARGEST_INTEGER = 2**63 - 1
_CHARACTERS_PER_STEP = 16


class TooLarge(Exception):
    """The values are deeper, more, or longer than is looked at."""


class Measured(NamedTuple):
    """How much there is."""

    size: int
    """All values, and text by its length: what one pass over everything costs."""
    widest: int
    """Entries of the largest list or mapping: what one loop costs."""


def measure(*given: Any) -> Measured:
    """Count what is in some JSON values.

    Raises:
        TooLarge: It is deeper than 64, has more than 20,000 values or a million characters, or an integer that does
            not fit 64 bits (which an evaluator would round, and could judge wrongly).
    """
    values, text, widest = 0, 0, 0
    level: list[Any] = list(given)
    for _ in range(DEEPEST):
        values += len(level)
        text += sum(len(item) for item in level if isinstance(item, str))
        if values > MOST_VALUES or text > MOST_TEXT or any(map(_is_huge, level)):
            raise TooLarge
        containers: list[Any] = [item for item in level if isinstance(item, (dict, list, tuple))]
        if not containers:
            return Measured(values + text // _CHARACTERS_PER_STEP, widest)
        widest = max(widest, *map(len, containers))
        level = [item for container in containers for item in _entries(container)]
    raise TooLarge


def _entries(container: Any) -> Sequence[Any]:
    if len(container) > MOST_VALUES:
        raise TooLarge
    if isinstance(container, dict):
        mapping = cast("dict[Any, Any]", container)
        return [*mapping.keys(), *mapping.values()]
    return container


def _is_huge(value: Any) -> bool:
    return isinstance(value, int) and not -_LARGEST_INTEGER <= value <= _LARGEST_INTEGER
