"""The singular values of a matrix with their vectors, of each part of it by itself that shares no number with another.

One decomposition of all of it loses what is too small beside the largest number, also where the two never meet.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Floats: TypeAlias = NDArray[np.float64]
    _Places: TypeAlias = NDArray[np.intp]

_HIGH = 450
"""A power of two: LAPACK itself brings down what is larger, and beside it there is room for the smallest numbers."""


def decomposed(matrix: _Floats, *, full: bool) -> tuple[_Floats, _Floats, _Floats]:
    """U, the singular values and V; U and V are square where they are wanted `full`.

    Raises:
        numpy.linalg.LinAlgError: They could not be found.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    if matrix.all():
        return _whole(matrix, full=full)
    count = min(matrix.shape)
    parts = [(places, _whole(matrix[np.ix_(*places)], full=True)) for places in _parts(matrix)]
    found = np.concatenate([values for _, (_, values, _) in parts])
    order = np.argsort(-found, kind="stable")
    lefts, rights = (
        _joined(size, [(places[side], vectors[2 * side], vectors[1].size) for places, vectors in parts], order=order)
        for side, size in enumerate(matrix.shape)
    )
    values = np.append(found[order], np.zeros(count - found.size))
    return (lefts, values, rights) if full else (lefts[:, :count], values, rights[:, :count])


def _whole(matrix: _Floats, *, full: bool) -> tuple[_Floats, _Floats, _Floats]:
    import numpy as np  # noqa: PLC0415 - an extra

    size = math.frexp(float(np.max(np.abs(matrix), initial=0)))[1] - _HIGH
    u, values, transposed = np.linalg.svd(np.ldexp(matrix, -size), full_matrices=full)
    return u, np.ldexp(values, size), transposed.T


def _parts(matrix: _Floats) -> Iterator[tuple[_Places, _Places]]:
    """The rows and the columns of each; a row of zeros is one without columns."""
    import numpy as np  # noqa: PLC0415 - an extra

    graphs: Any = importlib.import_module("scipy.sparse.csgraph")
    height, width = matrix.shape
    meets = np.zeros((height + width, height + width), dtype=np.bool_)
    meets[:height, height:] = matrix != 0
    count, labels = graphs.connected_components(meets, directed=False)
    for label in range(count):
        yield np.flatnonzero(labels[:height] == label), np.flatnonzero(labels[height:] == label)


def _joined(size: int, parts: list[tuple[_Places, _Floats, int]], *, order: _Places) -> _Floats:
    """The vectors of all parts at their places: those with a singular value in this order, and then the others."""
    import numpy as np  # noqa: PLC0415 - an extra

    paired, spare = [np.zeros((size, 0))], [np.zeros((size, 0))]
    for places, vectors, count in parts:
        there = np.zeros((size, len(vectors)))
        there[places] = vectors
        paired.append(there[:, :count])
        spare.append(there[:, count:])
    return np.hstack([np.hstack(paired)[:, order], *spare])
