"""monte_carlo_native: integrals over boxes by sampling, on all cores.

The samples come in chunks, each with a random stream of its own made from the seed and the chunk's number, and the
chunks' sums are added up in their order: the result does not depend on how many threads took part. Each thread works in
arrays that it makes once and keeps: memory that comes fresh from the system for every chunk costs more than the sums.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
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

CHUNK = 262_144
"""Samples of one random stream; making a stream takes as long as some thousand of them."""
_BLOCK = 131_072
"""Samples that are worked on at a time: few enough to stay near a core in its cache, and enough that threads, which
need the interpreter between two steps of a block, seldom meet there."""
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
    chunks = math.ceil(n_samples / CHUNK)
    numbers, sums = iter(range(chunks)), [(0.0, 0.0)] * chunks

    def work(_: int) -> None:
        room = _Room.of(min(n_samples, _BLOCK))
        for number in numbers:  # all threads take from the one iterator
            check()
            count = min(CHUNK, n_samples - number * CHUNK)
            sums[number] = _sums(box, function, count=count, stream=(seed, number), room=room)

    workers = min(threads, chunks)
    if workers > 1:
        with ThreadPoolExecutor(workers, thread_name_prefix="monte-carlo") as pool:
            list(pool.map(work, range(workers)))
    else:
        work(0)
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


@dataclass(frozen=True, slots=True)
class _Room:
    """The arrays that one thread works in."""

    distance: NDArray[np.float64]
    """The squares of the distances from the origin, then the values."""
    one: NDArray[np.float64]
    """One coordinate, then the squares of the values."""
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, size: int) -> _Room:
        import numpy as np  # noqa: PLC0415 - an extra

        return cls(np.empty(size), np.empty(size), np.empty(size, dtype=np.bool_))

    def first(self, size: int) -> _Room:
        """Its beginning, for a last block that is smaller."""
        return self if size == self.one.size else _Room(self.distance[:size], self.one[:size], self.inside[:size])


def _sums(box: Box, function: str, *, count: int, stream: tuple[int, int], room: _Room) -> tuple[float, float]:
    """The sum of the values and of their squares over one chunk."""
    import numpy as np  # noqa: PLC0415 - an extra

    if function == "constant":
        return float(count), float(count)
    seed, chunk = stream
    numbers = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(chunk,))))
    total = squares = 0.0
    with np.errstate(all="ignore"):
        for begun in range(0, count, _BLOCK):
            block = room.first(min(_BLOCK, count - begun))
            _measure(box, numbers, room=block)
            more, more_squares = _summed(block, function)
            total += more
            squares += more_squares
    return total, squares


def _measure(box: Box, numbers: Generator, *, room: _Room) -> None:
    """Random points of the box, as the squares of their distances from the origin."""
    import numpy as np  # noqa: PLC0415 - an extra

    for dimension, (low, high) in enumerate(box):
        one = room.one if dimension else room.distance
        numbers.random(out=one)
        np.multiply(one, high - low, out=one)
        np.add(one, low, out=one)
        np.multiply(one, one, out=one)
        if dimension:
            np.add(room.distance, one, out=room.distance)


def _summed(room: _Room, function: str) -> tuple[float, float]:
    """The values of the function there, and their squares."""
    import numpy as np  # noqa: PLC0415 - an extra

    values = room.distance
    if function == "sphere":
        inside = float(np.count_nonzero(np.less_equal(values, 1.0, out=room.inside)))
        return inside, inside
    if function == "gaussian":
        np.negative(values, out=values)
        np.exp(values, out=values)
    # No dot product: BLAS shares a long one among the cores, and its last digits would tell how many there are.
    return float(values.sum()), float(np.multiply(values, values, out=room.one).sum())


def _time_check(ctx: ToolContext) -> Callable[[], None]:
    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415 - as the others

    return Budget(0, ctx).check_time
