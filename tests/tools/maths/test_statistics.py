"""statistics, and the figures in formulas: exact of whole numbers, right of small, large and close ones. TOOL-11."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tools.maths.asking import ask, refusal

FIGURES: list[tuple[list[float], dict[str, float]]] = [
    ([2**53, 2**53 + 2], {"mean": 2**53 + 1, "median": 2**53 + 1, "q25": 2**53, "iqr": 1}),
    ([2**60 + 3, 2**60 - 1, 2**60 + 1], {"median": 2**60 + 1, "iqr": 2, "min": 2**60 - 1}),
    ([1, 2, 3, 4], {"q25": 1.75, "median": 2.5, "q75": 3.25, "iqr": 1.5}),
    ([10**299, 3 * 10**299], {"std": 1e299, "median": 2 * 10**299}),
    ([1e-200, 3e-200], {"std": 1e-200, "mean": 2e-200, "iqr": 1e-200}),
    ([1e200, 3e200], {"std": 1e200, "mean": 2e200}),
    ([1e-150, 3e-150], {"var": 1e-300}),
    ([1.5e308, 1.5e308, 1.5e308], {"mean": 1.5e308, "std": 0, "median": 1.5e308}),
    ([1.5e308, 1.5e308, -1.5e308], {"sum": 1.5e308, "median": 1.5e308, "mean": 5e307}),
    ([-1.5e308, 1.5e308], {"median": 0, "iqr": 1.5e308, "std": 1.5e308}),
    ([5e-324, 5e-324], {"mean": 5e-324, "median": 5e-324, "std": 0}),
    ([0.0, 0.0], {"mean": 0, "median": 0, "std": 0, "sum": 0}),
    ([4e15, 4e15 + 0.5, 4e15 + 0.5, 4e15 + 1], {"std": 0.125**0.5, "var": 0.125, "iqr": 0.25}),
    ([1e16, 0.1, 0.2, 0.3, 0.4], {"iqr": 0.2, "median": 0.3}),
    ([0.1, 0.1, 0.1], {"std": 0, "var": 0}),
    ([1e-300, 1e-300, 1e300], {"median": 1e-300, "q25": 1e-300, "min": 1e-300}),
    ([2.5, 2.5, 1.7e308], {"median": 2.5, "q25": 2.5}),
    ([1e-300, 2e-300, 3e-300, 4e-300, 1e300], {"iqr": 2e-300}),
    ([1e300, 3e-20, -1e300], {"sum": 3e-20, "mean": 1e-20}),
    ([1.7e308, 1.7e308, 3e-320, -1.7e308, -1.7e308], {"sum": 3e-320, "median": 3e-320}),
    ([2**53 + 1, 2**53 + 1, 0.5], {"max": 2**53 + 1, "median": 2**53 + 1}),
    ([2**60 + 1, 2**60 + 3, 2**60 + 3, 2.0**60], {"std": 1.6875**0.5, "iqr": 2.25, "mean": 2.0**60, "var": 1.6875}),
]


@pytest.mark.parametrize(("data", "figures"), FIGURES, ids=[str(data)[:40] for data, _ in FIGURES])
async def test_figures_are_right_whatever_the_size_of_the_numbers(data: list[float], figures: dict[str, float]) -> None:
    """TOOL-11."""
    found: dict[str, Any] = (await ask("statistics", data=data, metrics=list(figures))).unwrap()
    for name, value in figures.items():
        # Whole numbers are compared with all their digits.
        exact = isinstance(value, int) and name != "iqr"
        assert found[name] == (value if exact else pytest.approx(value, rel=1e-12, abs=0)), name


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("norm([3e-200, 4e-200])", 5e-200),
        ("norm([3e200, 4e200])", 5e200),
        ("norm([3, 4])", 5),
        ("norm([])", 0),
        ("std([1e-200, 3e-200])", 1e-200),
        ("std([1e200, 3e200], ddof=1)", 2**0.5 * 1e200),
        ("median([2**53, 2**53 + 2])", 2**53 + 1),
        ("percentile([0, 2**55], 25)", 2**53),
        ("quantile([2**70, 2**70 + 4], 1/4)", 2**70 + 1),
        ("sum([1e300, 1e-20, -1e300])", 1e-20),
        ("sum([2**53 + 1, 0.5])", 2**53 + 2),
        ("sum([10**400, 0.5, 0 - 10**400])", 0.5),
        ("mean([2**53 + 1, 2**53 + 1, 2**53 + 4, 0.0])", 0.75 * 2**53 + 1.5),
        ("median([10**400, 10**400, 0.5])", 10**400),
        ("median([10**400, 0.5, 1.5])", 1.5),
        ("percentile(0.5 * np.arange(101), 29)", 14.5),
        ("quantile([0 - 1.5e308, 1.5e308], 0.75)", 0.75e308),
    ],
)
async def test_formulas_have_the_same_figures(expression: str, value: float) -> None:
    """TOOL-11."""
    found = (await ask("calculate", expression=expression)).unwrap()
    assert found == (value if isinstance(value, int) else pytest.approx(value, rel=1e-12, abs=0))


@pytest.mark.parametrize(
    "expression", ["median([inf - inf, 1.5, 2.5])", "sum([inf, 2**53 + 1])", "median([0 - inf, inf])"]
)
async def test_what_is_no_number_has_no_figures(expression: str) -> None:
    assert "the result is" in await refusal("calculate", expression=expression)


async def test_a_figure_that_no_float_holds_is_refused_only_where_it_is_wanted() -> None:
    data = [10**299 + 1, 1.7e308, 1.7e308, 0.5]
    assert (await ask("statistics", data=data, metrics=["mean"])).unwrap() == {"mean": pytest.approx(8.5e307)}
    assert "data is too large for sum" in await refusal("statistics", data=data, metrics=["mean", "sum"])


async def test_figures_that_no_float_holds_are_refused() -> None:
    assert "too large for var" in await refusal("statistics", data=[1e200, 3e200], metrics=["std", "var"])
    assert "too large for sum" in await refusal("statistics", data=[1e308, 1e308], metrics=["mean", "sum"])
    assert "too large for iqr" in await refusal("statistics", data=[-1e308, -1e308, 1e308, 1e308], metrics=["iqr"])
    assert "too large for a float" in await refusal("calculate", expression="norm([1.7e308, 1.7e308])")
    assert "too large for a float" in await refusal("calculate", expression="sum([10**400, 0.5])")
    assert "too large for a float" in await refusal("calculate", expression="median([10**400, 10**400 + 1])")


@pytest.mark.parametrize(
    ("data", "mean"),
    [
        ([0.1, 0.1, 0.1], 0.1),
        ([3.3, 3.3, 3.3], 3.3),
        ([1.1, 2.2, 3.3], 2.2),
        ([1e16, 1.0, -1e16], 1 / 3),
        ([1e308] * 3, 1e308),
    ],
)
async def test_a_mean_is_rounded_once(data: list[float], mean: float) -> None:
    """TOOL-11: that of equal numbers is no other, and none lies outside of them."""
    assert (await ask("statistics", data=data, metrics=["mean"])).unwrap() == {"mean": mean}
