"""matrix_solve, matrix_eigenvalues and matrix_svd: known answers, shapes that are none, and limits. TOOL-11."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from callgate.tools.maths import matrices
from tests.tools.maths.asking import ask, refusal


async def test_linear_equations_are_solved() -> None:
    """TOOL-11: the known vector."""
    found = (await ask("matrix_solve", A=[[3, 1], [1, 2]], b=[9, 8])).unwrap()
    assert found["x"] == pytest.approx([2, 3])
    assert found["relative_error"] < 1e-12
    assert (await ask("matrix_solve", A=[[2]], b=[0])).unwrap() == {"x": [0.0], "relative_error": 0.0}


SCALED: dict[str, tuple[Any, list[float], list[float]]] = {
    "small-row": ([[1, 0], [0, 1e-20]], [1, 1], [1, 1e20]),
    "large-row": ([[2e200, 1e200], [1, 1]], [3e200, 2], [1, 1]),
    "small-column": ([[1, 1e-30], [1, 2e-30]], [2, 3], [1, 1e30]),
    "ends-of-floats": ([[1e308, 1e308], [1e-308, -1e-308]], [1e308, 0], [0.5, 0.5]),
    "large-row-and-small-right-side": ([[1e300, 1], [1, 0]], [1e-30, 0], [0, 1e-30]),
    "digits-of-the-right-side": ([[1e300, 1], [1, 0]], [1.23456789e-20, 0], [0, 1.23456789e-20]),
    "apart-by-more-than-a-float": ([[1e300, 0], [0, 1e-300]], [1, 1], [1e-300, 1e300]),
    "solutions-apart-by-more-than-a-float": (
        [[1, 0, 0], [0, 1, 1e-200], [0, 1, 2e-200]],
        [1e300, 1e-100, 2e-100],
        [1e300, 0, 1e100],
    ),
    "terms-beyond-floats": ([[1e300, 1e300], [1, 2]], [0, -1e10], [1e10, -1e10]),
    "small-everywhere": ([[1e-300, 2e-300], [3e-300, -1e-300]], [5e-300, 1e-300], [1, 2]),
    "small-beside-another-in-the-solution": ([[1, -(2.0**-180)], [-1.5, 1]], [0, 2], [2.0**-179, 2]),
    "nothing-beside-another-in-the-solution": ([[3, 0, 0], [7, 2, 1], [-9, 1, 3]], [0, 1, 2], [0, 0.2, 0.6]),
    "smaller-than-floats-in-the-solution": ([[1e300, 1e-300], [0, 1]], [0, 1], [0, 1]),
    "smallest": ([[5e-324]], [5e-324], [1]),
    "nothing": ([[1e-20]], [0], [0]),
}


@pytest.mark.parametrize("kind", SCALED)
async def test_equations_of_very_different_sizes_are_not_singular(kind: str) -> None:
    rows, right, solution = SCALED[kind]
    found = (await ask("matrix_solve", A=rows, b=right)).unwrap()
    assert found["x"] == pytest.approx(solution, rel=1e-12, abs=0)
    assert found["relative_error"] < 1e-12


async def test_the_error_that_is_told_is_that_of_the_equations_as_they_were_given() -> None:
    hilbert = [[1 / (row + column + 1) for column in range(11)] for row in range(11)]
    right = [math.sin(place) * 1e200 for place in range(11)]
    found = (await ask("matrix_solve", A=hilbert, b=right)).unwrap()
    left = [sum(item * part for item, part in zip(row, found["x"], strict=True)) for row in hilbert]
    largest = max(abs(one - other) for one, other in zip(left, right, strict=True)) / 1e200
    assert largest > 1e-12
    assert 0.1 < found["relative_error"] / largest < 10


FAR_APART: tuple[list[list[float]], list[float]] = ([[8.5e48, -8.7e-19], [-6.6e-96, 8.9e-127]], [0, 7e147])
"""One number of its solution is the 10**67th of the other, and the first equation is about that one."""


async def test_every_number_of_a_solution_has_its_digits_also_the_small_ones() -> None:
    """TOOL-11."""
    (p, q), (r, s) = [[Fraction(item) for item in row] for row in FAR_APART[0]]
    over = Fraction(FAR_APART[1][1]) / (p * s - q * r)
    found = (await ask("matrix_solve", A=FAR_APART[0], b=FAR_APART[1])).unwrap()
    assert found["x"] == pytest.approx([float(-q * over), float(p * over)], rel=1e-12, abs=0)
    assert found["relative_error"] < 1e-12


async def test_a_solution_that_some_equation_does_not_hold_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrices, "_REFINEMENTS", 0)
    assert "no solution holds in every equation" in await refusal("matrix_solve", A=FAR_APART[0], b=FAR_APART[1])


SINGULAR: dict[str, Any] = {
    "dependent-rows": [[1, 2], [2, 4]],
    "zeros": [[0, 0], [0, 0]],
    "dependent-rows-of-different-sizes": [[1e308, 1], [1, 1e-308]],
    "singular-but-for-rounding": [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
}


@pytest.mark.parametrize("kind", SINGULAR)
async def test_a_singular_matrix_is_an_error(kind: str) -> None:
    """TOOL-11."""
    rows = SINGULAR[kind]
    assert "singular" in await refusal("matrix_solve", A=rows, b=[1] * len(rows))


@pytest.mark.parametrize("name", ["matrix_solve", "matrix_eigenvalues"])
async def test_a_matrix_that_is_not_square_is_an_error(name: str) -> None:
    """TOOL-11."""
    more = {"b": [1, 2]} if name == "matrix_solve" else {}
    assert "not square" in await refusal(name, A=[[1, 2, 3], [4, 5, 6]], **more)


NO_MATRIX: dict[str, tuple[list[list[float]], str]] = {
    "no-rows": ([], "empty"),
    "empty-row": ([[]], "empty"),
    "ragged": ([[1, 2], [3]], "different lengths"),
    "large": ([[1.0] * 501] * 501, "larger than 500"),
}


@pytest.mark.parametrize("kind", NO_MATRIX)
async def test_what_is_no_matrix_or_too_large_is_an_input_error(kind: str) -> None:
    rows, said = NO_MATRIX[kind]
    for name, more in (("matrix_solve", {"b": [1]}), ("matrix_eigenvalues", {}), ("matrix_svd", {})):
        assert said in await refusal(name, A=rows, **more)


async def test_other_wrong_input_says_what_is_wrong() -> None:
    assert "one number per row" in await refusal("matrix_solve", A=[[1, 0], [0, 1]], b=[1])
    assert "A" in await refusal("matrix_svd", A=[["a"]])
    assert "too large" in await refusal("matrix_svd", A=[[1e308, 1e308], [1e308, 1e308]])
    assert "too large" in await refusal("matrix_eigenvalues", A=[[1e308, 1e308], [1e308, 1e308]])


async def test_real_eigenvalues_come_in_order_with_their_vectors() -> None:
    found = (await ask("matrix_eigenvalues", A=[[3, 0], [0, 2]], vectors=True)).unwrap()
    assert found["eigenvalues"] == [2.0, 3.0]
    assert [[abs(item) for item in vector] for vector in found["eigenvectors"]] == [[0.0, 1.0], [1.0, 0.0]]
    assert (await ask("matrix_eigenvalues", A=[[2, 1], [0, 3]])).unwrap() == {"eigenvalues": [2.0, 3.0]}


def as_complex(told: Any) -> complex:
    return complex(told["re"], told["im"]) if type(told) is dict else complex(told)  # pyright: ignore[reportUnknownArgumentType]


async def test_complex_eigenvalues_are_told_as_their_parts() -> None:
    """A turn by 90 degrees: A v = λ v holds for what comes back."""
    found = (await ask("matrix_eigenvalues", A=[[0, -1], [1, 0]], vectors=True)).unwrap()
    assert found["eigenvalues"] == [{"re": 0.0, "im": -1.0}, {"re": 0.0, "im": 1.0}]
    for value, vector in zip(found["eigenvalues"], found["eigenvectors"], strict=True):
        number = as_complex(value)
        first, second = (as_complex(part) for part in vector)
        assert abs(-second - number * first) < 1e-12
        assert abs(first - number * second) < 1e-12


async def test_singular_values_and_their_matrices_give_the_matrix_back() -> None:
    rows = [[3, 0], [0, 4], [0, 0]]
    found = (await ask("matrix_svd", A=rows)).unwrap()
    assert found["singular_values"] == pytest.approx([4, 3])
    assert found["rank"] == 2
    again = [
        [
            sum(u * s * v for u, s, v in zip(line, found["singular_values"], column, strict=True))
            for column in found["V"]
        ]
        for line in found["U"]
    ]
    assert [item for line in again for item in line] == pytest.approx([item for row in rows for item in row])
    full = (await ask("matrix_svd", A=rows, full=True)).unwrap()
    assert [len(full["U"]), len(full["U"][0]), len(full["V"])] == [3, 3, 2]
    assert (await ask("matrix_svd", A=[[1, 1], [1, 1]])).unwrap()["rank"] == 1
    assert math.isclose((await ask("matrix_svd", A=[[1, 1], [1, 1]])).unwrap()["singular_values"][0], 2)


APART: dict[str, tuple[list[list[float]], list[float]]] = {
    "as-far-as-floats-go": ([[1e-300, 0], [0, 1e300]], [1e300, 1e-300]),
    "with-all-digits": ([[1e160, 0], [0, 1e-160]], [1e160, 1e-160]),
    "in-blocks": ([[3e-200, 0, -4e-200], [4e-200, 0, 3e-200], [0, 7e200, 0]], [7e200, 5e-200, 5e-200]),
    "nothing-in-a-row-and-a-column": ([[0, 0, 2, 0], [0, 0, 0, 0], [5, 0, 0, 0]], [5, 2, 0]),
    "one-column": ([[0], [3], [4]], [5]),
    "nothing": ([[0, 0, 0]], [0]),
}


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kind", APART)
async def test_singular_values_of_what_shares_no_row_or_column_are_those_of_each(kind: str, full: bool) -> None:
    """TOOL-11."""
    rows, values = APART[kind]
    found = (await ask("matrix_svd", A=rows, full=full)).unwrap()
    assert found["singular_values"] == pytest.approx(values, rel=1e-12, abs=0)
    for name, size in (("U", len(rows)), ("V", len(rows[0]))):
        columns = list(zip(*found[name], strict=True))
        assert (len(columns), len(columns[0])) == (size if full else len(values), size)
        for at, one in enumerate(columns):
            dots = [math.fsum(map(math.prod, zip(one, other, strict=True))) for other in columns]
            assert dots == pytest.approx([float(at == place) for place in range(len(columns))], abs=1e-12)
    again = [
        [math.fsum(map(math.prod, zip(line, found["singular_values"], column))) for column in found["V"]]  # noqa: B905 - of the longer ones the first
        for line in found["U"]
    ]
    assert again == [pytest.approx(row, rel=1e-12, abs=1e-12 * max(map(abs, row))) for row in rows]


LARGE_OR_SMALL: dict[str, tuple[float, int]] = {"large": (1e308, 2), "smallest": (5e-324, 2), "nothing": (0, 0)}


@pytest.mark.parametrize("kind", LARGE_OR_SMALL)
async def test_the_rank_does_not_depend_on_the_size_of_the_numbers(kind: str) -> None:
    size, rank = LARGE_OR_SMALL[kind]
    found = (await ask("matrix_svd", A=[[size, size], [size, -size]])).unwrap()
    assert found["rank"] == rank
    assert found["singular_values"] == pytest.approx([size * math.sqrt(2)] * 2, rel=1e-9, abs=0)
