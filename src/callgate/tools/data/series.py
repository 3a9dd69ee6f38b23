"""The numbers of a plot: checked, with their range, their place on an axis, and where the axis is marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

MOST_POINTS = 50_000
LARGEST = 1e300
"""So that differences of two numbers are numbers."""
_FACTORS = (1, 2, 5, 10, 20)

_SMALLEST, _LARGEST, _FINEST = -4, 6, -9
"""Powers of ten between which a number is written out."""


def need_series(x: Sequence[float], y: Sequence[float]) -> None:
    """Check the points of a plot.

    Raises:
        ValueError: There are none, too many, not as many of one as of the other, or numbers that are too large.
    """
    need_numbers(x, name="x")
    need_numbers(y, name="y")
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} numbers and y {len(y)}; each point needs both")


def need_numbers(numbers: Sequence[float], *, name: str) -> None:
    """Check one list of numbers.

    Raises:
        ValueError: It is empty, too long, or has numbers that are too large.
    """
    if not numbers:
        raise ValueError(f"{name} is empty; give at least one number")
    if len(numbers) > MOST_POINTS:
        raise ValueError(f"{name} has {len(numbers)} numbers; at most {MOST_POINTS} are drawn")
    if not all(-LARGEST <= number <= LARGEST for number in numbers):
        raise ValueError(f"{name} has a number beyond {LARGEST:g}; scale it down")


@dataclass(frozen=True, slots=True)
class Axis:
    """From where to where an axis goes."""

    low: float
    high: float

    @staticmethod
    def over(numbers: Sequence[float]) -> Axis:
        """An axis that holds all of these, with some room where they are all the same."""
        low, high = float(min(numbers)), float(max(numbers))
        room = 0.0 if low < high else (abs(low) * 0.5 or 0.5)
        return Axis(low - room, high + room)

    def place(self, number: float, *, steps: int) -> int:
        """Which of so many steps along the axis a number is at, from 0 on."""
        return round((number - self.low) / (self.high - self.low) * (steps - 1))

    def step(self, most: int) -> Decimal:
        """The smallest round number of which at most so many multiples lie on the axis."""
        span = _exact(self.high) - _exact(self.low)
        power = Decimal(10) ** (span / most).adjusted()
        steps = [power * factor for factor in _FACTORS]
        return next((step for step in steps if len(self._multiples(step)) <= most), steps[-1])

    def widened(self, step: Decimal) -> Axis:
        """The same axis, from one multiple of the step to another."""
        low, high = math.floor(_exact(self.low) / step), math.ceil(_exact(self.high) / step)
        return Axis(float(low * step), float(high * step))

    def marks(self, step: Decimal) -> list[tuple[float, str]]:
        """The multiples of a step on the axis, and how they are written."""
        return [(float(at * step), _written(at * step, step)) for at in self._multiples(step)]

    def _multiples(self, step: Decimal) -> range:
        return range(math.ceil(_exact(self.low) / step), math.floor(_exact(self.high) / step) + 1)


def _exact(number: float) -> Decimal:
    """As it is written: the binary fraction behind 0.1 is a little more, and would not lie on a tenth."""
    return Decimal(repr(number))


def _written(number: Decimal, step: Decimal) -> str:
    """As short as it can be told apart from its neighbours."""
    if number == 0:
        return "0"
    if _SMALLEST <= number.adjusted() <= _LARGEST and step.adjusted() >= _FINEST:
        return f"{number:.{max(-step.adjusted(), 0)}f}"
    mantissa, _, power = f"{number:.{max(number.adjusted() - step.adjusted(), 0)}e}".partition("e")
    short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{short}e{int(power)}" if int(power) else short
