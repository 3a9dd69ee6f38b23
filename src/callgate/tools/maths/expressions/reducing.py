"""The functions of the language that take a list as a whole: sums, extremes, and figures that describe it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from callgate.tools.maths.expressions import figures
from callgate.tools.maths.expressions.operators import BINARY, truth
from callgate.tools.maths.expressions.values import Array, Plain, Value, array, bounded, floats, plain, whole
from callgate.tools.maths.expressions.wholes import largest, settled, smallest

Function = Callable[..., Value]


def _sum(value: Value) -> Value:
    return bounded(figures.total(value if isinstance(value, list) else array(value, "sum")))


def _prod(value: Value) -> Value:
    if not isinstance(value, list):
        return float(np.prod(array(value, "prod")))
    result: Value = 1
    for item in value:
        result = BINARY["*"](result, item)
    return result


def _extreme(name: str, exact: Callable[..., Plain], *, on_array: Any) -> Function:
    def apply(first: Value, *others: Value) -> Value:
        if others:
            return exact(*[plain(value, f"what {name} takes") for value in (first, *others)])
        items = _some(first, name)
        return exact(*items) if isinstance(items, list) else float(on_array(items))

    return apply


def _some(value: Value, name: str) -> list[Any] | Array:
    if isinstance(value, (int, float)):
        raise ValueError(f"{name} takes a list, not one number")  # noqa: TRY004 - wrong input, whatever its type
    if not len(value):
        raise ValueError(f"{name} takes at least one number, and the list is empty")
    return value


def _figure(function: Callable[..., Plain], name: str) -> Function:
    def apply(value: Value, **options: Value) -> Value:
        items = _some(value, name)
        chosen = {key: whole(option, key) for key, option in options.items()}
        if chosen.get("ddof", 0) < 0:
            raise ValueError(f"the ddof of {name} must not be negative")
        if len(items) <= chosen.get("ddof", 0):
            raise ValueError(f"{name} needs more numbers than its ddof")
        return bounded(function(items, **chosen))

    return apply


def _median(value: Value) -> Value:
    return figures.quantile(_some(value, "median"), 0.5)


def _quantile(scale: int, name: str) -> Function:
    def apply(value: Value, at: Value) -> Value:
        where = plain(at, f"the second argument of {name}")
        if not 0 <= where <= scale:
            raise ValueError(f"the second argument of {name} lies between 0 and {scale}")
        # A percentage as a float is rounded: the 29th of 0 to 100 is 29.
        return figures.quantile(_some(value, name), Fraction(where) / scale)

    return apply


def _dot(left: Value, right: Value) -> Value:
    one, other = _listed(left, "dot"), _listed(right, "dot")
    if len(one) != len(other):
        raise ValueError(f"dot takes two lists of one length, not of {len(one)} and {len(other)}")
    if isinstance(one, list) and isinstance(other, list):
        return _sum([BINARY["*"](*pair) for pair in zip(one, other, strict=True)])
    return _sum(floats(one) * floats(other))


def _listed(value: Value, name: str) -> list[Any] | Array:
    return value if isinstance(value, list) else array(value, name)


def _len(value: Value) -> Value:
    if isinstance(value, (int, float)):
        raise ValueError("len takes a list, not one number")  # noqa: TRY004 - wrong input, whatever its type
    return len(value)


def _sorted(value: Value) -> Value:
    if not isinstance(value, list):
        return np.sort(array(value, "sorted"))
    # What is not a number goes to the end, as NumPy has it: between the others it would leave them unsorted.
    return sorted(value, key=lambda item: (item != item, item))  # noqa: PLR0124 - true of it and nothing else


def _norm(value: Value) -> Value:
    return figures.length(array(value, "norm"))


def _cumsum(value: Value) -> Value:
    if isinstance(value, list):
        return settled(list(itertools.accumulate(value, BINARY["+"])))
    return np.cumsum(array(value, "cumsum"))


def _diff(value: Value) -> Value:
    if isinstance(value, list):
        return settled([BINARY["-"](after, before) for before, after in itertools.pairwise(value)])
    return np.diff(array(value, "diff"))


def _truths(value: Value, name: str) -> list[Any] | Array:
    """Of each item, also where the first ones decide: what is not a number is an error wherever it stands."""
    tested = [truth(item) for item in value] if isinstance(value, list) else truth(array(value, name))
    return cast("list[Any] | Array", tested)


def _all(value: Value) -> Value:
    return int(all(_truths(value, "all")))


def _any(value: Value) -> Value:
    return int(any(_truths(value, "any")))


REDUCING: MappingProxyType[str, Function] = MappingProxyType(
    {
        "all": _all,
        "any": _any,
        "cumsum": _cumsum,
        "diff": _diff,
        "dot": _dot,
        "len": _len,
        "max": _extreme("max", largest, on_array=np.max),
        "mean": _figure(figures.mean, "mean"),
        "median": _median,
        "min": _extreme("min", smallest, on_array=np.min),
        "norm": _norm,
        "percentile": _quantile(100, "percentile"),
        "prod": _prod,
        "quantile": _quantile(1, "quantile"),
        "sorted": _sorted,
        "std": _figure(figures.deviation, "std"),
        "sum": _sum,
        "var": _figure(figures.variance, "var"),
    }
)
"""By the names that `names` has."""
