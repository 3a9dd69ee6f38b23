"""Whole numbers in functions that NumPy has for floats only: numbers and lists are computed as they are, item by item.

Where an array takes part, floats are meant: an array holds nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from callgate.tools.maths.expressions.values import Array, Plain, Undefined, Value, bounded, floats, is_plain

_BITS_OF_A_FLOAT = 53
_LONGEST_FLOAT = 1024

Exact = Callable[..., Plain]


def by_items(exact: Exact, on_arrays: Any) -> Callable[..., Value]:
    """A function of numbers, taken item by item where one of them is a list or an array."""

    def apply(*values: Value) -> Value:
        if all(map(is_plain, values)):
            return exact(*values)
        count = _count(values)
        if any(isinstance(value, np.ndarray) for value in values):
            return on_arrays(*map(floats, values))
        columns = [value if isinstance(value, list) else [value] * count for value in values]
        return settled([exact(*row) for row in zip(*columns, strict=True)])

    return apply


def _count(values: tuple[Any, ...]) -> int:
    counts = [len(value) for value in values if not isinstance(value, (int, float))]
    if len(set(counts)) > 1:
        raise ValueError(f"the expression joins {' and '.join(map(str, counts))} items; make them as many")
    return counts[0]


def settled(made: list[Any]) -> Value:
    """An array, for computing with it; the list as it is where no array could hold its whole numbers."""
    return floats(made) if all(isinstance(item, float) or fits(item) for item in made) else made


def fits(number: int) -> bool:
    """Whether a float holds it exactly."""
    bits = number.bit_length()
    zeros = (number & -number).bit_length() - 1
    return bits <= _BITS_OF_A_FLOAT or (bits <= _LONGEST_FLOAT and bits - zeros <= _BITS_OF_A_FLOAT)


def are_whole(items: list[Any] | Array) -> TypeGuard[list[int]]:
    """Whether something is a list of whole numbers only."""
    return isinstance(items, list) and all(isinstance(item, int) for item in items)


def absolute(value: Plain) -> Plain:
    """`value` without its sign."""
    return abs(value)


def square(value: Plain) -> Plain:
    """`value**2`, infinite where it is too large a float."""
    return bounded(value * value)


def sign(value: Plain) -> Plain:
    """-1, 0 or 1."""
    return math.nan if _undefined((value,)) else (value > 0) - (value < 0)


def rounder(exact: Callable[[float], int]) -> Exact:
    """Rounding to a whole number, by one of `math`."""

    def rounded(value: Plain) -> Plain:
        return exact(value) if isinstance(value, float) and math.isfinite(value) else value

    return rounded


def largest(*values: Plain) -> Plain:
    """The largest; not a number where one is none, wherever it stands."""
    return math.nan if _undefined(values) else max(values)


def smallest(*values: Plain) -> Plain:
    """As `largest`."""
    return math.nan if _undefined(values) else min(values)


def clipped(value: Plain, low: Plain, high: Plain) -> Plain:  # noqa: PLR0917 - as it is called
    """`value`, or the end that it is beyond."""
    return smallest(largest(value, low), high)


def remainder(left: Plain, right: Plain) -> Plain:
    """What is left of a division, with the sign of what was divided."""
    if right == 0:
        return math.nan
    if isinstance(left, int) and isinstance(right, int):
        return abs(left) % abs(right) * (-1 if left < 0 else 1)
    return math.nan if abs(left) == math.inf else math.fmod(left, right)


def chosen(test: Plain, then: Plain, otherwise: Plain) -> Plain:  # noqa: PLR0917 - as it is called
    """`then if test else otherwise`."""
    if _undefined((test,)):
        raise Undefined("the expression tests what is no real number")
    return then if test else otherwise


def _undefined(values: tuple[Plain, ...]) -> bool:
    return any(value != value for value in values)  # noqa: PLR0124 - true of what is not a number, and nothing else
