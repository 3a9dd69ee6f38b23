"""Plateaus: level ground at the end of a search that there is for floats only, as exp(-x) + 1 has from 37 on.

What nears a value ever more slowly has no optimum, and goes on as level as that. So does a bottom that is flat, as of
max(1 - x, 0), which is one: it is told by its edge, before which the value falls by far more than floats tell apart.
Only behind a slope that spans most of what they do, as of max(exp(x) - 1, 0) from 50 on, is it taken for the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

_ONWARD = (1.01, 1.1, 1.3, 2, 4)
"""Where nothing may be higher than at the end of the way that was gone, in parts of it."""
_FAR = 10
"""Where it is as low as it gets, in the same."""
_ROUNDING = 1e-13
"""A gain that rounding makes, in parts of the value."""
_HALVINGS = 60
_FADED = 0.8
"""The part of its digits that a gain has left in the middle of the way to a plateau, at most: a half where it falls as
exp(-x) does, three quarters as exp(-x**2), none as 1/x. Before an edge it has more: 0.85 as max(1 - x, 0)**8 + 1."""


def is_plateau(land: Callable[[Any], float], *, start: Any, end: Any) -> bool:
    """Whether the way from `start` to `end`, or that along one of the axes, leads to ever less and no lowest value."""
    import numpy as np  # noqa: PLC0415 - an extra

    way = end - start
    return any(_levels_off(land, end=end, way=each) for each in (way, *np.diag(way)))


def _levels_off(land: Callable[[Any], float], *, end: Any, way: Any) -> bool:
    def value(part: float) -> float:
        return land(end + (part - 1) * way)

    here, lowest = value(1), value(_FAR)
    rounding = _ROUNDING * abs(lowest)
    gained = value(0) - lowest
    if not rounding < gained < math.inf or any(value(part) > here + rounding for part in (*_ONWARD, _FAR)):
        return False
    before, edge = _edge(value, lowest)
    last = value(before) - lowest
    # A formula may round more than its value is rounded: log(1 + exp(x)) comes to 0 at -37.
    least = max(math.ulp(lowest), last if last <= _ROUNDING * gained else 0)
    return _digits(value(edge / 2) - lowest, least) <= _FADED * _digits(gained, least)


def _edge(value: Callable[[float], float], lowest: float) -> tuple[float, float]:
    """Between which two places it comes to its lowest."""
    low, high = 0.0, float(_FAR)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if value(middle) <= lowest else (middle, high)
    return low, high


def _digits(gain: float, least: float) -> float:
    """How many digits a gain has, in bits, where the last one is worth the least that is told apart."""
    return math.log2(max(gain, least)) - math.log2(least)
