"""Vectors: what every model of texts gives, and how near two of them are."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Protocol

from callgate.model.tool_context import ToolContext

Vector = Sequence[float]
_SHARPNESS = 10.0
"""How much a difference counts. The similarities of a text to several words lie close together, whatever the model."""


class Embedder(Protocol):
    """Makes vectors of texts."""

    async def embed(self, texts: Sequence[str], ctx: ToolContext) -> list[Vector]:
        """One vector of length 1 for each text, in their order and all of one dimension.

        Raises:
            OSError: The model cannot be used, or its server not be asked.
        """
        ...


def unit(vector: Iterable[float]) -> Vector | None:
    """The same direction at length 1; None where there is no direction."""
    numbers = list(vector)
    length = math.hypot(*numbers)
    return [number / length for number in numbers] if 0 < length < math.inf else None


def similarity(one: Vector, other: Vector) -> float:
    """The cosine between two vectors of length 1, from -1 to 1."""
    return min(1.0, max(-1.0, sum(map(operator.mul, one, other))))


def shares(similarities: Sequence[float]) -> list[float]:
    """Similarities as parts of 1, the largest for the nearest."""
    best = max(similarities)
    weights = [math.exp((each - best) * _SHARPNESS) for each in similarities]
    return [weight / sum(weights) for weight in weights]
