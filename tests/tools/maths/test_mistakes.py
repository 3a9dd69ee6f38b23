"""What is said of an expression that means something else than it would be read as, or cannot be read. TOOL-08."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.maths.asking import ask, refusal

MEANT_OTHERWISE: list[tuple[str, list[str]]] = [
    ("12,500 * 2", ["comma outside of brackets, at ',500 * 2'", "write 12500, or [12, 500] for a list"]),
    ("1,000 + 1", ["comma outside of brackets", "at ',000 + 1'; write 1000"]),
    ("2 * 1,234,567.5", ["write 1234567.5"]),
    ("3,5 + 1", ["comma outside of brackets, at ',5 + 1'", "write 3.5, or [3,5 + 1] for a list"]),
    ("sqrt(2), sqrt(3)", ["write [sqrt(2), sqrt(3)] for a list"]),
    ("1, 2", ["write [1, 2] for a list"]),
    ("1 + 2 + 3 + 4 + 5 + 6 + 7, 8", ["at ', 8'", "write [1, 2] for a list"]),
    ("sum([1,000, 2])", ["zeros in front of a number, at '000, 2])'", "write 0 (or, for one number, 1000)"]),
    ("max(1,050.5, 3)", ["write 50.5 (or, for one number, 1050.5)"]),
    ("007 + 1", ["zeros in front of a number, at '007 + 1'; write 7"]),
    ("00", ["write 0"]),
    ("10% + 5", ["at '10% + 5'", "write 0.10 for 10 percent, or 10 % (+5) for the remainder"]),
    ("200 - 12.5%-(3)", ["write 0.125 for 12.5 percent", "12.5 % (-…) for the remainder"]),
]


@pytest.mark.parametrize(("expression", "said"), MEANT_OTHERWISE, ids=[text for text, _ in MEANT_OTHERWISE])
async def test_what_would_be_computed_otherwise_than_meant_is_refused(expression: str, said: list[str]) -> None:
    told = await refusal("calculate", expression=expression)
    assert [part for part in said if part not in told] == [], told


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(1, 2)", [1, 2]),
        ("[12, 500]", [12, 500]),
        ("max(12,500)", 500),
        ("1e-05 + 1E007", 1e7 + 1e-5),
        ("0x00ff + 1_000 + 0.05 + .0", 1255.05),
        ("10 % -3 + 7 % 4 - 10%(+7)", -2),
        ("1.05 + 10.05", 11.1),
    ],
)
async def test_what_is_written_so_that_it_means_one_thing_is_computed(expression: str, value: Any) -> None:
    assert (await ask("calculate", expression=expression)).unwrap() == pytest.approx(value)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("monte_carlo", {"expression": "x + 1,5"}),
        ("symbolic_solve", {"equation": "x = 1,5"}),
        ("solve_ode", {"y0": [1, 0], "t_span": [0, 1], "system": "y1, -y0"}),
        ("optimize", {"x0": [1], "objective": {"expression": "x0**2 + 1,000"}}),
        ("mcmc", {"x0": [1], "log_density": "-x0**2 / 1,5"}),
        ("bayesopt", {"bounds": [[0, 1]], "objective": "-x0**2 + 1,5"}),
    ],
)
async def test_a_comma_without_brackets_is_refused_in_every_formula(tool: str, arguments: dict[str, Any]) -> None:
    assert "has a comma outside of brackets" in await refusal(tool, **arguments)
