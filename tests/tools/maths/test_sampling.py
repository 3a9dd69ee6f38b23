"""monte_carlo, monte_carlo_native and mcmc: known values, seeds, threads, and limits. TOOL-11."""

from __future__ import annotations

import asyncio
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
    ],
    ids=["sphere", "constant", "gaussian", "polynomial"],
)
async def test_an_integral_is_within_five_of_its_standard_errors(arguments: Any, value: float) -> None:
    """TOOL-11: the unit disc has the area π."""
    found = (await ask("monte_carlo_native", **arguments, n_samples=300_000)).unwrap()
    assert abs(found["integral"] - value) <= 5 * found["standard_error"] + 1e-12
    assert found["standard_error"] < 0.02
    assert found["samples_used"] == 300_000


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


async def test_where_a_density_is_undefined_no_sample_falls() -> None:
    found = (await ask("mcmc", log_density="log(x) - x", x0=[1], n_samples=2000)).unwrap()
    assert all(sample[0] > 0 for sample in found["samples"])


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("monte_carlo", {"expression": "y"}, "variables here: x"),
    ("monte_carlo", {"expression": "x*1e200"}, "too large for a float"),
    ("monte_carlo", {"expression": "x*1.7e308"}, "too large for a float"),
    ("monte_carlo", {"expression": "(x - 0.5)*1.7e308*2", "samples": 2}, "too large for a float"),
    ("monte_carlo", {"expression": "1/(x - x)"}, "no finite real value for 10000 of 10000"),
    ("monte_carlo", {"expression": "[1, 2]"}, "one number for each x"),
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
    ("mcmc", {"log_density": "-x0**2", "x0": []}, "1 to 20 numbers"),
    ("mcmc", {"log_density": "-x1**2", "x0": [0]}, "x1, which is not known"),
    ("mcmc", {"log_density": "log(x0)", "x0": [-1]}, "no finite value at x0"),
    ("mcmc", {"log_density": "1/0", "x0": [1]}, "no finite value at x0"),
    ("mcmc", {"log_density": "[x0]", "x0": [1]}, "one number"),
    ("mcmc", {"log_density": "-log(abs(round(x0)))*1e300*1e300 if x0 != 0.25 else 0", "x0": [0.25]}, "infinite"),
    ("mcmc", {"log_density": "0", "x0": [0], "proposal_std": 1e308}, "beyond a float"),
    ("mcmc", {"log_density": "0", "x0": [0], "proposal_std": 0}, "proposal_std"),
    ("mcmc", {"log_density": "0", "x0": [0] * 20, "n_samples": 100_000}, "fewer samples"),
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
        ended = asyncio.Event()

        def tell(_: Event) -> None:
            ended.set()

        for kind in ("tool_call.failed", "tool_call.settled_late"):
            gate.on(kind, tell)
        outcome = await gate.call(name, HEAVY[name], timeout=0.4)
        # On a busy machine the gate gives up first, and the work says so a moment later.
        await asyncio.wait_for(ended.wait(), 60)
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
