"""plot_braille, plot_function and histogram: the dots are where the numbers are. TOOL-07."""

from __future__ import annotations

import math
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from tests.tools.data.asking import ask
from tests.tools.examples import run_examples

PLACES = [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3)]
"""Where the dot of each bit of a braille character is: to the right, and down."""


def dots(plot: str) -> set[tuple[int, int]]:
    """Every dot of a plot's braille characters, by column and row of dots, the lowest row first."""
    rows = [line.partition("┤")[2] or line.partition("│")[2] for line in plot.split("\n") if "┤" in line or "│" in line]
    cells = [(down, across, ord(char)) for down, row in enumerate(rows) for across, char in enumerate(row)]
    return {
        (2 * across + right, 4 * (len(rows) - down) - 1 - below)
        for down, across, code in cells
        if 0x2800 <= code < 0x2900
        for bit, (right, below) in enumerate(PLACES)
        if code >> bit & 1
    }


async def test_a_line_goes_from_corner_to_corner_and_the_axes_say_so() -> None:
    """TOOL-07: plot, x_range, y_range."""
    made = (await ask("plot_braille", x=[0, 10], y=[0, 10], width=40, height=12, title="Up")).unwrap()
    assert made["x_range"] == [0, 10]
    assert made["y_range"] == [0, 10]
    lines = made["plot"].split("\n")
    assert lines[0].strip() == "Up"
    assert lines[1].startswith("10 ┤")
    assert lines[12].startswith(" 0 ┤")
    assert lines[13].strip().startswith("└┬")
    assert lines[14].split() == ["0", "10"]
    assert (lines[14].index("0"), len(lines[14])) == (lines[13].index("┬"), lines[13].rindex("┬") + 1)
    assert all(len(line) <= 48 for line in lines)
    drawn = dots(made["plot"])
    wide, high = 2 * (40 - 4), 4 * 12
    assert {(0, 0), (wide - 1, high - 1)} <= drawn
    assert {across for across, _ in drawn} == set(range(wide))
    assert all(abs(up / (high - 1) - across / (wide - 1)) < 0.03 for across, up in drawn)


async def test_points_are_drawn_without_lines_between_them() -> None:
    made = (await ask("plot_braille", x=[0, 1, 2], y=[0, 2, 0], plot_type="scatter", width=30, height=5)).unwrap()
    assert len(dots(made["plot"])) == 3


async def test_a_function_is_drawn_where_it_has_values() -> None:
    sine = (await ask("plot_function", function="sin")).unwrap()
    assert sine["x_range"] == [-3.14159, 3.14159]
    assert sine["y_range"] == pytest.approx([-1, 1], abs=0.001)
    assert sine["plot"].split("\n")[0].strip() == "sin"
    for name in ("cos", "exp", "x^2", "x^3", "tanh", "sigmoid", "gaussian"):
        assert dots((await ask("plot_function", function=name)).unwrap()["plot"])
    root = (await ask("plot_function", function="sqrt", x_min=-4, x_max=4, width=60, height=8)).unwrap()
    assert root["x_range"] == [-4, 4]
    assert root["y_range"][1] == pytest.approx(2)
    columns = {across for across, _ in dots(root["plot"])}
    assert min(columns) > max(columns) // 2 - 2


async def test_numbers_are_counted_in_bins_whose_last_one_has_both_edges() -> None:
    """TOOL-07: plot, n_bins, bin_edges."""
    made = (await ask("histogram", data=[1, 2, 2, 3, 3, 3, 4, 4, 5], bins=4, width=40, height=6)).unwrap()
    assert made["n_bins"] == 4
    assert made["bin_edges"] == [1, 2, 3, 4, 5]
    assert made["counts"] == [1, 2, 3, 3]
    drawn = dots(made["plot"])
    highest = [max(up for across, up in drawn if across // 18 == at) for at in range(4)]
    # The axis ends at 4.
    assert [round(up / 23 * 4) for up in highest] == made["counts"]


async def test_bins_are_those_that_their_edges_say() -> None:
    data = [at / 10 for at in range(101)]
    made = (await ask("histogram", data=data, bins=10)).unwrap()
    edges = made["bin_edges"]
    for at, count in enumerate(made["counts"]):
        last = at == 9
        assert count == sum(edges[at] <= number < edges[at + 1] or (last and number == edges[10]) for number in data)
    one = (await ask("histogram", data=[7], bins=2)).unwrap()
    assert one["bin_edges"] == [6.5, 7.0, 7.5]
    assert one["counts"] == [0, 1]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plot_braille", {"x": [at / 7 for at in range(200)], "y": [math.sin(at) for at in range(200)]}),
        ("plot_function", {"function": "gaussian"}),
        ("histogram", {"data": [at * at % 97 for at in range(500)]}),
    ],
    ids=["braille", "function", "histogram"],
)
async def test_equal_input_gives_equal_output(name: str, arguments: dict[str, Any]) -> None:
    """TOOL-07: equal input, equal output."""
    assert (await ask(name, **arguments)).unwrap() == (await ask(name, **arguments)).unwrap()


@pytest.mark.parametrize(
    ("x", "y"),
    [([5], [3]), ([0, 0], [0, 0]), ([1e300, -1e300], [1e-300, 2e-300]), ([5e-324, 0], [1.0000001, 1.00000011])],
    ids=["point", "zero", "far", "near"],
)
async def test_odd_numbers_are_drawn_too(x: list[float], y: list[float]) -> None:
    made = (await ask("plot_braille", x=x, y=y, width=60, height=6, title="\x1b[31m a\nb")).unwrap()
    assert dots(made["plot"])
    assert "\x1b" not in made["plot"]
    assert made["plot"].split("\n")[0].strip() == "[31m a b"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("plot_braille", {"x": [], "y": []}, "x is empty"),
        ("plot_braille", {"x": [1], "y": []}, "y is empty"),
        ("plot_braille", {"x": [1, 2], "y": [1]}, "each point needs both"),
        ("plot_braille", {"x": [1e301], "y": [1]}, "scale it down"),
        ("plot_braille", {"x": [0] * 50_001, "y": [0] * 50_001}, "at most 50000"),
        ("plot_function", {"function": "log", "x_min": -5, "x_max": -1}, "has no value"),
        ("plot_function", {"function": "sin", "x_min": 1, "x_max": 1}, "x_min must be less"),
        ("histogram", {"data": []}, "data is empty"),
        ("histogram", {"data": [1e200]}, "scale it down"),
        ("histogram", {"data": [1, 2], "bins": 100, "width": 20}, "use fewer"),
    ],
    ids=["empty", "no-y", "unequal", "huge", "many", "nowhere", "no-range", "no-data", "one-huge", "narrow"],
)
async def test_what_cannot_be_drawn_is_an_input_error(name: str, arguments: dict[str, Any], said: str) -> None:
    """TOOL-07: empty or unequal x and y are input errors."""
    outcome = await ask(name, **arguments)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plot_braille", {"x": [1], "y": [1], "width": 10_000}),
        ("plot_braille", {"x": [1], "y": [1], "plot_type": "pie"}),
        ("plot_braille", {"x": ["1"], "y": [1]}),
        ("plot_function", {"function": "x**9"}),
        ("histogram", {"data": [1], "bins": 0}),
    ],
    ids=["wide", "pie", "text", "expression", "no-bins"],
)
async def test_arguments_that_do_not_fit_are_refused(name: str, arguments: dict[str, Any]) -> None:
    assert (await ask(name, **arguments)).error.code == "invalid_arguments"


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await run_examples(gate, "plot_braille", "plot_function", "histogram")
