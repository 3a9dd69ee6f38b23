"""Figures that describe a list of numbers: what is exact of whole numbers stays so, and neighbours stay apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import chain, repeat
from typing import Any

import numpy as np

from callgate.tools.maths.expressions.values import Array, Plain, TooLarge, floats
from callgate.tools.maths.expressions.wholes import are_whole, fits

_WHOLES_OF_FLOATS = 2**53
"""Below it a float holds every whole number."""
_BITS_BEHIND_THE_POINT = 1074
"""The most that a float has."""


def prepared(items: list[Any]) -> list[Any] | Array:
    """The same, ready for many figures."""
    ready = _ready(items)
    return sorted(ready) if isinstance(ready, list) else ready


def _ready(items: list[Any] | Array) -> list[Any] | Array:
    """As floats; as they are where all are whole, or one is that no float holds."""
    if not isinstance(items, list) or are_whole(items):
        return items
    try:
        near = floats(items)
    except TooLarge:
        # Beside what is infinite, or not a number, there is nothing to keep.
        if all(isinstance(item, int) or math.isfinite(item) for item in items):
            return items
        raise
    if np.max(np.abs(near), initial=0) < _WHOLES_OF_FLOATS or not np.isfinite(near).all():
        return near
    return near if all(isinstance(item, float) or fits(item) for item in items) else items


def total(items: list[Any] | Array) -> Plain:
    """The sum, rounded once: the same in every order, and with every version of Python."""
    if are_whole(items):
        return sum(items)
    ready = _ready(items)
    return _told(_added(ready), ready)


def mean(items: list[Any] | Array) -> Plain:
    """The arithmetic mean, rounded once: that of equal numbers is that number."""
    if are_whole(items):
        return _ratio(sum(items), len(items))
    ready, count = _ready(items), len(items)
    near = _added(ready) / count
    if isinstance(ready, list) or isinstance(near, Fraction) or not math.isfinite(near):
        return _told(near, ready)
    # What all of them together are above or below it, which rounding the sum and then the mean has left.
    return near + math.fsum(chain(ready.tolist(), repeat(-near, count))) / count


def _added(items: list[Any] | Array) -> float | Fraction:
    if isinstance(items, list):
        # In parts of the smallest float: fractions with a denominator each take ten times as long to add.
        ratios = (item.as_integer_ratio() for item in items)
        parts = sum(above << (_BITS_BEHIND_THE_POINT + 1 - below.bit_length()) for above, below in ratios)
        return Fraction(parts, 1 << _BITS_BEHIND_THE_POINT)
    if not np.isfinite(items).all():
        return float(np.sum(items))
    numbers = items.tolist()
    try:
        return math.fsum(numbers)
    except OverflowError:
        # On the way, or in the end: what is left of it may be any float.
        return _added(numbers)


def variance(items: list[Any] | Array, ddof: int = 0) -> float:
    """The mean square of the distances from the mean.

    Far from zero the mean is rounded by more than the distances are: they are taken from one of the numbers first.
    """
    return _sized(lambda near: np.var(near - near[0], ddof=ddof), _near_zero(items), power=2)


def deviation(items: list[Any] | Array, ddof: int = 0) -> float:
    """Its root."""
    return _sized(lambda near: np.std(near - near[0], ddof=ddof), _near_zero(items))


def length(items: Array) -> float:
    """The root of the sum of their squares."""
    return _sized(np.linalg.norm, items)


def quantile(items: list[Any] | Array, at: float | Fraction) -> Plain:
    """The number that a part of them, between 0 and 1, lies below; in between two, as near to each as it is."""
    ready = _ready(items)
    return _told(_between(ready, at), ready)


def middle_range(items: list[Any] | Array) -> Plain:
    """From the first quartile to the third."""
    ready = _ready(items)
    # Both are exact: they may be far from zero, and near to each other.
    low, high = (_between(ready, Fraction(part, 4)) for part in (1, 3))
    return _told(high - low, ready)


def _between(items: list[Any] | Array, at: float | Fraction) -> Fraction | float:
    """A quantile without rounding, or what is infinite or not a number."""
    rank = Fraction(at) * (len(items) - 1)
    low, high = _ranked(items, math.floor(rank), math.ceil(rank))
    part = rank % 1
    if isinstance(items, np.ndarray) and not (math.isfinite(low) and math.isfinite(high)):
        return low if part == 0 else low * float(1 - part) + high * float(part)
    return Fraction(low) + (Fraction(high) - Fraction(low)) * part


def _ranked(items: list[Any] | Array, *ranks: int) -> list[Plain]:
    if isinstance(items, list):
        ranked = sorted(items)
        return [ranked[rank] for rank in ranks]
    # What is not a number is ranked last; with it, nothing else is one.
    partly = np.partition(items, (*ranks, len(items) - 1))
    return [math.nan] * len(ranks) if np.isnan(partly[-1]) else [float(partly[rank]) for rank in ranks]


def _told(exact: Fraction | float, items: list[Any] | Array) -> Plain:
    """As a float, which is infinite if floats alone came to it; a whole number that none holds as it is, among such.

    Raises:
        OverflowError: It is no whole number, and too large for a float.
    """
    if isinstance(exact, Fraction) and isinstance(items, list):
        return _ratio(*exact.as_integer_ratio())
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _ratio(total: int, count: int) -> Plain:
    whole, rest = divmod(total, count)
    return total / count if rest or fits(whole) else whole


def _near_zero(items: list[Any] | Array) -> Array:
    """The same distances; those of whole numbers are lost where both are larger than a float tells apart."""
    ready = _ready(items)
    if not isinstance(ready, list):
        return ready
    first = ready[0]
    if are_whole(ready):
        return floats([item - first for item in ready])
    return floats([Fraction(item) - Fraction(first) for item in ready])


def _sized(figure: Callable[[Array], Any], items: Array, *, power: int = 1) -> float:
    """A figure that grows with a power of the numbers, of these brought to a size near 1.

    The square of 1e200 is no float, and that of 1e-200 is 0; a sum of what a float holds may be more than it does.
    """
    size = math.frexp(float(np.max(np.abs(items), initial=0)))[1]
    return float(np.ldexp(figure(np.ldexp(items, -size)), power * size))
