"""matrix_solve, matrix_eigenvalues and matrix_svd: dense linear algebra on matrices of a bounded size."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from callgate.adapters.function import tool
from callgate.tools.schemas import fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    _Split: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32]]
    """Numbers as parts of a power of two, as `frexp` has them: they may be larger or smaller than floats."""

LARGEST = 500
"""Rows and columns; a dense decomposition takes the cube of it."""
_LAYER = 512
"""Powers of two that are solved for at once: half of what a float has below 1."""
_LEAST = -3000
"""A power of two that no product of two floats is as small as."""
_HELD, _WRONG = 1e-12, 1e-6
"""What an equation may be off by, in parts of its terms: from here on x is refined, from there on refused."""
_REFINEMENTS = 40
"""Each finds some 16 digits more; floats have 633 places."""

_NUMBERS = {"type": "array", "items": {"type": "number"}}
_ROWS = {"type": "array", "items": _NUMBERS}
_COMPLEX = {
    "anyOf": [
        {"type": "number"},
        {
            "type": "object",
            "properties": {"re": {"type": "number"}, "im": {"type": "number"}},
            "required": ["re", "im"],
            "additionalProperties": False,
        },
    ]
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=fields({"x": _NUMBERS, "relative_error": {"type": "number"}}),
    examples=[{"A": [[3, 1], [1, 2]], "b": [9, 8]}],
)
def matrix_solve(A: list[list[float]], b: list[float]) -> dict[str, Any]:  # noqa: N803 - mathematics' own name
    """Solve the linear equations A x = b.

    Args:
        A: A square matrix, as a list of rows; at most 500 of them.
        b: One number per row.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    matrix = _square(A)
    right = np.asarray(b, dtype=np.float64)
    if right.size != len(matrix):
        raise ValueError(f"b has {right.size} numbers and A has {len(matrix)} rows; give one number per row")
    with np.errstate(all="ignore"):
        x = _solution(matrix, right)
        _check_finite(x)
        if not _off(matrix, right, x=x).max() <= _WRONG:
            raise ValueError(
                "A is too near to a singular matrix for 64-bit floats: no solution holds in every equation"
            )
        error = _error(matrix, right, x=x)
    _check_finite(error)
    return {"x": x.tolist(), "relative_error": error}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=fields(
        {"eigenvalues": {"type": "array", "items": _COMPLEX}},
        {"eigenvectors": {"type": "array", "items": {"type": "array", "items": _COMPLEX}}},
    ),
    examples=[{"A": [[2, 0], [0, 3]]}, {"A": [[0, -1], [1, 0]], "vectors": True}],
)
def matrix_eigenvalues(A: list[list[float]], vectors: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002, N803 - a tool's parameters
    """Find the eigenvalues of a square matrix; those that are not real are `{"re": …, "im": …}`.

    Args:
        A: A square matrix, as a list of rows; at most 500 of them.
        vectors: Also give eigenvectors of length 1, one per eigenvalue, in the same order.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    matrix = _square(A)
    symmetric = bool(np.array_equal(matrix, matrix.T))
    try:
        found: Any = np.linalg.eigh(matrix) if symmetric else np.linalg.eig(matrix)
    except np.linalg.LinAlgError:
        raise ValueError("A has eigenvalues that could not be found; scale its numbers") from None
    values, columns = found
    order = np.lexsort((values.imag, values.real))
    _check_finite(values.real, values.imag)
    given: dict[str, Any] = {"eigenvalues": [_number(value) for value in values[order]]}
    if vectors:
        given["eigenvectors"] = [[_number(item) for item in columns[:, at]] for at in order]
    return given


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    output_schema=fields({"singular_values": _NUMBERS, "U": _ROWS, "V": _ROWS, "rank": {"type": "integer"}}),
    examples=[{"A": [[3, 0], [0, 4], [0, 0]]}],
)
def matrix_svd(A: list[list[float]], full: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002, N803 - a tool's parameters
    """Find the singular values of a matrix, and U and V with A = U · diag(singular_values) · Vᵀ.

    Args:
        A: A matrix, as a list of rows of one length; at most 500 rows and 500 columns.
        full: Give U and V as square matrices.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    from callgate.tools.maths.singular_values import decomposed  # noqa: PLC0415

    matrix = _matrix(A)
    try:
        with np.errstate(all="ignore"):
            u, values, v = decomposed(matrix, full=full)
    except np.linalg.LinAlgError:
        raise ValueError("A has singular values that could not be found; scale its numbers") from None
    _check_finite(values)
    smallest = values.max() * (max(matrix.shape) * np.finfo(np.float64).eps)
    return {
        "singular_values": values.tolist(),
        "U": u.tolist(),
        "V": v.tolist(),
        "rank": int((values > smallest).sum()),
    }


def _matrix(rows: list[list[float]]) -> NDArray[np.float64]:
    import numpy as np  # noqa: PLC0415 - an extra

    if not rows or not rows[0]:
        raise ValueError("A is empty; give a list of rows, as in [[3, 1], [1, 2]]")
    width = len(rows[0])
    if any(len(row) != width for row in rows):
        raise ValueError("A has rows of different lengths; give each row as many numbers")
    if max(len(rows), width) > LARGEST:
        raise ValueError(f"A is larger than {LARGEST} by {LARGEST}; give a smaller matrix")
    return np.asarray(rows, dtype=np.float64)


def _square(rows: list[list[float]]) -> NDArray[np.float64]:
    matrix = _matrix(rows)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"A is not square: it has {matrix.shape[0]} rows and {matrix.shape[1]} columns")
    return matrix


def _solution(matrix: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """The x of `matrix @ x = right`."""
    import numpy as np  # noqa: PLC0415 - an extra

    scaled, rows, columns = _scaled(matrix)
    # A matrix that is singular but for rounding gives numbers without meaning.
    if not 1 / np.linalg.cond(scaled) > np.finfo(np.float64).eps:
        raise ValueError("A is singular, or too near to it for 64-bit floats: its equations have no single solution")

    def solved(side: _Split) -> NDArray[np.float64]:
        sides, sizes = _layers(side, rows)
        parts = np.linalg.solve(scaled, sides)
        return np.ldexp(parts, columns[:, np.newaxis] + sizes).sum(axis=1)

    x = solved(np.frexp(right))
    for _ in range(_REFINEMENTS):
        # What is small beside another item of x has no digits yet, though an equation may be made of such items alone.
        off = _off(matrix, right, x=x)
        if not _HELD < off.max() < math.inf:
            break
        parts, sizes = _residual(matrix, right, x=x)
        # Not those of the others: what they are rounded by is more than all of this one.
        x -= solved((np.where(off > _HELD, parts, 0.0), sizes))
    # What is left of refining towards 0 is smaller than floats with all their digits are.
    bare = np.where(np.abs(x) < np.finfo(np.float64).tiny, 0.0, x)
    return bare if _off(matrix, right, x=bare).max() <= _off(matrix, right, x=x).max() else x


def _layers(side: _Split, rows: NDArray[np.int32]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Right sides that add up to `side` with its rows scaled, as columns, and the power of two that each is short of.

    No float may hold all of what the scaling makes; what is solved for one size after the other, and then added, is
    neither infinite nor lost.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    parts, more = np.frexp(side[0])
    sizes = more + side[1] + rows
    there = parts != 0
    if not there.any():
        return parts[:, np.newaxis], np.zeros(1, dtype=np.int32)
    largest = sizes[there].max()
    depths = np.where(there, (largest - sizes) // _LAYER, 0)
    # The smallest first, as they are added.
    layers = np.unique(depths)[::-1]
    tops = (largest - layers * _LAYER).astype(np.int32)
    chosen = depths[:, np.newaxis] == layers
    return np.where(chosen, np.ldexp(parts[:, np.newaxis], np.where(chosen, sizes[:, np.newaxis] - tops, 0)), 0.0), tops


def _residual(matrix: NDArray[np.float64], right: NDArray[np.float64], *, x: NDArray[np.float64]) -> _Split:
    """What `matrix @ x` is off by, in each row: its terms may be larger than floats, and it is not."""
    import numpy as np  # noqa: PLC0415 - an extra

    parts, sizes = np.frexp(np.column_stack([matrix, -right]))
    others, more = np.frexp(np.append(x, 1.0))
    terms = parts * others
    largest = np.where(terms != 0, sizes + more, _LEAST).max(axis=1).astype(np.int32)
    return np.ldexp(terms, sizes + more - largest[:, np.newaxis]).sum(axis=1), largest


def _off(matrix: NDArray[np.float64], right: NDArray[np.float64], *, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each equation is off by, in parts of its terms: the size of no other one counts."""
    import numpy as np  # noqa: PLC0415 - an extra

    off, sizes = _residual(matrix, right, x=x)
    # An item that is smaller than floats are is none that is wrong.
    held = np.maximum(np.abs(x), np.finfo(np.float64).tiny)
    terms, largest = _residual(np.abs(matrix), -np.abs(right), x=held)
    return np.ldexp(np.abs(off) / terms, sizes - largest)


def _error(matrix: NDArray[np.float64], right: NDArray[np.float64], *, x: NDArray[np.float64]) -> float:
    """What `matrix @ x` is off by, in parts of the right side: of equations that are brought to one size."""
    import numpy as np  # noqa: PLC0415 - an extra

    rows = _scaled(matrix)[1]
    wanted, sizes = np.frexp(right)
    off, more = _residual(matrix, right, x=x)
    unit = int(np.where(wanted != 0, sizes + rows, _LEAST).max())
    return _length(np.ldexp(off, more + rows - unit)) / (_length(np.ldexp(wanted, sizes + rows - unit)) or 1.0)


def _length(items: NDArray[np.float64]) -> float:
    """Of a vector: the square of what is large or small is no float any more."""
    import numpy as np  # noqa: PLC0415 - an extra

    size = _exponent(items)
    return float(np.ldexp(np.linalg.norm(np.ldexp(items, -size)), size))


def _exponent(items: NDArray[np.float64]) -> int:
    """The power of two that all of them lie below, in absolute value."""
    return math.frexp(float(abs(items).max()))[1]


def _scaled(matrix: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.int32]]:
    """The matrix with rows and columns of one size, and the powers of two by which that was done.

    Equations in metres and in light years are as easy to solve: what is small next to others is not singular.
    """
    import numpy as np  # noqa: PLC0415 - an extra

    rows = -np.frexp(np.abs(matrix).max(axis=1))[1]
    scaled = np.ldexp(matrix, rows[:, np.newaxis])
    columns = -np.frexp(np.abs(scaled).max(axis=0))[1]
    return np.ldexp(scaled, columns), rows, columns


def _number(value: Any) -> float | dict[str, float]:
    number = complex(value)
    return {"re": number.real, "im": number.imag} if number.imag else number.real


def _check_finite(*results: Any) -> None:
    import numpy as np  # noqa: PLC0415 - an extra

    if not all(np.isfinite(result).all() for result in results):
        raise ValueError("A has numbers too large to compute with; scale them")
