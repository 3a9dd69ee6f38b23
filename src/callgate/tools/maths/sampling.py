"""monte_carlo and mcmc: how an expression is spread over random inputs, and samples of a density."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Distribution = Literal["uniform", "normal", "exponential"]
Seed = Annotated[int, Field(ge=0)]
Density = Callable[[Sequence[float]], float]

_STEPS = 20_000_000
_PERCENTILES = (5, 25, 50, 75, 95)
_BINS = 20
_MOST_DIMENSIONS = 20
_MOST_NUMBERS = 200_000

_NUMBER = {"type": "number"}
_NUMBERS = {"type": "array", "items": _NUMBER}
_SPREAD = {
    "type": "object",
    "properties": {
        "mean": _NUMBER,
        "std": _NUMBER,
        "percentiles": {
            "type": "object",
            "properties": {str(at): _NUMBER for at in _PERCENTILES},
            "required": [str(at) for at in _PERCENTILES],
            "additionalProperties": False,
        },
        "samples": {"type": "integer"},
        "histogram": {
            "type": "object",
            "properties": {"counts": {"type": "array", "items": {"type": "integer"}}, "edges": _NUMBERS},
            "required": ["counts", "edges"],
            "additionalProperties": False,
        },
    },
    "required": ["mean", "std", "percentiles", "samples", "histogram"],
    "additionalProperties": False,
}
_CHAIN = {
    "type": "object",
    "properties": {
        "samples": {"type": "array", "items": _NUMBERS},
        "acceptance_rate": _NUMBER,
        "mean": _NUMBERS,
        "covariance": {"type": "array", "items": _NUMBERS},
    },
    "required": ["samples", "acceptance_rate", "mean", "covariance"],
    "additionalProperties": False,
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_SPREAD,
    examples=[{"expression": "x**2"}, {"expression": "exp(x)", "distribution": "normal", "samples": 1000, "seed": 7}],
)
def monte_carlo(
    expression: str,
    *,
    ctx: ToolContext,
    samples: Annotated[int, Field(ge=1, le=500_000)] = 10_000,
    distribution: Distribution = "uniform",
    seed: Seed = 42,
) -> dict[str, Any]:
    """Compute an expression of a random x many times, and tell how the results are spread.

    Args:
        expression: A formula with the variable x, as in `sqrt(1 - x**2)`.
        ctx: Of the call; it has the time limit.
        samples: How many.
        distribution: Of x: uniform between 0 and 1, normal with mean 0 and deviation 1, or exponential with mean 1.
        seed: The same seed gives the same result.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    stream = np.random.default_rng(seed)
    draw = {"uniform": stream.random, "normal": stream.standard_normal, "exponential": stream.standard_exponential}
    with np.errstate(all="ignore"):
        values = _values(expression, draw[distribution](samples), ctx=ctx)
    undefined = samples - int(np.isfinite(values).sum())
    if undefined:
        raise ValueError(f"expression has no finite real value for {undefined} of {samples} samples of x")
    return _spread(values)


def _spread(values: NDArray[np.float64]) -> dict[str, Any]:
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.expressions import figures  # noqa: PLC0415 - NumPy is an extra

    with np.errstate(all="ignore"):
        mean, std, width = figures.mean(values), figures.deviation(values), float(np.ptp(values))
    if not all(map(math.isfinite, (mean, std, width))):
        raise ValueError("expression makes numbers whose mean or spread is too large for a float; make it smaller")
    counts, edges = np.histogram(values, bins=_edges(values)) if width else (np.array([values.size]), values[[0, 0]])
    return {
        "mean": mean,
        "std": std,
        "percentiles": {str(at): float(np.percentile(values, at)) for at in _PERCENTILES},
        "samples": values.size,
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
    }


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of the bins: fewer where there are not as many floats between the smallest value and the largest."""
    import numpy as np  # noqa: PLC0415 - an extra

    return np.unique(np.linspace(float(values.min()), float(values.max()), _BINS + 1))


def _values(expression: str, x: NDArray[np.float64], *, ctx: ToolContext) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415
    from callgate.tools.maths.expressions.compiling import compiled  # noqa: PLC0415
    from callgate.tools.maths.expressions.items import is_item_by_item  # noqa: PLC0415
    from callgate.tools.maths.expressions.reading import read  # noqa: PLC0415
    from callgate.tools.maths.expressions.values import floats  # noqa: PLC0415

    whole, budget = read(expression, ["x"]), Budget(_STEPS, ctx)
    formula = compiled(whole)
    if is_item_by_item(whole.root):
        return np.broadcast_to(floats(formula(budget, {"x": x})), x.shape)
    return np.fromiter((formula.number(budget, {"x": each}) for each in x.tolist()), np.float64, count=x.size)


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_CHAIN,
    examples=[{"log_density": "-0.5*(x0**2 + x1**2)", "x0": [0, 0], "n_samples": 200, "burnin": 50}],
)
def mcmc(
    log_density: str,
    x0: list[float],
    *,
    ctx: ToolContext,
    n_samples: Annotated[int, Field(ge=1, le=100_000)] = 10_000,
    proposal_std: Annotated[float, Field(gt=0)] = 1.0,
    burnin: Annotated[int, Field(ge=0, le=100_000)] = 1000,
    seed: Seed = 42,
) -> dict[str, Any]:
    """Draw samples of a density with the Metropolis-Hastings algorithm (normal steps of one size).

    Args:
        log_density: The logarithm of the density, up to a constant, as a formula of x0, x1, …: `-0.5*x0**2`.
        x0: Where to start, one number for each dimension.
        ctx: Of the call; it has the time limit.
        n_samples: How many samples to give back.
        proposal_std: How far a step goes in each dimension.
        burnin: How many samples to leave out at the beginning.
        seed: The same seed gives the same result.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.points import function_of_points  # noqa: PLC0415

    if not 1 <= len(x0) <= _MOST_DIMENSIONS:
        raise ValueError(f"x0 must have 1 to {_MOST_DIMENSIONS} numbers, one for each dimension")
    if n_samples * len(x0) > _MOST_NUMBERS:
        raise ValueError(f"n_samples times dimensions is over {_MOST_NUMBERS}; take fewer samples")
    total = burnin + n_samples
    density = function_of_points(log_density, len(x0), argument="log_density", ctx=ctx, evaluations=total + 1)
    stream = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        moves = stream.standard_normal((total, len(x0))) * proposal_std
        thresholds = np.log1p(-stream.random(total))  # of (0, 1]: never the logarithm of 0
        steps = zip((move.tolist() for move in moves), thresholds.tolist(), strict=True)
        walk = _walk(density, [float(number) for number in x0], steps=steps)
        points, accepted = zip(*itertools.islice(walk, burnin, None), strict=True)
        kept = np.asarray(points)
        covariance = np.cov(kept, rowvar=False, ddof=min(1, n_samples - 1)).reshape(len(x0), len(x0))
    _check_finite(kept, covariance)
    return {
        "samples": kept.tolist(),
        "acceptance_rate": sum(accepted) / n_samples,
        "mean": kept.mean(axis=0).tolist(),
        "covariance": covariance.tolist(),
    }


def _walk(
    density: Density, start: list[float], *, steps: Iterable[tuple[list[float], float]]
) -> Iterator[tuple[list[float], bool]]:
    """Where each step leads to, and whether it was taken."""
    here, level = start, density(start)
    if not math.isfinite(level):
        raise ValueError("log_density has no finite value at x0; start where the density is positive")
    for move, threshold in steps:
        there = [one + step for one, step in zip(here, move, strict=True)]
        found = density(there)
        if found == math.inf:
            raise ValueError("log_density is infinite somewhere; give the logarithm of a density")
        # What is undefined has no density, and compares false.
        taken = found - level >= threshold
        if taken:
            here, level = there, found
        yield here, taken


def _check_finite(*results: Any) -> None:
    import numpy as np  # noqa: PLC0415 - an extra

    if not all(np.isfinite(result).all() for result in results):
        raise ValueError("the samples grow beyond a float; take a smaller proposal_std")
