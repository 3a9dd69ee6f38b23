"""monte_carlo_native: integrals over boxes by sampling, on all cores.

The samples come in chunks, each with a random stream of its own made from the seed and the chunk's number, and the
chunks' sums are added up in their order: the result does not depend on how many threads took part.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.model.tool_context import ToolContext

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray

Integrand = Literal["constant", "sphere", "gaussian", "polynomial"]

Box = list[tuple[float, float]]

CHUNK = 131_072
_BLOCK = 16_384
"""Samples that are worked on at a time: they stay in a core's own cache."""
_MOST_SAMPLES = 100_000_000
_MOST_NUMBERS = 200_000_000
_MOST_DIMENSIONS = 20

_RESULT = {
    "type": "object",
    "properties": {
        "integral": {"type": "number"},
        "standard_error": {"type": "number"},
        "samples_used": {"type": "integer"},
    },
    "required": ["integral", "standard_error", "samples_used"],
    "additionalProperties": False,
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=_RESULT,
    examples=[{"bounds": [[-1, 1], [-1, 1]], "function": "sphere", "n_samples": 100000}],
)
def monte_carlo_native(
    bounds: list[list[float]],
    *,
    ctx: ToolContext,
    function: Integrand = "constant",
    n_samples: Annotated[int, Field(ge=2, le=_MOST_SAMPLES)] = 10_000,
    seed: Annotated[int, Field(ge=0)] = 42,
) -> dict[str, Any]:
    """Integrate a function over a box by random sampling, on all cores of the machine.

    Args:
        bounds: One [low, high] for each dimension, at most 20.
        ctx: Of the call; it has the time limit.
        function: `constant` is 1, `sphere` is 1 inside the unit ball and 0 outside, `gaussian` is exp(-|x|²),
            `polynomial` is |x|², the sum of the squares.
        n_samples: How many points are taken.
        seed: The same seed gives the same result, on any number of cores.
    """
    box = checked_box(bounds)
    if n_samples * len(box) > _MOST_NUMBERS:
        raise ValueError(f"n_samples times dimensions is over {_MOST_NUMBERS}; take fewer samples")
    return integrate(box, function, n_samples=n_samples, seed=seed, threads=cores(), check=_time_check(ctx))


def checked_box(bounds: list[list[float]]) -> Box:
    """The bounds as pairs.

    Raises:
        ValueError: They are no box.
    """
    if not 1 <= len(bounds) <= _MOST_DIMENSIONS:
        raise ValueError(f"bounds must have 1 to {_MOST_DIMENSIONS} pairs [low, high]")
    for pair in bounds:
        if len(pair) != 2 or not pair[0] < pair[1]:  # noqa: PLR2004 - a pair
            raise ValueError(f"bounds has {pair}; give each dimension as [low, high] with low < high")
    return [(float(low), float(high)) for low, high in bounds]


def cores() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):  # pragma: no branch - not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover - where the above is missing


def integrate(
    box: Box,
    function: str,
    *,
    n_samples: int,
    seed: int,
    threads: int,
    check: Callable[[], None],
) -> dict[str, Any]:
    """The integral, its standard error, and the samples it took."""

    def chunk(number: int) -> tuple[float, float]:
        check()
        return _sums(box, function, count=min(CHUNK, n_samples - number * CHUNK), stream=(seed, number))

    numbers = range(math.ceil(n_samples / CHUNK))
    workers = min(threads, len(numbers))
    if workers > 1:
        with ThreadPoolExecutor(workers, thread_name_prefix="monte-carlo") as pool:
            sums = list(pool.map(chunk, numbers))
    else:
        sums = [chunk(number) for number in numbers]
    return _result(box, sums, n_samples=n_samples)


def _result(box: Box, sums: list[tuple[float, float]], *, n_samples: int) -> dict[str, Any]:
    volume = math.prod(high - low for low, high in box)
    total, squares = (math.fsum(part) for part in zip(*sums, strict=True))
    mean = total / n_samples
    variance = max(0.0, squares / n_samples - mean * mean) * n_samples / (n_samples - 1)
    integral, error = volume * mean, volume * math.sqrt(variance / n_samples)
    if not (math.isfinite(integral) and math.isfinite(error)):
        raise ValueError("bounds are too large for a float; make the box smaller")
    return {"integral": integral, "standard_error": error, "samples_used": n_samples}


def _sums(box: Box, function: str, *, count: int, stream: tuple[int, int]) -> tuple[float, float]:
    """The sum of the values and of their squares over one chunk."""
    import numpy as np  # noqa: PLC0415 - an extra

    if function == "constant":
        return float(count), float(count)
    seed, chunk = stream
    numbers = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(chunk,))))
    distance, one = np.empty(min(count, _BLOCK)), np.empty(min(count, _BLOCK))
    total = squares = 0.0
    with np.errstate(all="ignore"):
        for begun in range(0, count, _BLOCK):
            size = min(_BLOCK, count - begun)
            _distances(box, numbers, into=distance[:size], by=one[:size])
            more, more_squares = _summed(distance[:size], function)
            total += more
            squares += more_squares
    return total, squares


def _distances(box: Box, numbers: Generator, *, into: NDArray[np.float64], by: NDArray[np.float64]) -> None:
    """Random points of the box, as the squares of their distances from the origin."""
    import numpy as np  # noqa: PLC0415 - an extra

    into.fill(0.0)
    for low, high in box:
        numbers.random(out=by)
        np.multiply(by, high - low, out=by)
        np.add(by, low, out=by)
        np.multiply(by, by, out=by)
        np.add(into, by, out=into)


def _summed(distance: NDArray[np.float64], function: str) -> tuple[float, float]:
    """Over the squares of the distances from the origin."""
    import numpy as np  # noqa: PLC0415 - an extra

    if function == "sphere":
        inside = float(np.count_nonzero(distance <= 1.0))
        return inside, inside
    if function == "gaussian":
        np.negative(distance, out=distance)
        np.exp(distance, out=distance)
    return float(distance.sum()), float(np.dot(distance, distance))


def _time_check(ctx: ToolContext) -> Callable[[], None]:
    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415 - as the others

    return Budget(0, ctx).check_time
