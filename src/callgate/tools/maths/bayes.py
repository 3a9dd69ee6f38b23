"""bayesopt: the largest value of a costly formula, guessed from few points with a Gaussian process."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

if TYPE_CHECKING:
    from numpy.random import Generator

Acquisition = Literal["ei", "ucb", "pi"]

_MOST_DIMENSIONS = 10
_CANDIDATES = 1000
_NEAR = 250
_LENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Of the correlation, in sides of the box; the most likely one is taken, anew for each point."""
_NOISE = 1e-8
_CURIOSITY = 2.0
_MARGIN = 1e-3

_NUMBERS = {"type": "array", "items": {"type": "number"}}
_RESULT = {
    "type": "object",
    "properties": {
        "x_best": _NUMBERS,
        "y_best": {"type": "number"},
        "history": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"x": _NUMBERS, "y": {"type": "number"}},
                "required": ["x", "y"],
                "additionalProperties": False,
            },
        },
        "model": {
            "type": "object",
            "properties": {
                "kernel": {"type": "string"},
                "length_scale": {"type": "number"},
                "points": {"type": "integer"},
            },
            "required": ["kernel", "length_scale", "points"],
            "additionalProperties": False,
        },
    },
    "required": ["x_best", "y_best", "history", "model"],
    "additionalProperties": False,
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_RESULT,
    examples=[{"bounds": [[-2, 2]], "objective": "-(x - 0.5)**2", "n_init": 4, "n_iter": 8}],
)
def bayesopt(
    bounds: list[list[float]],
    objective: str,
    *,
    ctx: ToolContext,
    n_init: Annotated[int, Field(ge=1, le=50)] = 5,
    n_iter: Annotated[int, Field(ge=0, le=100)] = 25,
    acquisition: Acquisition = "ei",
    seed: Annotated[int, Field(ge=0)] = 42,
) -> dict[str, Any]:
    """Find where a formula is largest inside a box with few evaluations, guided by a Gaussian process.

    Args:
        bounds: One [low, high] for each variable, at most 10.
        objective: What is maximised: a formula of x0, x1, …, or of x where there is one variable.
        ctx: Of the call; it has the time limit.
        n_init: Random points to begin with.
        n_iter: Points that are then chosen one after the other.
        acquisition: How they are chosen: expected improvement, upper confidence bound, or probability of improvement.
        seed: The same seed gives the same result.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415
    from callgate.tools.maths.integrals import checked_box  # noqa: PLC0415
    from callgate.tools.maths.points import function_of_points  # noqa: PLC0415

    box = checked_box(bounds)
    if len(box) > _MOST_DIMENSIONS:
        raise ValueError(f"bounds must have at most {_MOST_DIMENSIONS} pairs")
    low, high = np.array(box).T

    def place(units: Any) -> Any:
        # In halves: a side may be longer than a float.
        return np.clip(2 * (low / 2 + (high / 2 - low / 2) * units), low, high)

    value = function_of_points(objective, len(box), argument="objective", ctx=ctx)
    budget = Budget(0, ctx)
    search = _Search(
        np.random.default_rng(seed),
        dimensions=len(box),
        value=_finite(value, lambda unit: place(unit).tolist()),
    )
    with np.errstate(all="ignore"):
        for turn in range(n_init + n_iter):
            budget.check_time()
            search.look(search.random_point() if turn < n_init else search.promising(acquisition))
        points = place(np.asarray(search.units))
    best = int(np.argmax(search.found))
    history = [{"x": x, "y": y} for x, y in zip(points.tolist(), search.found, strict=True)]
    model = {"kernel": "rbf", "length_scale": search.length, "points": len(history)}
    return {"x_best": points[best].tolist(), "y_best": search.found[best], "history": history, "model": model}


def _finite(value: Callable[[Any], float], place: Callable[[Any], list[float]]) -> Callable[[Any], float]:
    def at(unit: Any) -> float:
        point = place(unit)
        found = value(point)
        if not math.isfinite(found):
            raise ValueError(f"objective has no finite value at {point}; choose bounds where it has")
        return found

    return at


@dataclass(frozen=True, slots=True)
class _Process:
    """A Gaussian process through the points seen."""

    units: Any
    length: float
    factor: Any
    weights: Any
    likelihood: float

    def guess(self, candidates: Any) -> tuple[Any, Any]:
        """The mean and the deviation at each candidate, in deviations of what was seen."""
        import numpy as np  # noqa: PLC0415 - an extra

        linalg: Any = importlib.import_module("scipy.linalg")
        between = _kernel(candidates, self.units, length=self.length)
        solved = linalg.solve_triangular(self.factor, between.T, lower=True)
        return between @ self.weights, np.sqrt(np.maximum(1.0 - np.sum(solved**2, axis=0), 1e-12))


class _Search:
    """The points so far, inside the unit box, and what was found there."""

    def __init__(self, stream: Generator, *, dimensions: int, value: Callable[[Any], float]) -> None:
        self._stream = stream
        self._dimensions = dimensions
        self._value = value
        self.units: list[Any] = []
        self.found: list[float] = []
        self.length = _LENGTHS[-1]

    def look(self, unit: Any) -> None:
        self.found.append(self._value(unit))
        self.units.append(unit)

    def random_point(self) -> Any:
        return self._stream.random(self._dimensions)

    def promising(self, acquisition: str) -> Any:
        """Where to look next."""
        import numpy as np  # noqa: PLC0415 - an extra

        # Only how they lie to each other counts, and of this size no sum or square is too large or too small.
        seen = np.ldexp(self.found, -math.frexp(max(map(abs, self.found)))[1])
        spread = float(seen.std()) or 1.0
        process = self._fitted((seen - seen.mean()) / spread)
        self.length = process.length
        near = self.units[int(np.argmax(seen))] + self._stream.normal(0, 0.05, (_NEAR, self._dimensions))
        candidates = np.vstack([self._stream.random((_CANDIDATES, self._dimensions)), np.clip(near, 0, 1)])
        mean, deviation = process.guess(candidates)
        best = (float(seen.max()) - float(seen.mean())) / spread
        return candidates[int(np.argmax(_worth(acquisition, better=mean - best, deviation=deviation)))]

    def _fitted(self, targets: Any) -> _Process:
        import numpy as np  # noqa: PLC0415 - an extra

        units = np.asarray(self.units)
        return max((_process(units, targets, length=length) for length in _LENGTHS), key=lambda one: one.likelihood)


def _kernel(one: Any, other: Any, *, length: float) -> Any:
    import numpy as np  # noqa: PLC0415 - an extra

    distances = np.sum(one**2, axis=1)[:, None] + np.sum(other**2, axis=1)[None, :] - 2 * one @ other.T
    return np.exp(-0.5 * np.maximum(distances, 0) / length**2)


def _process(units: Any, targets: Any, *, length: float) -> _Process:
    import numpy as np  # noqa: PLC0415 - an extra

    linalg: Any = importlib.import_module("scipy.linalg")
    noise = _NOISE
    while True:
        try:
            factor = linalg.cholesky(_kernel(units, units, length=length) + noise * np.eye(len(units)), lower=True)
            break
        except np.linalg.LinAlgError:
            # Points that lie too close together: a little more noise keeps them apart.
            noise *= 10
    weights = linalg.cho_solve((factor, True), targets)
    likelihood = float(-0.5 * targets @ weights - np.log(np.diag(factor)).sum())
    return _Process(units, length, factor, weights, likelihood)


def _worth(acquisition: str, *, better: Any, deviation: Any) -> Any:
    import numpy as np  # noqa: PLC0415 - an extra

    special: Any = importlib.import_module("scipy.special")
    if acquisition == "ucb":
        return better + _CURIOSITY * deviation
    scaled = (better - _MARGIN) / deviation
    if acquisition == "pi":
        return special.ndtr(scaled)
    return (better - _MARGIN) * special.ndtr(scaled) + deviation * np.exp(-0.5 * scaled**2) / math.sqrt(2 * math.pi)
