"""The functions of the language over numbers, and item by item over lists and arrays.

Each bounds what it makes before it makes it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from callgate.tools.maths.expressions import wholes
from callgate.tools.maths.expressions.operators import BINARY, truth
from callgate.tools.maths.expressions.reducing import REDUCING
from callgate.tools.maths.expressions.values import (
    MOST_BITS,
    Array,
    Plain,
    Undefined,
    Value,
    array,
    bounded,
    checked_size,
    floats,
    plain,
    whole,
)
from callgate.tools.maths.expressions.wholes import by_items

Function = Callable[..., Value]
_LARGEST_FACTORIAL = 500


def _back(result: Any) -> Value:
    """NumPy's own numbers as Python's: theirs overflow without a word."""
    return cast("Value", result.item()) if result.ndim == 0 else result


def _each(ufunc: Any) -> Function:
    def apply(value: Value) -> Value:
        return _back(ufunc(floats(value)))

    return apply


def _each_two(ufunc: Any) -> Function:
    def apply(left: Value, right: Value) -> Value:
        one, other = floats(left), floats(right)
        if one.ndim and other.ndim and one.size != other.size:
            raise ValueError(f"the expression joins {one.size} and {other.size} items; make them as many")
        return _back(ufunc(one, other))

    return apply


def _by_math(function: Callable[[float], float]) -> Function:
    def one(value: float) -> float:
        try:
            return function(value)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    def apply(value: Value) -> Value:
        if isinstance(value, (int, float)):
            return one(float(floats(value)))
        return np.array([one(item) for item in floats(value).tolist()], dtype=np.float64)

    return apply


def _log(value: Value, base: Value | None = None) -> Value:
    over = _back(np.log(floats(value)))
    return over if base is None else BINARY["/"](over, _back(np.log(floats(base))))


def _round(value: Value, digits: Value = 0) -> Value:
    places = whole(digits, "the digits of round")
    if abs(places) > MOST_BITS:
        raise ValueError("the digits of round are too many")

    def rounded(number: Plain) -> Plain:
        if isinstance(number, float) and not math.isfinite(number):
            return number
        return bounded(round(number, places) if places else round(number))

    return by_items(rounded, functools.partial(np.round, decimals=places))(value)


def _to_int(value: Value) -> Value:
    number = plain(value, "what int takes")
    if isinstance(number, float) and not math.isfinite(number):
        raise Undefined("int takes a finite number")
    return bounded(int(number))


def _to_float(value: Value) -> Value:
    return float(floats(plain(value, "what float takes")))


def _natural(value: Value, what: str) -> int:
    number = whole(value, what)
    if number < 0:
        raise ValueError(f"{what} must not be negative")
    return number


def _factorial(value: Value) -> Value:
    number = _natural(value, "what factorial takes")
    if number > _LARGEST_FACTORIAL:
        raise ValueError(f"factorial goes to {_LARGEST_FACTORIAL}; use gamma or lgamma beyond")
    return math.factorial(number)


def _comb(count: Value, chosen: Value) -> Value:
    n, k = _natural(count, "what comb takes"), _natural(chosen, "what comb takes")
    if n > MOST_BITS and min(k, abs(n - k)) * n.bit_length() > MOST_BITS:
        raise ValueError("comb makes a number that is too long; use lgamma")
    return bounded(math.comb(n, k))


def _perm(count: Value, chosen: Value) -> Value:
    n, k = _natural(count, "what perm takes"), _natural(chosen, "what perm takes")
    if min(n, k) * n.bit_length() > MOST_BITS * 2:
        raise ValueError("perm makes a number that is too long; use lgamma")
    return bounded(math.perm(n, k))


def _gcd(*values: Value) -> Value:
    return math.gcd(*(whole(value, "what gcd takes") for value in values))


def _lcm(*values: Value) -> Value:
    result = 1
    for value in values:
        result = cast("int", bounded(math.lcm(result, whole(value, "what lcm takes"))))
    return result


def _isqrt(value: Value) -> Value:
    return math.isqrt(_natural(value, "what isqrt takes"))


def _range(*ends: Value) -> Value:
    try:
        made = range(*(whole(end, "what range takes") for end in ends))
        return list(made[: checked_size(len(made))])
    except OverflowError:
        return list(range(checked_size(2**62)))
    except ValueError as error:
        raise ValueError(str(error).replace("range() arg 3", "the step of range")) from None


def _arange(*ends: Value) -> Value:
    first, last, step = [float(floats(plain(end, "what arange takes"))) for end in _with_defaults(ends)]
    if not step or not all(math.isfinite(number) for number in (first, last, step)):
        raise ValueError("arange takes finite numbers, and a step that is not 0")
    count = (last - first) / step
    return first + step * np.arange(checked_size(math.ceil(max(-1.0, min(count, 1e18)))))


def _with_defaults(ends: tuple[Value, ...]) -> tuple[Value, ...]:
    if len(ends) == 1:
        return (0, ends[0], 1)
    return (*ends, 1)[:3]


def _linspace(first: Value, last: Value, num: Value = 50) -> Value:  # noqa: PLR0917 - as it is called
    count = checked_size(_natural(num, "num of linspace"))
    low, high = (floats(plain(end, "what linspace takes")) for end in (first, last))
    return np.linspace(float(low), float(high), count)


def _filled(content: float, name: str) -> Function:
    def apply(count: Value) -> Value:
        return np.full(checked_size(_natural(count, f"what {name} takes")), content)

    return apply


def _where(test: Value, then: Value, otherwise: Value) -> Value:  # noqa: PLR0917 - as it is called
    if isinstance(test, (int, float)):
        return then if truth(test) else otherwise
    if any(len(part) != len(test) for part in (then, otherwise) if not isinstance(part, (int, float))):
        raise ValueError("where takes arrays of one length")
    return _CHOSEN(test, then, otherwise)


def _clip(value: Value, low: Value, high: Value) -> Value:  # noqa: PLR0917 - as it is called
    return _CLIPPED(value, plain(low, "low of clip"), plain(high, "high of clip"))


def _on_arrays(test: Array, then: Array, otherwise: Array) -> Array:  # noqa: PLR0917 - as NumPy has it
    return np.where(truth(test), then, otherwise)


_CHOSEN = by_items(wholes.chosen, _on_arrays)
_CLIPPED = by_items(wholes.clipped, np.clip)


def _power(base: Value, exponent: Value) -> Value:
    return BINARY["**"](base, exponent)


def _mod(left: Value, right: Value) -> Value:
    return BINARY["%"](left, right)


def _array(value: Value) -> Value:
    return array(value, "array")


_UFUNCS = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "cos": np.cos,
    "cosh": np.cosh,
    "degrees": np.degrees,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "radians": np.radians,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}

FUNCTIONS: MappingProxyType[str, Function] = MappingProxyType(
    {
        **{name: _each(ufunc) for name, ufunc in _UFUNCS.items()},
        **REDUCING,
        "abs": by_items(wholes.absolute, np.abs),
        "arange": _arange,
        "array": _array,
        "atan2": _each_two(np.arctan2),
        "ceil": by_items(wholes.rounder(math.ceil), np.ceil),
        "clip": _clip,
        "comb": _comb,
        "erf": _by_math(math.erf),
        "erfc": _by_math(math.erfc),
        "factorial": _factorial,
        "float": _to_float,
        "floor": by_items(wholes.rounder(math.floor), np.floor),
        "fmod": by_items(wholes.remainder, np.fmod),
        "gamma": _by_math(math.gamma),
        "gcd": _gcd,
        "hypot": _each_two(np.hypot),
        "int": _to_int,
        "isqrt": _isqrt,
        "lcm": _lcm,
        "lgamma": _by_math(math.lgamma),
        "linspace": _linspace,
        "log": _log,
        "maximum": by_items(wholes.largest, np.maximum),
        "minimum": by_items(wholes.smallest, np.minimum),
        "mod": _mod,
        "ones": _filled(1.0, "ones"),
        "perm": _perm,
        "power": _power,
        "range": _range,
        "round": _round,
        "sign": by_items(wholes.sign, np.sign),
        "square": by_items(wholes.square, np.square),
        "trunc": by_items(wholes.rounder(math.trunc), np.trunc),
        "where": _where,
        "zeros": _filled(0.0, "zeros"),
    }
)
"""Every function that `names` knows, by its one name."""

ITEM_BY_ITEM = frozenset(
    {*_UFUNCS, "abs", "atan2", "ceil", "clip", "erf", "erfc", "floor", "fmod", "gamma", "hypot", "lgamma", "log"}
    | {"maximum", "minimum", "mod", "power", "round", "sign", "square", "trunc", "where"}
)
"""Those that give of arrays what they give of each of their items."""
