"""matrix_solve, matrix_eigenvalues and matrix_svd: dense linear algebra on matrices of a bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callgate.adapters.function import tool
from callgate.tools.schemas import fields

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LARGEST = 500
"""Rows and columns; a dense decomposition takes the cube of it."""

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
        scaled, rows, columns = _scaled(matrix)
        # A matrix that is singular but for rounding gives numbers without meaning.
        if not 1 / np.linalg.cond(scaled) > np.finfo(np.float64).eps:
            raise ValueError(
                "A is singular, or too near to it for 64-bit floats: its equations have no single solution"
            )
        x = np.ldexp(np.linalg.solve(scaled, np.ldexp(right, rows)), columns)
        # In parts of the largest: a square of what is very large or small is no float any more.
        scale = float(np.abs(right).max()) or 1.0
        error = float(np.linalg.norm((matrix @ x - right) / scale)) / (float(np.linalg.norm(right / scale)) or 1.0)
    _check_finite(x, error)
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

    matrix = _matrix(A)
    try:
        u, values, transposed = np.linalg.svd(matrix, full_matrices=full)
    except np.linalg.LinAlgError:
        raise ValueError("A has singular values that could not be found; scale its numbers") from None
    _check_finite(values)
    smallest = values.max() * max(matrix.shape) * np.finfo(np.float64).eps
    return {
        "singular_values": values.tolist(),
        "U": u.tolist(),
        "V": transposed.T.tolist(),
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
