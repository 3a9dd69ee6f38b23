"""The operators: exact on whole numbers, in floats otherwise, item by item on arrays.

Lists are refused: `[1, 2] * 2` means two things to two readers, and `np.array([1, 2]) * 2` only one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from callgate.tools.maths.expressions.values import MOST_BITS, Array, Plain, Undefined, Value, bounded, floats, is_plain

Two = Callable[[Any, Any], Any]
_SHORT = 64
"""Bits of a number that is written out in a message."""
_NO_TRUTH = "the expression tests what is no real number"
_FEW, _FIT = 4, 1e15
"""Items of a list, and their size, that is written out there."""


def _on_numbers(exact: Two, *, left: Plain, right: Plain) -> Plain:
    try:
        value = exact(left, right)
    except ZeroDivisionError:
        raise Undefined("the expression divides by zero") from None
    except OverflowError:
        raise Undefined("the expression makes a number too large for a float") from None
    if isinstance(value, complex):
        raise Undefined("the expression takes a root of a negative number, which is no real number")
    return bounded(value)


def _divide(left: Plain, right: Plain) -> Plain:
    return left / right


def _divide_whole(left: Plain, right: Plain) -> Plain:
    return left // right


def _power(base: Plain, exponent: Plain) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        # Before it is computed: the length of the result is known well enough.
        small = base in (-1, 0, 1)
        if not small and (base.bit_length() - 1) * exponent > MOST_BITS:
            raise ValueError(_too_long(base, exponent))
        if small:
            return base if exponent % 2 else base * base
    return base**exponent


def _too_long(base: int, exponent: int) -> str:
    # No float is as large either, and a logarithm is taken of floats: not of the power, nor of a long base.
    is_short = max(base.bit_length(), exponent.bit_length()) <= _SHORT
    logarithm = f"{exponent}*log10({abs(base)})" if is_short else "5000*log10(2) for 2**5000"
    return f"the expression makes a power of over {MOST_BITS} bits; compute its logarithm instead: {logarithm}"


class ListMet(ValueError):
    """A list stands where a number or an array has to."""


def _no_lists(value: Value) -> Array:
    if isinstance(value, list):
        is_short = len(value) <= _FEW and all(isinstance(each, int | float) and abs(each) < _FIT for each in value)
        shown = f"np.array({value})" if is_short else "np.array(…)"
        raise ListMet(f"the expression computes with a list; to compute item by item, make it an array: {shown}")
    return floats(value)


def _make(exact: Two, on_arrays: Two) -> Callable[[Value, Value], Value]:
    def apply(left: Value, right: Value) -> Value:
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            return _on_numbers(exact, left=left, right=right)
        one, other = _no_lists(left), _no_lists(right)
        if one.size != other.size and not (is_plain(left) or is_plain(right)):
            raise ValueError(f"the expression joins arrays of {one.size} and {other.size} items; make them as long")
        return on_arrays(one, other)

    return apply


BINARY = MappingProxyType(
    {
        "+": _make(operator.add, np.add),
        "-": _make(operator.sub, np.subtract),
        "*": _make(operator.mul, np.multiply),
        "/": _make(_divide, np.divide),
        "//": _make(_divide_whole, np.floor_divide),
        "%": _make(operator.mod, np.mod),
        "**": _make(_power, np.power),
        "<": _make(operator.lt, np.less),
        "<=": _make(operator.le, np.less_equal),
        ">": _make(operator.gt, np.greater),
        ">=": _make(operator.ge, np.greater_equal),
        "==": _make(operator.eq, np.equal),
        "!=": _make(operator.ne, np.not_equal),
    }
)
"""(left, right) -> value, for every operator between two."""


def negative(value: Value) -> Value:
    """`-value`."""
    return -value if isinstance(value, (int, float)) else -_no_lists(value)


def positive(value: Value) -> Value:
    """`+value`."""
    return +value if isinstance(value, (int, float)) else _no_lists(value)


def truth(value: Value) -> bool | Array:
    """Whether it holds; item by item for an array.

    Raises:
        Undefined: It is not a number: that is neither.
    """
    if isinstance(value, (int, float)):
        if value != value:  # noqa: PLR0124 - true of what is not a number, and nothing else
            raise Undefined(_NO_TRUTH)
        return bool(value)
    items = _no_lists(value)
    if np.isnan(items).any():
        raise Undefined(_NO_TRUTH)
    return items != 0


def inverse(value: Value) -> Value:
    """`not value`."""
    held = truth(value)
    return not held if isinstance(held, bool) else np.logical_not(held)


UNARY: MappingProxyType[str, Callable[[Value], Value]] = MappingProxyType(
    {"-": negative, "+": positive, "not": inverse}
)
