"""solve_ode, optimize and bayesopt: known answers, limits, and what cannot be solved. TOOL-11."""

from __future__ import annotations

import math
from typing import Any

import pytest

from callgate.tools.maths import odes
from tests.tools.maths.asking import ask, refusal


async def test_decay_has_its_known_end() -> None:
    """TOOL-11: y' = -y/2 from 1 is e^-2.5 after 5."""
    found = (await ask("solve_ode", y0=[1], t_span=[0, 5], system="-0.5*y")).unwrap()
    assert found["t"][0] == 0
    assert found["t"][-1] == 5
    assert found["y"][-1] == pytest.approx([math.exp(-2.5)], rel=1e-4)
    assert found["stats"]["method"] == "RK45"
    assert len(found["y"]) == len(found["t"]) == found["stats"]["steps"] + 1


@pytest.mark.parametrize(
    "how",
    [
        {"system": "[y1, -y0]"},
        {"system": "(y[1], -y[0])"},
        {"system": "np.array([y1, -y0])"},
        {"coefficients": {"A": [[0, 1], [-1, 0]]}},
        {"coefficients": {"A": [[0, 1], [-1, 0]], "b": [0, 0]}},
    ],
    ids=["names", "places", "array", "matrix", "matrix-and-constants"],
)
async def test_an_oscillator_is_written_in_several_ways(how: dict[str, Any]) -> None:
    found = (await ask("solve_ode", y0=[1, 0], t_span=[0, math.pi], **how)).unwrap()
    assert found["y"][-1] == pytest.approx([-1, 0], abs=1e-4)


async def test_time_and_constants_count_and_time_may_run_backwards() -> None:
    assert (await ask("solve_ode", y0=[0], t_span=[0, 2], system="2*t")).unwrap()["y"][-1] == pytest.approx([4])
    back = (await ask("solve_ode", y0=[4], t_span=[2, 0], coefficients={"A": [[0]], "b": [1]})).unwrap()
    assert back["y"][-1] == pytest.approx([2])


async def test_a_stiff_system_is_solved_by_the_implicit_method() -> None:
    found = (await ask("solve_ode", y0=[1], t_span=[0, 1000], system="-1000000*(y - 2)")).unwrap()
    assert found["stats"]["method"] == "Radau"
    assert found["y"][-1] == pytest.approx([2])


@pytest.mark.parametrize(
    ("span", "system", "end"),
    [
        ([0, 10], "1 if t > 4 and t < 4.1 else 0", 0.1),
        ([10, 0], "1 if t > 4 and t < 4.1 else 0", -0.1),
        ([0, 100], "exp(-(t - 50)**2)", math.sqrt(math.pi)),
        ([0, 1000], "-1000*y + (2000 if t > 995 else 0)", 2),
    ],
)
async def test_a_pulse_is_not_stepped_over(span: list[float], system: str, end: float) -> None:
    found = (await ask("solve_ode", y0=[0], t_span=span, system=system)).unwrap()
    assert found["y"][-1] == [pytest.approx(end, rel=1e-3)]


@pytest.mark.parametrize(
    ("span", "system", "highest"),
    [
        ([0, 100], "-20*y + 100*(2 < t < 3)", 5),
        ([0, 100], "-y + 10*(30 < t < 31)", 10 * (1 - math.exp(-1))),
        ([0, 100], "100 if 50 < t < 50.5 else -y", 50),
        ([100, 0], "20*y - 100*(2 < t < 3)", 5),
        ([0, 1000], "-1000*y + (2000 if 500 < t < 505 else 0)", 2),
    ],
)
async def test_a_pulse_whose_effect_dies_away_is_told(span: list[float], system: str, highest: float) -> None:
    """None of it is left where the few steps end that saw nothing."""
    found = (await ask("solve_ode", y0=[0], t_span=span, system=system)).unwrap()
    assert max(abs(y) for (y,) in found["y"]) == pytest.approx(highest, rel=1e-2)
    assert found["y"][-1] == [pytest.approx(0, abs=1e-6)]


async def test_a_pulse_of_the_values_is_seen_as_one_of_the_time_is() -> None:
    """A particle turns back at a hill that it has not the energy for."""
    hill = (await ask("solve_ode", y0=[0, 1], t_span=[0, 100], system="[y1, -exp(-(y0 - 50)**2)]")).unwrap()
    assert hill["y"][-1][1] == pytest.approx(-1, rel=1e-3)
    clock = (await ask("solve_ode", y0=[0, 0], t_span=[0, 100], system="[1, exp(-(y0 - 50)**2)]")).unwrap()
    assert clock["y"][-1] == [pytest.approx(100), pytest.approx(math.sqrt(math.pi), rel=1e-3)]


@pytest.mark.parametrize(
    ("y0", "system", "end"),
    [
        ([1], "cos(t) - y", (math.cos(10) + math.sin(10) + math.exp(-10)) / 2),
        ([1, 0], "[y1, -y0 + 0*t]", math.cos(10)),
        ([1], "-y/(1 + t)", 1 / 11),
    ],
)
async def test_without_a_pulse_few_points_are_told(y0: list[float], system: str, end: float) -> None:
    found = (await ask("solve_ode", y0=y0, t_span=[0, 10], system=system)).unwrap()
    assert found["y"][-1][0] == pytest.approx(end, rel=1e-4)
    assert found["stats"]["steps"] < 100


async def test_many_steps_are_told_in_a_thousand_points() -> None:
    found = (await ask("solve_ode", y0=[0], t_span=[0, 700], system="cos(t)")).unwrap()
    assert found["stats"]["steps"] > 1000
    assert len(found["t"]) == 1000
    assert found["t"][-1] == 700


async def test_the_lowest_and_the_highest_point_are_found() -> None:
    low = (await ask("optimize", x0=[0, 0], objective={"expression": "(x0 - 1)**2 + (x1 + 2)**2 + 3"})).unwrap()
    assert low["x"] == pytest.approx([1, -2], abs=1e-5)
    assert low["f"] == pytest.approx(3)
    assert low["converged"] is True
    high = (await ask("optimize", x0=[0.5], objective={"expression": "sin(x)"}, mode="maximize")).unwrap()
    assert (high["x"][0], high["f"]) == (pytest.approx(math.pi / 2, abs=1e-5), pytest.approx(1))


@pytest.mark.parametrize("method", ["nelder_mead", "powell", "cg", "bfgs", "l_bfgs_b"])
async def test_every_method_finds_the_valley_of_rosenbrock(method: str) -> None:
    valley = {"expression": "(1 - x0)**2 + 100*(x1 - x0**2)**2"}
    found = (await ask("optimize", x0=[-1, 2], objective=valley, method=method, max_iter=5000)).unwrap()
    assert found["x"] == pytest.approx([1, 1], abs=1e-2)


async def test_too_few_iterations_say_that_nothing_converged() -> None:
    found = (await ask("optimize", x0=[9, 9], objective={"expression": "x0**2 + x1**2"}, max_iter=2)).unwrap()
    assert (found["iterations"], found["converged"]) == (2, False)


@pytest.mark.parametrize("method", ["nelder_mead", "powell"])
@pytest.mark.parametrize("sign", ["", "-"])
async def test_values_that_grow_to_the_end_of_floats_are_no_optimum(method: str, sign: str) -> None:
    mode = "maximize" if sign else "minimize"
    cube = {"expression": f"{sign}x**3"}
    found = (await ask("optimize", x0=[0.5], objective=cube, method=method, mode=mode)).unwrap()
    assert abs(found["f"]) > 1e307
    assert found["converged"] is False
    deep = {"expression": "x**5 - 1e100*x"}
    assert (await ask("optimize", x0=[1], objective=deep, method=method)).unwrap()["converged"] is True


async def test_undefined_places_are_walked_around() -> None:
    found = (await ask("optimize", x0=[1], objective={"expression": "x - log(x) + 0/(x + 1)"})).unwrap()
    assert found["x"] == pytest.approx([1], abs=1e-3)


@pytest.mark.parametrize("acquisition", ["ei", "ucb", "pi"])
async def test_few_looks_find_the_largest_value(acquisition: str) -> None:
    found = (await ask("bayesopt", bounds=[[-2, 2]], objective="3 - (x - 0.5)**2", acquisition=acquisition)).unwrap()
    assert found["x_best"] == pytest.approx([0.5], abs=0.05)
    assert found["y_best"] == max(look["y"] for look in found["history"])
    assert len(found["history"]) == found["model"]["points"] == 30


async def test_a_flat_formula_and_two_variables_are_no_trouble() -> None:
    assert (await ask("bayesopt", bounds=[[0, 1]], objective="1", n_iter=4)).unwrap()["y_best"] == 1
    found = (await ask("bayesopt", bounds=[[-1, 1], [-1, 1]], objective="-(x0**2) - (x1 - 0.5)**2")).unwrap()
    assert found["y_best"] > -0.05
    assert all(-1 <= number <= 1 for look in found["history"] for number in look["x"])


@pytest.mark.parametrize(
    ("bounds", "objective", "best", "near"),
    [
        ([-1.7e308, 1.7e308], "-abs(x/1e308 - 0.5)", 5e307, 1e307),
        ([-2, 2], "1.7e308*(1 - (x - 0.5)**2/3.2)", 0.5, 0.05),
        ([-2, 2], "(3 - (x - 0.5)**2)*1e-200", 0.5, 0.05),
    ],
    ids=["a side longer than a float", "values near the end of floats", "small values"],
)
async def test_no_size_of_the_box_or_the_values_is_in_the_way(
    bounds: list[float], objective: str, best: float, near: float
) -> None:
    found = (await ask("bayesopt", bounds=[bounds], objective=objective)).unwrap()
    assert found["x_best"] == pytest.approx([best], abs=near)
    assert all(bounds[0] <= look["x"][0] <= bounds[1] for look in found["history"])


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("solve_ode", {"y0": [], "t_span": [0, 1], "system": "y"}, "1 to 50 numbers"),
    ("solve_ode", {"y0": [1], "t_span": [0], "system": "y"}, "two different times"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "coefficients": {"A": [[1]], "b": []}}, "and b with 1"),
    ("solve_ode", {"y0": [1], "t_span": [1, 1], "system": "y"}, "two different times"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1]}, "either system or coefficients"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": "y", "coefficients": {"A": [[1]]}}, "either system or"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "coefficients": {"A": [[1, 2]]}}, "1 rows of 1 numbers"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "coefficients": {"A": [[1]], "b": [1, 2]}}, "b with 1"),
    ("solve_ode", {"y0": [1, 2], "t_span": [0, 1], "system": "y0"}, "1 numbers and y0 has 2"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": "z"}, "not known"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": "1/0"}, "no value at t = 0"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": "log(-y)"}, "no finite value"),
    ("solve_ode", {"y0": [1], "t_span": [0, 5], "system": "y**2"}, "t = 1"),
    ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": "y", "rtol": 0}, "rtol"),
    ("optimize", {"x0": [], "objective": {"expression": "1"}}, "1 to 50 numbers"),
    ("optimize", {"x0": [0], "objective": {"expression": "1/x"}}, "no finite value at x0"),
    ("optimize", {"x0": [0], "objective": {}}, "expression"),
    ("optimize", {"x0": [0], "objective": {"expression": "y"}}, "objective has the name y"),
    ("optimize", {"x0": [0], "objective": {"expression": "x"}, "method": "guess"}, "method"),
    ("optimize", {"x0": [0], "objective": {"expression": "x"}, "method": "powell"}, "no optimum"),
    ("optimize", {"x0": [1], "objective": {"expression": "-exp(x)"}, "mode": "minimize"}, "no finite minimum"),
    ("bayesopt", {"bounds": [[0, 1]] * 11, "objective": "1"}, "at most 10"),
    ("bayesopt", {"bounds": [[1, 0]], "objective": "1"}, "low < high"),
    ("bayesopt", {"bounds": [[-1, 0]], "objective": "log(x)"}, "no finite value at"),
    ("bayesopt", {"bounds": [[0, 1]], "objective": "x", "n_iter": 101}, "n_iter"),
]


@pytest.mark.parametrize(
    ("name", "arguments", "said"), REFUSED, ids=[f"{name}-{said.replace(' ', '-')}" for name, _, said in REFUSED]
)
async def test_wrong_input_and_what_has_no_answer_say_why(name: str, arguments: dict[str, Any], said: str) -> None:
    assert said in await refusal(name, **arguments)


async def test_a_system_of_endless_steps_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(odes, "_ATTEMPTS", (("RK45", 300), ("Radau", 300), ("RK45", 600)))
    said = await refusal("solve_ode", y0=[1], t_span=[0, 1e6], system="sin(t*1000)*1000")
    assert "too many steps" in said
