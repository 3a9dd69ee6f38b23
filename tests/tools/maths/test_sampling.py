"""monte_carlo, monte_carlo_native and mcmc: known values, seeds, threads, and limits. TOOL-11."""

from __future__ import annotations

import asyncio
import faulthandler
import math
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from callgate import Callgate, ToolContext
from callgate.model.event import Event
from callgate.model.levels import Category
from callgate.tools.maths.expressions.budget import Budget
from callgate.tools.maths.integrals import CHUNK, integrate
from tests.tools.maths.asking import ask, refusal


async def test_the_mean_of_a_square_is_a_third() -> None:
    """TOOL-11: the known vector."""
    found = (await ask("monte_carlo", expression="x**2", samples=200_000)).unwrap()
    assert found["mean"] == pytest.approx(1 / 3, abs=0.005)
    assert found["percentiles"]["50"] == pytest.approx(0.25, abs=0.01)
    assert found["samples"] == 200_000
    assert sum(found["histogram"]["counts"]) == 200_000
    assert len(found["histogram"]["edges"]) == 21


@pytest.mark.parametrize(
    ("distribution", "mean", "std"), [("normal", 0, 1), ("exponential", 1, 1), ("uniform", 0.5, 0.2887)]
)
async def test_x_has_the_distribution_that_was_named(distribution: str, mean: float, std: float) -> None:
    found = (await ask("monte_carlo", expression="x", distribution=distribution, samples=100_000)).unwrap()
    assert found["mean"] == pytest.approx(mean, abs=0.02)
    assert found["std"] == pytest.approx(std, abs=0.02)


async def test_a_formula_without_x_has_one_value() -> None:
    found = (await ask("monte_carlo", expression="2", samples=10)).unwrap()
    assert (found["mean"], found["std"], found["histogram"]) == (2, 0, {"counts": [10], "edges": [2, 2]})
    chosen = (await ask("monte_carlo", expression="1 if x < 0.25 else 0", samples=100_000)).unwrap()
    assert chosen["mean"] == pytest.approx(0.25, abs=0.01)


@pytest.mark.parametrize(
    ("expression", "edges", "std"),
    [
        ("4e15 + x", [4e15, 4e15 + 0.5, 4e15 + 1], math.sqrt(1 / 8)),
        ("1e12 + x*1e-4", [1e12, 1e12 + 2**-13], 2**-14),
        ("5e-324*(x > 0.5)", [0, 5e-324], 0),
    ],
)
async def test_values_too_close_together_for_twenty_bins_have_fewer(
    expression: str, edges: list[float], std: float
) -> None:
    """Rounded as floats are there, `4e15 + x` is 0, a half or 1 above the first, the half twice as often."""
    found = (await ask("monte_carlo", expression=expression, samples=100_000)).unwrap()
    assert found["histogram"]["edges"] == edges
    assert sum(found["histogram"]["counts"]) == 100_000
    assert found["std"] == pytest.approx(std, rel=0.3 if std == 2**-14 else 0.02, abs=5e-324)


@pytest.mark.parametrize("size", [1e-200, 1e200, 1.7e308])
async def test_the_spread_of_small_and_large_values_is_told(size: float) -> None:
    found = (await ask("monte_carlo", expression=f"x*{size}")).unwrap()
    assert found["mean"] == pytest.approx(size / 2, rel=0.05, abs=0)
    assert found["std"] == pytest.approx(size / math.sqrt(12), rel=0.05, abs=0)


@pytest.mark.parametrize(
    ("expression", "same"),
    [
        ("max(x - 0.5, 0)", "maximum(x - 0.5, 0)"),
        ("max([x, 0.5])", "0.5 if x < 0.5 else x"),
        ("int(6*x) + 1", "floor(6*x) + 1"),
        ("sum(k*x for k in range(3))", "3*x"),
        ("round(x, len([1, 2]))", "round(x, 2)"),
    ],
)
async def test_what_takes_one_number_or_makes_a_list_is_computed_for_each_x(expression: str, same: str) -> None:
    found, told = [(await ask("monte_carlo", expression=each, samples=500)).unwrap() for each in (expression, same)]
    assert found["mean"] == pytest.approx(told["mean"])
    assert found["percentiles"] == pytest.approx(told["percentiles"])


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("sum(x)", "sum takes a list, not one number"),
        ("x - mean(x)", "mean takes a list"),
        ("x[0]", "that needs a list"),
        ("array([x, 1])", "one number, not a list"),
        ("range(10)", "one number, not a list"),
    ],
)
async def test_no_sample_has_to_do_with_another(expression: str, said: str) -> None:
    assert said in await refusal("monte_carlo", expression=expression, samples=10)


SEEDED: dict[str, dict[str, Any]] = {
    "monte_carlo": {"expression": "x", "samples": 100},
    "monte_carlo_native": {"bounds": [[0, 2]], "function": "gaussian"},
    "mcmc": {"log_density": "-0.5*x**2", "x0": [0], "n_samples": 50, "burnin": 0},
    "bayesopt": {"bounds": [[-1, 1]], "objective": "-x**2", "n_iter": 3},
}


@pytest.mark.parametrize("name", SEEDED)
async def test_a_seed_makes_results_repeatable(name: str) -> None:
    """TOOL-11: the same seed, also the one by default, gives the same; another gives another."""
    first, again, other = [
        (await ask(name, **SEEDED[name], **seed)).unwrap() for seed in ({}, {"seed": 42}, {"seed": 43})
    ]
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ({"bounds": [[-1, 1], [-1, 1]], "function": "sphere"}, math.pi),
        ({"bounds": [[0, 2], [0, 3]], "function": "constant"}, 6),
        ({"bounds": [[-6, 6]], "function": "gaussian"}, math.sqrt(math.pi)),
        ({"bounds": [[0, 1], [0, 1]], "function": "polynomial"}, 2 / 3),
        ({"bounds": [[-1, 1], [0, 2], [-2, 1]], "function": "sphere"}, 2 * math.pi / 3),
        ({"bounds": [[-4, 4], [-4, 5]], "function": "gaussian"}, math.pi),
        ({"bounds": [[1, 2], [0, 2]], "function": "polynomial"}, 22 / 3),
    ],
    ids=["sphere", "constant", "gaussian", "polynomial", "half a ball", "a gaussian in a long box", "apart from 0"],
)
async def test_an_integral_is_within_five_of_its_standard_errors(arguments: Any, value: float) -> None:
    """TOOL-11: the unit disc has the area π."""
    found = (await ask("monte_carlo_native", **arguments, n_samples=300_000)).unwrap()
    assert abs(found["integral"] - value) <= 5 * found["standard_error"] + 1e-12
    assert found["standard_error"] < 0.02
    assert found["samples_used"] == 300_000


@pytest.mark.parametrize("order", [1, -1])
async def test_sides_of_very_different_lengths_are_measured_alike(order: int) -> None:
    bounds = [[0, 1e-200], [-1, 1]][::order]
    found = (await ask("monte_carlo_native", bounds=bounds, function="sphere")).unwrap()
    assert found["integral"] == pytest.approx(2e-200)


async def test_a_volume_does_not_depend_on_the_order_of_the_sides() -> None:
    """Nor does it leave the floats on its way."""
    thin, wide = [0, 1e-200], [0, 1e200]
    for bounds in ([thin, wide, thin, wide], [thin, thin, wide, wide], [wide, wide, thin, thin]):
        found = (await ask("monte_carlo_native", bounds=bounds)).unwrap()
        assert (found["integral"], found["standard_error"]) == (pytest.approx(1), 0)


def _distances(begin: float) -> float:
    """The deviation of x² between `begin` and `begin + 1`."""
    return math.sqrt(begin * begin / 3 + begin / 3 + 4 / 45)


@pytest.mark.parametrize(
    ("bounds", "function", "deviation"),
    [
        ([[1e10, 1e10 + 1]], "polynomial", _distances(1e10)),
        ([[-1e9 - 1, -1e9]], "polynomial", _distances(1e9)),
        ([[0, 1]], "polynomial", _distances(0)),
        ([[0, 1e-70], [0, 1e-70]], "polynomial", 1e-280 * math.sqrt(2) * _distances(0)),
        ([[0, 1e90], [0, 1e-90]], "polynomial", 1e180 * _distances(0)),
        ([[0.5, 0.5 + 1e-8]], "gaussian", 1e-16 * math.exp(-0.25) / math.sqrt(12)),
        ([[-1e5, 1e5]], "gaussian", 2e5 * math.sqrt(math.sqrt(math.pi / 2) / 2e5)),
        ([[0, 1]], "constant", 0),
    ],
    ids=["far", "far below 0", "at 0", "small", "long and thin", "flat", "mostly 0", "constant"],
)
async def test_the_standard_error_is_the_deviation_over_the_root_of_the_samples(
    bounds: Any, function: str, deviation: float
) -> None:
    samples = 1_000_000
    found = (await ask("monte_carlo_native", bounds=bounds, function=function, n_samples=samples)).unwrap()
    assert found["standard_error"] == pytest.approx(deviation / math.sqrt(samples), rel=0.15, abs=0)


@pytest.mark.parametrize(
    ("bounds", "function", "integral"),
    [
        ([[-1, 1]] * 20, "sphere", math.pi**10 / math.factorial(10)),
        ([[-0.6, 0.6]] * 3, "sphere", 4 / 3 * math.pi - 6 * math.pi * 0.4**2 * 2.6 / 3),
        ([[-1e4, 1e4]] * 3, "gaussian", math.pi**1.5),
    ],
    ids=["none hit", "all hit", "a peak that is missed"],
)
async def test_what_no_point_tells_apart_is_not_told_as_exact(bounds: Any, function: str, integral: float) -> None:
    found = (await ask("monte_carlo_native", bounds=bounds, function=function, n_samples=20)).unwrap()
    volume = math.prod(high - low for low, high in bounds)
    assert found["standard_error"] == pytest.approx(volume / 20)
    assert "a single other point" in found["note"]
    assert abs(found["integral"] - integral) <= 5 * volume / 20


@pytest.mark.parametrize(
    ("bounds", "function", "integral"),
    [
        ([[1, 2], [0.5, 3]], "sphere", 0),
        ([[0, 0.5], [-0.5, 0]], "sphere", 0.25),
        ([[30, 40]] * 2, "gaussian", 0),
    ],
    ids=["outside", "inside", "nothing left of it in a float"],
)
async def test_what_has_one_value_in_all_of_the_box_is_exact(bounds: Any, function: str, integral: float) -> None:
    found = (await ask("monte_carlo_native", bounds=bounds, function=function)).unwrap()
    assert found == {"integral": pytest.approx(integral), "standard_error": 0, "samples_used": 10_000}


async def test_a_ball_far_from_the_origin_of_a_large_box_is_found_as_often_as_it_should() -> None:
    found = (
        await ask("monte_carlo_native", bounds=[[-20, 4], [-5, 25]], function="sphere", n_samples=1_000_000)
    ).unwrap()
    assert abs(found["integral"] - math.pi) <= 5 * found["standard_error"]


def test_the_number_of_threads_does_not_change_the_result() -> None:
    def integral(threads: int) -> dict[str, Any]:
        return integrate(
            [(-1.0, 1.0)] * 3, "gaussian", n_samples=5 * CHUNK + 7, seed=1, threads=threads, check=lambda: None
        )

    assert integral(1) == integral(2) == integral(7)


@pytest.mark.slow
def test_the_threads_of_the_libraries_below_do_not_change_it_either() -> None:
    code = (
        "from callgate.tools.maths.integrals import integrate; box = [(-1.0, 1.0)] * 3;"
        "given = {'n_samples': 200_000, 'threads': 2, 'check': lambda: None};"
        "print([integrate(box, 'gaussian', seed=seed, **given) for seed in range(20)])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"OPENBLAS_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(found) == 1


def test_when_one_thread_has_to_stop_so_do_the_others_and_why_is_told() -> None:
    looks: list[int] = []

    def check() -> None:
        looks.append(1)
        if len(looks) > 3:
            raise TimeoutError("enough")

    with pytest.raises(TimeoutError, match="enough"):
        integrate([(-1.0, 1.0)], "sphere", n_samples=50 * CHUNK, seed=1, threads=2, check=check)
    assert len(looks) <= 5
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("monte-carlo")]


async def test_samples_of_a_normal_density_have_its_mean_and_covariance() -> None:
    found = (
        await ask("mcmc", log_density="-0.5*((x0 - 1)**2 + (x1/2)**2)", x0=[0, 0], n_samples=20_000, proposal_std=2)
    ).unwrap()
    assert len(found["samples"]) == 20_000
    assert found["mean"] == pytest.approx([1, 0], abs=0.2)
    assert found["covariance"][0][0] == pytest.approx(1, abs=0.2)
    assert found["covariance"][1][1] == pytest.approx(4, abs=0.8)
    assert 0.2 < found["acceptance_rate"] < 0.8
    one = (await ask("mcmc", log_density="-x[0]**2 - x[1]**2", x0=[0, 0], n_samples=1)).unwrap()
    assert one["covariance"] == [[0, 0], [0, 0]]


async def test_a_log_density_says_with_inf_where_there_is_no_density() -> None:
    arguments = {"x0": [1], "n_samples": 5000, "proposal_std": 2}
    for density in ("where(x0 > 0, -x0, -inf)", "-x0 if x0 > 0 else -np.inf"):
        found = (await ask("mcmc", log_density=density, **arguments)).unwrap()
        assert min(found["samples"])[0] > 0
        assert found["mean"][0] == pytest.approx(1, abs=0.15)


async def test_infinity_is_no_result_of_any_formula() -> None:
    for tool, arguments, said in (
        ("monte_carlo", {"expression": "inf"}, "no finite real value"),
        ("mcmc", {"log_density": "-inf", "x0": [1]}, "no finite value at x0"),
        ("mcmc", {"log_density": "inf if x0 != 1 else 0", "x0": [1]}, "infinite somewhere"),
        ("bayesopt", {"bounds": [[0, 1]], "objective": "-inf"}, "no finite value"),
        ("optimize", {"x0": [1], "objective": {"expression": "-inf if x0 > 1.01 else -x0"}}, "no finite minimum"),
        ("solve_ode", {"y0": [1], "t_span": [0, 1], "system": "inf"}, "no finite value"),
        ("symbolic_solve", {"equation": "x = inf"}, "inf, with which nothing is solved"),
    ):
        assert said in await refusal(tool, **arguments), tool


async def test_as_many_samples_are_drawn_as_may_be_asked_for() -> None:
    """And as many left out before them."""
    found = (await ask("mcmc", log_density="-0.5*x**2", x0=[0], n_samples=100_000, burnin=100_000)).unwrap()
    assert len(found["samples"]) == 100_000
    assert found["covariance"][0][0] == pytest.approx(1, abs=0.1)


async def test_where_a_density_is_undefined_no_sample_falls() -> None:
    found = (await ask("mcmc", log_density="log(x) - x", x0=[1], n_samples=2000)).unwrap()
    assert all(sample[0] > 0 for sample in found["samples"])


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("monte_carlo", {"expression": "y"}, "variables here: x"),
    ("monte_carlo", {"expression": "(x - 0.5)*1.7e308*2"}, "too large for a float"),
    ("monte_carlo", {"expression": "1/(x - x)"}, "no finite real value for 10000 of 10000"),
    ("monte_carlo", {"expression": "[1, 2]"}, "one number, not a list"),
    ("monte_carlo", {"expression": "x", "samples": 0}, "samples"),
    ("monte_carlo", {"expression": "x", "samples": 500_001}, "samples"),
    ("monte_carlo", {"expression": "x", "distribution": "cauchy"}, "distribution"),
    ("monte_carlo", {"expression": "+".join(["sin(cos(x))"] * 90), "samples": 500_000}, "too much work"),
    ("monte_carlo_native", {"bounds": []}, "1 to 20 pairs"),
    ("monte_carlo_native", {"bounds": [[1, 0]]}, "low < high"),
    ("monte_carlo_native", {"bounds": [[0, 1, 2]]}, "low < high"),
    ("monte_carlo_native", {"bounds": [[0, 1]] * 20, "n_samples": 100_000_000}, "fewer samples"),
    ("monte_carlo_native", {"bounds": [[0, 1]], "n_samples": 10**9}, "n_samples"),
    ("monte_carlo_native", {"bounds": [[0, 1]], "function": "cube"}, "function"),
    ("monte_carlo_native", {"bounds": [[-1e308, 1e308]], "function": "polynomial"}, "too large"),
    ("monte_carlo_native", {"bounds": [[-1e200, 1e200]], "function": "polynomial"}, "bounds are too large"),
    ("monte_carlo_native", {"bounds": [[0, 1e200]] * 2, "function": "gaussian"}, "bounds are too large for"),
    ("monte_carlo_native", {"bounds": [[-1e308, 1e308]], "function": "gaussian"}, "are too large for"),
    ("mcmc", {"log_density": "-x0**2", "x0": []}, "1 to 20 numbers"),
    ("mcmc", {"log_density": "-x1**2", "x0": [0]}, "x1, which is not known"),
    ("mcmc", {"log_density": "log(x0)", "x0": [-1]}, "no finite value at x0"),
    ("mcmc", {"log_density": "1/0", "x0": [1]}, "no finite value at x0"),
    ("mcmc", {"log_density": "[x0]", "x0": [1]}, "one number"),
    ("mcmc", {"log_density": "-log(abs(round(x0)))*1e300*1e300 if x0 != 0.25 else 0", "x0": [0.25]}, "infinite"),
    ("mcmc", {"log_density": "0", "x0": [0], "proposal_std": 1e308}, "beyond a float"),
    ("mcmc", {"log_density": "0", "x0": [0], "proposal_std": 0}, "proposal_std"),
    ("mcmc", {"log_density": "0", "x0": [0] * 20, "n_samples": 100_000}, "fewer samples"),
    ("mcmc", {"log_density": "-sum(np.arange(9999)*x**2)", "x0": [0], "n_samples": 10_000}, "too much work"),
]


@pytest.mark.parametrize(
    ("name", "arguments", "said"), REFUSED, ids=[f"{name}-{said.replace(' ', '-')}" for name, _, said in REFUSED]
)
async def test_wrong_input_and_too_much_of_it_say_why(name: str, arguments: dict[str, Any], said: str) -> None:
    assert said in await refusal(name, **arguments)


HEAVY: dict[str, dict[str, Any]] = {
    "mcmc": {"log_density": "sum(sin(k*x0) for k in range(1000))", "x0": [0], "n_samples": 100_000},
    "monte_carlo_native": {"bounds": [[0, 1]] * 2, "function": "gaussian", "n_samples": 100_000_000},
    "bayesopt": {"bounds": [[0, 1]], "objective": "sum(sin(k*x) for k in range(5000))", "n_init": 50, "n_iter": 100},
    "solve_ode": {"y0": [1], "t_span": [0, 1e6], "system": "sin(t*1000)*1000"},
    "optimize": {"x0": [0.5], "objective": {"expression": "x"}, "method": "cg", "max_iter": 100_000},
}


@pytest.mark.parametrize("name", HEAVY)
async def test_long_work_ends_itself_at_its_time_limit(name: str) -> None:
    """A thread cannot be stopped: the work itself says that it ended, and nothing of it runs on."""
    async with Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        ended, told = asyncio.Event(), list[str]()

        def tell(event: Event) -> None:
            told.append(event.type)
            if event.type in {"tool_call.failed", "tool_call.settled_late"}:
                ended.set()

        gate.on("tool_call.*", tell)
        outcome = await gate.call(name, HEAVY[name], timeout=0.4)
        # On a busy machine the gate gives up first, and the work says so a moment later.
        try:
            await asyncio.wait_for(ended.wait(), 60)
        except TimeoutError:
            faulthandler.dump_traceback()  # where the thread is that goes on
            pytest.fail(f"{told}: {outcome}")
    assert outcome.error is not None
    assert outcome.error.category is Category.TIMEOUT


@pytest.mark.parametrize("name", HEAVY)
async def test_long_work_ends_with_its_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives up a call, or closes the gate, has nobody wait for what comes out."""
    loop, begun = asyncio.get_running_loop(), asyncio.Event()
    begin = Budget.__init__

    def begin_and_tell(self: Budget, steps: int, context: ToolContext) -> None:
        begin(self, steps, context)
        loop.call_soon_threadsafe(begun.set)

    monkeypatch.setattr(Budget, "__init__", begin_and_tell)
    async with asyncio.timeout(60), Callgate.open("memory://", builtin_tools=["maths"]) as gate:
        late = asyncio.Queue[Event]()
        gate.on("tool_call.settled_late", late.put_nowait)
        calling = asyncio.create_task(gate.call(name, HEAVY[name], timeout=50))
        await begun.wait()
        calling.cancel()
        told = (await late.get()).payload or {}
    assert told["exception"] == "TimeoutError: the call was given up while it computed"
