"""Figures that describe a list of numbers: what is exact of whole numbers stays so, and neighbours stay apart."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from callgate.tools.maths.expressions.values import Array, Plain, floats
from callgate.tools.maths.expressions.wholes import are_whole, fits

_HALF = 0.5


def prepared(items: list[Any]) -> list[int] | Array:
    """The same, ready for many figures."""
    return items if are_whole(items) else floats(items)


def total(items: list[Any] | Array) -> Plain:
    """The sum."""
    return sum(items) if are_whole(items) else float(np.sum(floats(items)))


def mean(items: list[Any] | Array) -> Plain:
    """The arithmetic mean."""
    return _ratio(sum(items), len(items)) if are_whole(items) else float(np.mean(floats(items)))


def variance(items: list[Any] | Array, ddof: int = 0) -> float:
    """The mean square of the distances from the mean."""
    return float(np.var(_near_zero(items), ddof=ddof))


def deviation(items: list[Any] | Array, ddof: int = 0) -> float:
    """Its root."""
    return float(np.std(_near_zero(items), ddof=ddof))


def quantile(items: list[Any] | Array, at: float) -> Plain:
    """The number that a part of them, between 0 and 1, lies below; in between two, as near to each as it is."""
    if not are_whole(items) or all(map(fits, items)):
        return float(np.quantile(floats(items), at))
    rank = at * (len(items) - 1)
    ranked, below = sorted(items), math.floor(rank)
    low, high, part = ranked[below], ranked[math.ceil(rank)], rank - below
    if part in (0, _HALF):
        return _ratio(low + high, 2)
    return low + (high - low) * part


def middle_range(items: list[Any] | Array) -> Plain:
    """From the first quartile to the third."""
    near = _near_zero(items)
    return quantile(near, 0.75) - quantile(near, 0.25)


def _ratio(total: int, count: int) -> Plain:
    whole, rest = divmod(total, count)
    return total / count if rest or fits(whole) else whole


def _near_zero(items: list[Any] | Array) -> Array:
    """The same distances: those of whole numbers are lost where both are larger than a float tells apart."""
    return floats([item - items[0] for item in items] if are_whole(items) else items)
