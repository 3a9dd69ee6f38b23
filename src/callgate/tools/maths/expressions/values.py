"""The values of an expression: numbers, lists of numbers, and arrays of one dimension; each of a bounded size.

Integers are exact and have at most `MOST_BITS` bits; everything else is a 64-bit float. Lists hold plain numbers, so
that no list multiplies what a function made.
"""

from __future__ import annotations

import math
from sys import getsizeof
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

MOST_BITS = 4096
MOST_ITEMS = 100_000
MOST_HELD = 128 * 1024**2
"""Bytes of all lists and arrays that an expression needs at one moment."""

Array: TypeAlias = NDArray[Any]
Plain: TypeAlias = int | float
Value: TypeAlias = int | float | list[Any] | Array


class Undefined(ValueError):
    """The formula has no real value here: a division by zero, a root of a negative number."""


class TooLarge(ValueError):
    """A whole number is needed as a float, and is larger than any."""


def bounded(value: Plain) -> Plain:
    """A number, if it is not too long.

    Raises:
        ValueError: It is.
    """
    if type(value) is int and value.bit_length() > MOST_BITS:
        raise ValueError(
            f"the expression makes a whole number of over {MOST_BITS} bits; compute its logarithm instead: "
            "5000*log10(2) + log10(3) for 2**5000 * 3"
        )
    return value


def is_plain(value: Value) -> bool:
    """Whether it is one number."""
    return isinstance(value, (int, float))


def plain(value: Value, what: str) -> Plain:
    """One number.

    Raises:
        ValueError: It is a list or an array.
    """
    if isinstance(value, (int, float)):
        return value
    raise ValueError(f"{what} must be one number, not a list")


def whole(value: Value, what: str) -> int:
    """One whole number.

    Raises:
        ValueError: It is none.
    """
    number = plain(value, what)
    if isinstance(number, float) and not number.is_integer():
        raise ValueError(f"{what} must be a whole number")
    return bounded_int(int(number))


def bounded_int(value: int) -> int:
    """As `bounded`, for what is whole."""
    return cast("int", bounded(value))


def array(value: Value, what: str) -> Array:
    """A list or an array, as an array of floats.

    Raises:
        ValueError: It is one number.
    """
    if isinstance(value, (int, float)):
        raise ValueError(f"{what} takes a list, not one number")  # noqa: TRY004 - wrong input, whatever its type
    return floats(value)


def floats(value: Value) -> Array:
    """Anything as floats, of one dimension or none.

    Raises:
        TooLarge: A number is too large for a float.
    """
    try:
        return np.asarray(value, dtype=np.float64)
    except OverflowError:
        raise TooLarge("the expression makes a number too large for a float") from None


def bytes_of(value: list[Any] | Array) -> int:
    """What a list or an array takes of memory."""
    return sum(map(getsizeof, value), getsizeof(value)) if isinstance(value, list) else value.nbytes


def checked_size(count: int) -> int:
    """How many items something would have, before it is made.

    Raises:
        ValueError: Too many.
    """
    if count > MOST_ITEMS:
        raise ValueError(f"the expression makes a list of over {MOST_ITEMS} items; make it shorter")
    return max(count, 0)


def to_json(value: Value) -> int | float | list[Any]:
    """What a tool gives back.

    Raises:
        ValueError: It is no finite number.
    """
    if not isinstance(value, (int, float)):
        items: list[Any] = value if isinstance(value, list) else value.tolist()
        return [to_json(item) for item in items]
    if isinstance(value, bool):
        return int(value)
    # A whole number is always finite, also where no float is as large.
    if isinstance(value, float) and math.isinf(value):
        raise Undefined("the result is too large for a float, which ends at 1.8e308, or infinite as log(0) is")
    if isinstance(value, float) and math.isnan(value):
        raise Undefined(
            "the result is no real number: a root, logarithm or power is out of its range, or it is inf - inf"
        )
    return value
