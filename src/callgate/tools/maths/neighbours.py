"""Neighbours: a better point near to where a search ended, if a bounded look around meets one.

It looks along the axes, in between at random, and along what a small simplex finds as it bends into narrow valleys.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

Land = Callable[[Any], float]
"""Of a point, what is to be as small as it can be."""

_REACHES = (1e-2, 1e-4)
"""How far off the neighbours are, in parts of a coordinate and in parts of 1."""
_BETWEEN = 8
"""Directions between the axes, besides one for each of these."""
_SIMPLEXES = (1e-4, 1e-6)
"""How wide a simplex is at first, in the same parts: a valley that winds is straight for a short one only."""
_LOOKS, _MOST_LOOKS = 40, 400
"""Evaluations of a simplex for each dimension, and of all."""
_SHORTER, _TIMES = 0.125, 16
"""How a step is shortened that leads to where there is no value, and how often: the edge may be a rounding away."""
_WAY = tuple(part / 16 for part in range(1, 16))
_NOTHING = 1e-8
"""A gain that is none, in parts of the value, or of what was gained from the start on where that is less."""
_LITTLE = 1e-4
"""The same of a step shorter than all of `_REACHES`, in parts of what was gained: methods end before such a gain."""
_ROUNDING = 1e-13
"""A gain that rounding makes, in parts of the value."""


def better(land: Land, x: Any, *, first: float) -> Any:
    """A step downhill that leads to a better point than `x`; None where none is found."""
    here = land(x)
    gained = abs(first - here)
    rounding = _ROUNDING * abs(here)
    much, little = _NOTHING * min(gained, abs(here)) + rounding, _LITTLE * gained + rounding
    for step in itertools.chain(_straight(x), _bent(land, x)):
        inside = _inside(land, x, step=step)
        is_short = inside is not step or _is_short(step, x)
        if _leads_down(land, x, step=inside, least=little if is_short else much):
            return inside
    return None


def _leads_down(land: Land, x: Any, *, step: Any, least: float) -> bool:
    here = land(x)
    # No part of the way is uphill: what is better behind a hill leaves a local optimum one.
    return here - land(x + step) > least and all(land(x + part * step) <= here for part in _WAY)


def _inside(land: Land, x: Any, *, step: Any) -> Any:
    """The step, or as much of it as leads to a value."""
    shorter = step
    for _ in range(_TIMES):
        if land(x + shorter) < math.inf:
            return shorter
        shorter = shorter * _SHORTER
    return step


def _is_short(step: Any, x: Any) -> bool:
    import numpy as np  # noqa: PLC0415 - an extra

    return bool((np.abs(step) < _REACHES[-1] * np.maximum(np.abs(x), 1)).all())


def _straight(x: Any) -> Iterator[Any]:
    """Steps along every axis, and in between; those of an x near 0 lie nearer to it than 0 does at last."""
    import numpy as np  # noqa: PLC0415 - an extra

    between = np.random.default_rng(0).uniform(-1, 1, (x.size + _BETWEEN, x.size))
    short = np.minimum(np.abs(x) / 2, _REACHES[-1])
    for reach in (*_widths(x, _REACHES), short):
        for direction in (*np.eye(x.size), *between):
            step = reach * direction
            yield from (step, -step)


def _bent(land: Land, x: Any) -> Iterator[Any]:
    """Steps to where a small simplex comes to by the method of Nelder and Mead."""
    import numpy as np  # noqa: PLC0415 - an extra

    searching: Any = importlib.import_module("scipy.optimize")
    options = {"maxfev": min(_LOOKS * x.size, _MOST_LOOKS), "xatol": 0, "fatol": 0}
    for width in _widths(x, _SIMPLEXES):
        simplex = np.vstack([x, x + np.diag(width)])
        found = searching.minimize(land, x, method="Nelder-Mead", options={**options, "initial_simplex": simplex})
        step = _onward(land, x, step=found.x - x)
        # Where the valley winds, only the first part of the way is straight.
        yield from (step, step * _SHORTER)


def _onward(land: Land, x: Any, *, step: Any) -> Any:
    """The step, doubled while it is short and gets better: in a winding valley a simplex does not come far."""
    while step.any() and _is_short(step, x) and land(x + 2 * step) < land(x + step):
        step = 2 * step
    return step


def _widths(x: Any, reaches: tuple[float, ...]) -> Iterator[Any]:
    """Of each reach the parts of a coordinate, and those of 1 where that is less."""
    import numpy as np  # noqa: PLC0415 - an extra

    size = np.maximum(np.abs(x), 1)
    yield from (reach * size for reach in reaches)
    if (size > 1).any():
        yield from (np.full(x.size, reach) for reach in reaches)
