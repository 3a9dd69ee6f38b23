"""optimize: what it says has converged is a lowest or highest point, and not only level ground. TOOL-11."""

from __future__ import annotations

import pytest

from callgate.model.levels import Category
from tests.tools.maths.asking import ask

METHODS = ["nelder_mead", "powell", "cg", "bfgs", "l_bfgs_b"]

FOUND: dict[str, tuple[str, str, float]] = {
    "level": ("1e-6*(x - 5)**2", "minimize", 5),
    "more level": ("1e-12*(x - 5)**2", "minimize", 5),
    "level beside a larger number": ("1e-6*(x - 5)**2 + 0.001", "minimize", 5),
    "on a hill": ("1 - x**2 + (x/2)**4", "minimize", 8**0.5),
    "in a valley": ("x**2 - x**4", "maximize", 0.5**0.5),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", FOUND)
async def test_a_start_on_level_ground_is_no_optimum(kind: str, method: str) -> None:
    expression, mode, best = FOUND[kind]
    found = (await ask("optimize", x0=[0], objective={"expression": expression}, method=method, mode=mode)).unwrap()
    assert abs(found["x"][0]) == pytest.approx(best, abs=0.02)
    assert found["converged"]


@pytest.mark.parametrize("method", METHODS)
async def test_a_saddle_is_left_for_what_lies_below_it(method: str) -> None:
    """Along both axes it is level."""
    saddle = {"expression": "x0*x1 + 0.1*(x0**4 + x1**4)"}
    found = (await ask("optimize", x0=[0, 0], objective=saddle, method=method)).unwrap()
    assert found["f"] == pytest.approx(-1.25)
    assert found["converged"]


@pytest.mark.parametrize("method", METHODS)
async def test_the_lowest_point_is_not_told_as_the_highest(method: str) -> None:
    outcome = await ask("optimize", x0=[0], objective={"expression": "x**2"}, method=method, mode="maximize")
    if not outcome.ok:
        assert outcome.error.category is Category.USER_INPUT
        assert "its values grow without end" in str(outcome) or "nothing to end at" in str(outcome)
        return
    assert not outcome.unwrap()["converged"]


@pytest.mark.parametrize("method", METHODS)
async def test_what_has_bounds_is_not_said_to_grow_without_end(method: str) -> None:
    """Its slope at the start is one of 1e-173: a search that is scaled by that leads to no number."""
    dip = {"expression": "-exp(-(x - 20)**2)"}
    found = (await ask("optimize", x0=[0], objective=dip, method=method)).unwrap()
    assert found["converged"] == (found["x"] == [pytest.approx(20, abs=1e-4)])


@pytest.mark.parametrize("method", [method for method in METHODS if method != "cg"])
async def test_a_local_optimum_is_one_whatever_lies_behind_the_hill(method: str) -> None:
    """All but cg claim it: that one ends where its search along a line finds no step, and says no success of it."""
    waves = {"expression": "0.1*x + sin(1000*x)"}
    found = (await ask("optimize", x0=[0], objective=waves, method=method)).unwrap()
    assert found["converged"]


@pytest.mark.parametrize("method", ["cg", "bfgs"])
async def test_where_it_goes_on_downhill_however_often_a_search_begins_again_nothing_converged(method: str) -> None:
    """These take each place for level ground, so that only the steps between them lead on: six of a hundredth."""
    slope = {"expression": "1e-9*floor(x)**2 + 1e-9*abs(x - 3)"}
    found = (await ask("optimize", x0=[0], objective=slope, method=method)).unwrap()
    assert found["x"] == [pytest.approx(0.06)]
    assert found["f"] == pytest.approx(2.94e-9)
    assert not found["converged"]


async def test_a_point_close_by_that_is_better_shows_that_nothing_converged() -> None:
    """Its iterations are used up on level ground."""
    level = {"expression": "1e-6*(x0 - 5)**2 + 1e-8*(x1 + 5)**4"}
    found = (await ask("optimize", x0=[0, 0], objective=level, method="bfgs", max_iter=1)).unwrap()
    assert not found["converged"]
    assert found["iterations"] == 1


NARROW: dict[str, tuple[str, list[float], float]] = {
    "near for so large a number": ("1e-4*(x - 2e6)**2", [2e6 + 0.04], 1e-7),
    "at the foot of a peak far from 0": ("1e-6 - 1e-6/(1 + 100*(x0 - 1e4)**2 + (x1 - 1e4)**2)", [9999.5, -1], 1e-6),
    "along a kink": ("50*abs(x0 - x1) + abs(x0 - 1)", [4, 4], 1),
    "along a kink that no diagonal meets": ("200*abs(x0 - 3*x1) + abs(x0)", [6, 2], 1),
    "along a bend": ("1e8*(x1 - x0**2)**2 + (2 - x0)**2", [-1, 1], 1),
    "along a bend below a high slope": ("1e8*(x1 - x0**2)**2 + (1 - x0)**2", [-1, 10], 1),
}
"""Each with its start, and what is high in it; the lowest value is 0."""


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", NARROW)
async def test_what_goes_down_a_narrow_valley_has_not_converged(kind: str, method: str) -> None:
    expression, start, high = NARROW[kind]
    found = (await ask("optimize", x0=start, objective={"expression": expression}, method=method)).unwrap()
    assert not found["converged"] or found["f"] < high / 1000


ENDLESS: dict[str, tuple[str, float]] = {
    "to minus infinity at 0": ("log(x)", 1),
    "to minus infinity at an edge that is not 0": ("log(x - 5)", 7),
    "to minus infinity on one side of a pole": ("-1/x", 1),
    "ever slower to 0": ("1/x", 1),
    "faster to 0": ("exp(-x)", 0),
    "to another number": ("1 + 1/x", 1),
    "faster to another number": ("exp(-x) + 1", 0),
    "to that from far": ("2**-x + 5", 15),
    "fastest": ("exp(-x**2) + 3", 0.5),
    "of a quotient": ("x/(1 + abs(x))", 0),
    "between two levels": ("-tanh(x)", 0),
    "to a formula that is rounded": ("log(1 + exp(x))", 3),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ENDLESS)
async def test_what_goes_on_downhill_has_not_converged(kind: str, method: str) -> None:
    """Its slope, or what is left of the way to the edge, is less than what a method ends at."""
    expression, start = ENDLESS[kind]
    outcome = await ask("optimize", x0=[start], objective={"expression": expression}, method=method)
    if not outcome.ok:
        assert outcome.error.category is Category.USER_INPUT
        return
    assert not outcome.unwrap()["converged"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("expression", ["exp(-x0) + x1**2", "exp(-x0 - x1) + 1", "(x1 - 1)**2 + 1/(1 + x0**2) + 1"])
async def test_nor_has_it_where_one_variable_of_two_goes_on(expression: str, method: str) -> None:
    found = (await ask("optimize", x0=[1, 3], objective={"expression": expression}, method=method)).unwrap()
    assert not found["converged"]


FLAT: dict[str, tuple[str, list[float]]] = {
    "between two slopes": ("max(abs(x) - 1, 0)", [5]),
    "beyond an edge": ("max(1 - x, 0)", [-3]),
    "beyond an edge, above 0": ("max(1 - x, 0) + 1", [-1e5]),
    "beyond a bend": ("max(1 - x, 0)**4 + 1", [-1000]),
    "beyond a fast slope": ("max(exp(x) - 1, 0) + 1", [10]),
    "beyond a jump": ("1 if x > 2 else 3 - x", [0]),
    "beyond stairs": ("floor(10*exp(-x))", [0]),
    "beyond an edge along one axis": ("max(1 - x0, 0) + (x1 - 2)**2", [-3, 0]),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", FLAT)
async def test_a_flat_bottom_is_one(kind: str, method: str) -> None:
    """Floats tell no more of it than of what is level only to them, but for how it is come to."""
    expression, start = FLAT[kind]
    found = (await ask("optimize", x0=start, objective={"expression": expression}, method=method)).unwrap()
    assert found["converged"]


@pytest.mark.parametrize("method", ["nelder_mead", "powell", "bfgs", "l_bfgs_b"])
async def test_a_bottom_far_away_is_one(method: str) -> None:
    """All but cg find it: that one goes too far at first."""
    found = (await ask("optimize", x0=[1000], objective={"expression": "(x - 3)**4"}, method=method)).unwrap()
    assert found["converged"]
    assert found["x"] == [pytest.approx(3, abs=1e-3)]


AT_LAST: dict[str, tuple[str, float, float]] = {
    "at the edge of where it has values": ("sqrt(x)", 1, 0),
    "at a kink": ("abs(x - 3)", 1, 3),
    "at a value that is lost in rounding": ("x**4 - 4*x**3 + 6*x**2 - 4*x + 1", 0, 1),
    "at one that is 0": ("x**4", 1, 0),
}


@pytest.mark.parametrize("method", ["nelder_mead", "powell"])
@pytest.mark.parametrize("kind", AT_LAST)
async def test_what_is_as_low_as_floats_tell_has_converged(kind: str, method: str) -> None:
    expression, start, best = AT_LAST[kind]
    found = (await ask("optimize", x0=[start], objective={"expression": expression}, method=method)).unwrap()
    assert found["converged"]
    assert found["x"] == [pytest.approx(best, abs=1e-3)]


@pytest.mark.parametrize("method", METHODS)
async def test_a_formula_of_one_value_has_its_optimum_anywhere(method: str) -> None:
    found = (await ask("optimize", x0=[3], objective={"expression": "7"}, method=method)).unwrap()
    assert (found["f"], found["converged"]) == (7, True)
