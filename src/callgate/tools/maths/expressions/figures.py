"""Figures that describe a list of numbers: what is exact of whole numbers stays so, and neighbours stay apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from callgate.tools.maths.expressions.values import Array, Plain, floats
from callgate.tools.maths.expressions.wholes import are_whole, fits


def prepared(items: list[Any]) -> list[int] | Array:
    """The same, ready for many figures."""
    return sorted(items) if are_whole(items) else floats(items)


def total(items: list[Any] | Array) -> Plain:
    """The sum, rounded once: the same in every order, and with every version of Python."""
    return sum(items) if are_whole(items) else _sized(_exactly_added, floats(items))


def _exactly_added(items: Array) -> float:
    return math.fsum(items.tolist()) if np.isfinite(items).all() else float(np.sum(items))


def mean(items: list[Any] | Array) -> Plain:
    """The arithmetic mean."""
    return _ratio(sum(items), len(items)) if are_whole(items) else _sized(np.mean, floats(items))


def variance(items: list[Any] | Array, ddof: int = 0) -> float:
    """The mean square of the distances from the mean.

    Far from zero the mean is rounded by more than the distances are: they are taken from one of the numbers first.
    """
    return _sized(lambda near: np.var(near - near[0], ddof=ddof), floats(_near_zero(items)), power=2)


def deviation(items: list[Any] | Array, ddof: int = 0) -> float:
    """Its root."""
    return _sized(lambda near: np.std(near - near[0], ddof=ddof), floats(_near_zero(items)))


def length(items: Array) -> float:
    """The root of the sum of their squares."""
    return _sized(np.linalg.norm, items)


def quantile(items: list[Any] | Array, at: float | Fraction) -> Plain:
    """The number that a part of them, between 0 and 1, lies below; in between two, as near to each as it is."""
    if not are_whole(items):
        return _sized(lambda near: np.quantile(near, float(at)), floats(items))
    rank = Fraction(at) * (len(items) - 1)
    ranked, below = sorted(items), math.floor(rank)
    low, high = ranked[below], ranked[math.ceil(rank)]
    part, of = (rank - below).as_integer_ratio()
    return _ratio(low * of + (high - low) * part, of)


def middle_range(items: list[Any] | Array) -> Plain:
    """From the first quartile to the third."""
    if are_whole(items):
        near = _near_zero(items)
        return quantile(near, 0.75) - quantile(near, 0.25)
    return _sized(_between_quartiles, floats(items))


def _between_quartiles(items: Array) -> Any:
    # From what lies between them, and not from a number that may be far away.
    near = items - np.quantile(items, 0.5, method="lower")
    return np.quantile(near, 0.75) - np.quantile(near, 0.25)


def _ratio(total: int, count: int) -> Plain:
    whole, rest = divmod(total, count)
    return total / count if rest or fits(whole) else whole


def _near_zero(items: list[Any] | Array) -> list[Any] | Array:
    """The same distances, of whole numbers: they are lost where both are larger than a float tells apart."""
    return [item - items[0] for item in items] if are_whole(items) else items


def _sized(figure: Callable[[Array], Any], items: Array, *, power: int = 1) -> float:
    """A figure that grows with a power of the numbers, of these brought to a size near 1.

    The square of 1e200 is no float, and that of 1e-200 is 0; a sum of what a float holds may be more than it does.
    """
    size = math.frexp(float(np.max(np.abs(items), initial=0)))[1]
    return float(np.ldexp(figure(np.ldexp(items, -size)), power * size))
