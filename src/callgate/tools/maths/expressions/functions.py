"""The functions of the language over numbers, lists and arrays. Each bounds what it makes before it makes it."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from callgate.tools.maths.expressions.operators import BINARY
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
    is_plain,
    plain,
    whole,
)

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


def _rounded(ufunc: Any, exact: Callable[[float], int]) -> Function:
    def apply(value: Value) -> Value:
        if isinstance(value, float) and math.isfinite(value):
            return exact(value)
        return value if isinstance(value, int) else _back(ufunc(floats(value)))

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


def _absolute(value: Value) -> Value:
    return abs(value) if isinstance(value, (int, float)) else np.abs(floats(value))


def _log(value: Value, base: Value | None = None) -> Value:
    over = _back(np.log(floats(value)))
    return over if base is None else BINARY["/"](over, _back(np.log(floats(base))))


def _round(value: Value, digits: Value = 0) -> Value:
    places = whole(digits, "the digits of round")
    if abs(places) > MOST_BITS:
        raise ValueError("the digits of round are too many")
    if not isinstance(value, (int, float)):
        return np.round(floats(value), places)
    if not math.isfinite(value):
        return value
    return bounded(round(value, places) if places else round(value))


def _to_int(value: Value) -> Value:
    number = plain(value, "what int takes")
    if not math.isfinite(number):
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


def _sum(value: Value) -> Value:
    return bounded(sum(value)) if isinstance(value, list) else float(np.sum(array(value, "sum")))


def _prod(value: Value) -> Value:
    if not isinstance(value, list):
        return float(np.prod(array(value, "prod")))
    result: Value = 1
    for item in value:
        result = BINARY["*"](result, item)
    return result


def _extreme(name: str, exact: Callable[[list[Plain]], Plain], *, on_array: Any) -> Function:
    def apply(first: Value, *others: Value) -> Value:
        if others:
            return exact([plain(value, f"what {name} takes") for value in (first, *others)])
        items = _some(first, name)
        return exact(items) if isinstance(items, list) else float(on_array(items))

    return apply


def _some(value: Value, name: str) -> list[Any] | Array:
    if isinstance(value, (int, float)):
        raise ValueError(f"{name} takes a list, not one number")  # noqa: TRY004 - wrong input, whatever its type
    if not len(value):
        raise ValueError(f"{name} takes at least one number, and the list is empty")
    return value


def _reduced(function: Any, name: str) -> Function:
    def apply(value: Value, **options: Value) -> Value:
        items = floats(_some(value, name))
        chosen = {key: whole(option, key) for key, option in options.items()}
        if items.size <= chosen.get("ddof", 0):
            raise ValueError(f"{name} needs more numbers than its ddof")
        return float(function(items, **chosen))

    return apply


def _quantile(scale: float, name: str) -> Function:
    def apply(value: Value, at: Value) -> Value:
        where = float(plain(at, f"the second argument of {name}")) / scale
        if not 0 <= where <= 1:
            raise ValueError(f"the second argument of {name} lies between 0 and {scale:g}")
        return float(np.quantile(floats(_some(value, name)), where))

    return apply


def _dot(left: Value, right: Value) -> Value:
    one, other = array(left, "dot"), array(right, "dot")
    if one.size != other.size:
        raise ValueError(f"dot takes two lists of one length, not of {one.size} and {other.size}")
    return float(np.dot(one, other))


def _len(value: Value) -> Value:
    if isinstance(value, (int, float)):
        raise ValueError("len takes a list, not one number")  # noqa: TRY004 - wrong input, whatever its type
    return len(value)


def _sorted(value: Value) -> Value:
    return sorted(value) if isinstance(value, list) else np.sort(array(value, "sorted"))


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
    return first + step * np.arange(checked_size(math.ceil(min(count, 1e18))))


def _with_defaults(ends: tuple[Value, ...]) -> tuple[Value, ...]:
    if len(ends) == 1:
        return (0, ends[0], 1)
    return (*ends, 1)[:3]


def _linspace(first: Value, last: Value, num: Value = 50) -> Value:  # noqa: PLR0917 - as it is called
    count = checked_size(_natural(num, "num of linspace"))
    return np.linspace(float(plain(first, "what linspace takes")), float(plain(last, "what linspace takes")), count)


def _filled(content: float, name: str) -> Function:
    def apply(count: Value) -> Value:
        return np.full(checked_size(_natural(count, f"what {name} takes")), content)

    return apply


def _where(test: Value, then: Value, otherwise: Value) -> Value:  # noqa: PLR0917 - as it is called
    if is_plain(test):
        return then if test else otherwise
    held, one, other = floats(test) != 0, floats(then), floats(otherwise)
    if any(part.ndim and part.size != held.size for part in (one, other)):
        raise ValueError("where takes arrays of one length")
    return np.where(held, one, other)


def _clip(value: Value, low: Value, high: Value) -> Value:  # noqa: PLR0917 - as it is called
    return _back(np.clip(floats(value), float(plain(low, "low of clip")), float(plain(high, "high of clip"))))


def _power(base: Value, exponent: Value) -> Value:
    return BINARY["**"](base, exponent)


def _mod(left: Value, right: Value) -> Value:
    return BINARY["%"](left, right)


def _norm(value: Value) -> Value:
    return float(np.sqrt(np.sum(np.square(array(value, "norm")))))


def _cumsum(value: Value) -> Value:
    return np.cumsum(array(value, "cumsum"))


def _diff(value: Value) -> Value:
    return np.diff(array(value, "diff"))


def _array(value: Value) -> Value:
    return array(value, "array")


def _all(value: Value) -> Value:
    return int(bool(np.all(array(value, "all"))))


def _any(value: Value) -> Value:
    return int(bool(np.any(array(value, "any"))))


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
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
}

FUNCTIONS: MappingProxyType[str, Function] = MappingProxyType(
    {
        **{name: _each(ufunc) for name, ufunc in _UFUNCS.items()},
        "abs": _absolute,
        "all": _all,
        "any": _any,
        "arange": _arange,
        "array": _array,
        "atan2": _each_two(np.arctan2),
        "ceil": _rounded(np.ceil, math.ceil),
        "clip": _clip,
        "comb": _comb,
        "cumsum": _cumsum,
        "diff": _diff,
        "dot": _dot,
        "erf": _by_math(math.erf),
        "erfc": _by_math(math.erfc),
        "factorial": _factorial,
        "float": _to_float,
        "floor": _rounded(np.floor, math.floor),
        "fmod": _each_two(np.fmod),
        "gamma": _by_math(math.gamma),
        "gcd": _gcd,
        "hypot": _each_two(np.hypot),
        "int": _to_int,
        "isqrt": _isqrt,
        "lcm": _lcm,
        "len": _len,
        "lgamma": _by_math(math.lgamma),
        "linspace": _linspace,
        "log": _log,
        "max": _extreme("max", max, on_array=np.max),
        "maximum": _each_two(np.maximum),
        "mean": _reduced(np.mean, "mean"),
        "median": _reduced(np.median, "median"),
        "min": _extreme("min", min, on_array=np.min),
        "minimum": _each_two(np.minimum),
        "mod": _mod,
        "norm": _norm,
        "ones": _filled(1.0, "ones"),
        "percentile": _quantile(100.0, "percentile"),
        "perm": _perm,
        "power": _power,
        "prod": _prod,
        "quantile": _quantile(1.0, "quantile"),
        "range": _range,
        "round": _round,
        "sorted": _sorted,
        "std": _reduced(np.std, "std"),
        "sum": _sum,
        "trunc": _rounded(np.trunc, math.trunc),
        "var": _reduced(np.var, "var"),
        "where": _where,
        "zeros": _filled(0.0, "zeros"),
    }
)
"""Every function that `names` knows, by its one name."""
