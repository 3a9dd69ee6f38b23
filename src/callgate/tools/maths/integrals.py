"""monte_carlo_native: integrals over boxes by sampling, on all cores.

The samples come in chunks, each with a random stream of its own made from the seed and the chunk's number, and the
chunks' sums are added up in their order: the result does not depend on how many threads took part. Each thread works in
arrays that it makes once and keeps: memory that comes fresh from the system for every chunk costs more than the sums.

What is summed are distances from a number near the mean, which is known before: far from the origin the squares of the
values are so large that nothing is left of their spread.

A block of points takes few steps, all dimensions in each: threads meet between steps, and sleep there longer than a
step takes. So lengths are counted in the box's longest side, and what that is worth is left to the sums.
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
"""Coordinates that are worked on at a time: few enough to stay near a core in its cache, and enough that threads, which
need the interpreter between two steps of a block, seldom meet there."""
_MOST_SAMPLES = 100_000_000
_MOST_NUMBERS = 200_000_000
_MOST_DIMENSIONS = 20
_ONE_VALUE = (
    "nearly all points met one value, which says little of the rest of the box: standard_error is what a single other "
    "point would add; take more samples or a smaller box"
)

_RESULT = {
    "type": "object",
    "properties": {
        "integral": {"type": "number"},
        "standard_error": {"type": "number"},
        "samples_used": {"type": "integer"},
        "note": {"type": "string"},
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

    A standard_error of 0 is told only of what is exact; where all points missed the ball, or hit it, a note says what
    it is.

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
    near = _near_mean(box, function)

    def work(_: int) -> None:
        room = _Room.of(box, min(n_samples, _block_size(len(box))))
        for number in numbers:  # all threads take from the one iterator
            check()
            count = min(CHUNK, n_samples - number * CHUNK)
            sums[number] = _sums(function, count=count, stream=(seed, number), room=room, near=near)

    workers = min(threads, chunks)
    if workers > 1:
        with ThreadPoolExecutor(workers, thread_name_prefix="monte-carlo") as pool:
            list(pool.map(work, range(workers)))
    else:
        work(0)
    total, squares = (math.fsum(part) for part in zip(*sums, strict=True))
    variance = max(0.0, squares - total * total / n_samples) / (n_samples - 1)
    spread, least = math.sqrt(variance / n_samples), _range(box, function) / n_samples
    return {
        "integral": _over_box(box, function, value=near + total / n_samples),
        "standard_error": _over_box(box, function, value=max(spread, least)),
        "samples_used": n_samples,
        **({"note": _ONE_VALUE} if spread < least else {}),
    }


def _range(box: Box, function: str) -> float:
    """How far its values lie apart in the box, where points may miss that; 0 also for the polynomial, where none does.

    One point of many that has another value adds this part to the standard error: it is no smaller.
    """
    sides = [(max(low, -high, 0.0), max(-low, high)) for low, high in box]
    near, far = (math.fsum(distance * distance for distance in ends) for ends in zip(*sides, strict=True))
    if function == "gaussian":
        return math.exp(-near) - math.exp(-far)
    return float(near <= 1 < far) if function == "sphere" else 0.0


def _near_mean(box: Box, function: str) -> float:
    """A number near the mean of the function, if its values lie close together; the polynomial's is its mean."""
    if function == "gaussian":
        # No mean is larger than √π over the length of a side.
        root = math.sqrt(math.pi)
        middles = ((low / 2 + high / 2, high - low) for low, high in box)
        return math.prod(min(math.exp(-middle * middle), root / side) for middle, side in middles)
    if function == "polynomial":
        unit = _longest(box)
        ends = ((low / unit, high / unit) for low, high in box)
        return math.fsum(low * low + low * high + high * high for low, high in ends) / 3
    return 1.0 if function == "constant" else 0.0


def _longest(box: Box) -> float:
    return max(high - low for low, high in box)


def _over_box(box: Box, function: str, *, value: float) -> float:
    """What a value of the function, as it is summed, comes to over all of the box."""
    sides = [high - low for low, high in box]
    units = [max(sides)] * 2 if function == "polynomial" else []
    try:
        if math.isfinite(_product(sides)) and math.isfinite(whole := _product([*sides, *units, value])):
            return whole
    except OverflowError:
        pass
    raise ValueError("bounds are too large for a float; make the box smaller")


def _product(factors: list[float]) -> float:
    """Whatever their order: before the end, it may be larger or smaller than floats."""
    parts, sizes = zip(*map(math.frexp, factors), strict=True)
    return math.ldexp(math.prod(parts), sum(sizes))


def _block_size(dimensions: int) -> int:
    """Samples in a block: a chunk in equal parts, so that no small rest takes as many steps as they do."""
    return math.ceil(CHUNK / math.ceil(CHUNK * dimensions / _BLOCK))


@dataclass(frozen=True, slots=True)
class _Sides:
    """A box, in units of its longest side."""

    unit: float
    begins: NDArray[np.float64]
    """Where each side begins, in lengths of its own: a column."""
    lengths: NDArray[np.float64] | None
    """Of each side: a column. None for a cube, whose points need not be stretched."""

    @classmethod
    def of(cls, box: Box) -> _Sides:
        import numpy as np  # noqa: PLC0415 - an extra

        low, high = np.array(box).T[:, :, np.newaxis]
        with np.errstate(all="ignore"):
            sides = high - low
            unit = _longest(box)
            return cls(unit, low / sides, None if (sides == unit).all() else sides / unit)


@dataclass(frozen=True, slots=True)
class _Room:
    """The arrays that one thread works in."""

    sides: _Sides
    points: NDArray[np.float64]
    """A row for each dimension."""
    values: NDArray[np.float64]
    """The squares of the distances from the origin, in squares of the unit; then what the function gives
    (of the polynomial in these squares, too), less what is near its mean."""
    inside: NDArray[np.bool_]

    @classmethod
    def of(cls, box: Box, size: int) -> _Room:
        import numpy as np  # noqa: PLC0415 - an extra

        return cls(_Sides.of(box), np.empty((len(box), size)), np.empty(size), np.empty(size, dtype=np.bool_))

    def first(self, size: int) -> _Room:
        """Its beginning, for a last block that is smaller."""
        if size == self.values.size:
            return self
        rows = len(self.points)
        points = self.points.reshape(-1)[: rows * size].reshape(rows, size)
        return _Room(self.sides, points, self.values[:size], self.inside[:size])


def _sums(function: str, *, count: int, stream: tuple[int, int], room: _Room, near: float) -> tuple[float, float]:
    """The sum of the values' distances from `near`, and of their squares, over one chunk."""
    import numpy as np  # noqa: PLC0415 - an extra

    total = squares = 0.0
    if function == "constant":
        return total, squares
    seed, chunk = stream
    numbers = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(chunk,))))
    with np.errstate(all="ignore"):
        for begun in range(0, count, room.values.size):
            block = room.first(min(room.values.size, count - begun))
            _measure(numbers, room=block)
            more, more_squares = _summed(block, function, near=near)
            total += more
            squares += more_squares
    return total, squares


def _measure(numbers: Generator, *, room: _Room) -> None:
    """Random points of the box, as the squares of their distances from the origin."""
    import numpy as np  # noqa: PLC0415 - an extra

    points = numbers.random(out=room.points)
    np.add(points, room.sides.begins, out=points)
    if room.sides.lengths is not None:
        np.multiply(points, room.sides.lengths, out=points)
    np.einsum("ij,ij->j", points, points, out=room.values)


def _summed(room: _Room, function: str, *, near: float) -> tuple[float, float]:
    """The distances of the function's values there from `near`, and their squares."""
    import numpy as np  # noqa: PLC0415 - an extra

    values, unit = room.values, room.sides.unit
    if function == "sphere":
        inside = float(np.count_nonzero(np.less_equal(values, 1.0 / unit / unit, out=room.inside)))
        return inside, inside
    if function == "gaussian":
        np.multiply(values, -unit * unit, out=values)
        np.exp(values, out=values)
    np.subtract(values, near, out=values)
    # No dot product: BLAS shares a long one among the cores, and its last digits would tell how many there are.
    return float(values.sum()), float(np.einsum("i,i->", values, values))


def _time_check(ctx: ToolContext) -> Callable[[], None]:
    from callgate.tools.maths.expressions.budget import Budget  # noqa: PLC0415 - as the others

    return Budget(0, ctx).check_time
