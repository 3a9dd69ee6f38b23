"""Plots in little room: the size that was asked for holds, and what does not fit is left out. TOOL-07."""

from __future__ import annotations

import re
from typing import Any

import pytest

from callgate.model.levels import Category
from tests.needed import needs
from tests.tools.data.asking import ask

NEAR = [1234567.0000001, 1234567.0000002]
"""Told apart on an axis by 15 digits only."""
ONE, OTHER = [1, 2], [-1e-7, 1e-7]
BRAILLE = re.compile("[\u2801-\u28ff]")


@pytest.mark.parametrize("width", [20, 23, 33, 80])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("plot_braille", {"x": ONE, "y": NEAR, "title": ""}),
        ("plot_braille", {"x": NEAR, "y": ONE, "title": "t" * 200}),
        ("plot_braille", {"x": NEAR, "y": NEAR}),
        ("plot_braille", {"x": [-1e-300, 1e-300], "y": OTHER}),
        ("plot_function", {"function": "exp", "x_min": 600, "x_max": 600.0000001}),
        ("histogram", {"data": [*NEAR, *NEAR], "bins": 2}),
    ],
    ids=["upright", "across", "both", "small", "function", "histogram"],
)
async def test_no_line_is_wider_than_was_asked_for(name: str, arguments: dict[str, Any], width: int) -> None:
    """TOOL-07: width is that of the whole plot; 20 were 26."""
    plot = (await ask(name, width=width, height=4, **arguments)).unwrap()["plot"]
    assert max(map(len, plot.split("\n"))) <= width
    assert BRAILLE.search(plot)
    assert "┤" in plot


async def test_numbers_stand_at_an_axis_whole_or_not_at_all() -> None:
    narrow = (await ask("plot_braille", x=ONE, y=NEAR, width=27, height=4)).unwrap()["plot"]
    assert "1234567.00000010 ┤" in narrow
    narrower = (await ask("plot_braille", x=ONE, y=NEAR, width=20, height=4)).unwrap()
    assert "1234567" not in narrower["plot"]
    assert narrower["y_range"] == NEAR
    across = (await ask("plot_braille", x=NEAR, y=ONE, width=20, height=4)).unwrap()["plot"]
    assert across.split("\n")[-1].strip() == "1234567.0000001"
    shown = (await ask("plot_braille", x=[0, 1_000_000], y=ONE, width=30, height=4)).unwrap()["plot"].split("\n")
    assert shown[-1].endswith(" 1000000")
    assert len(shown[-1]) == 30


async def test_a_title_is_shown_as_far_as_it_fits() -> None:
    title = "Everything that was measured, and more"
    plot = (await ask("plot_braille", x=ONE, y=ONE, width=20, height=4, title=title)).unwrap()["plot"]
    assert plot.split("\n")[0] == "Everything that was…"
    whole = (await ask("plot_braille", x=ONE, y=ONE, width=len(title), height=4, title=title)).unwrap()["plot"]
    assert whole.split("\n")[0] == title


@pytest.mark.parametrize("arguments", [{"x": ONE, "y": NEAR}, {"x": NEAR, "y": ONE}, {"x": NEAR, "y": NEAR}])
@pytest.mark.parametrize("title", ["", "Everything that was measured, and more"])
async def test_a_small_picture_of_long_numbers_has_the_plot(arguments: dict[str, Any], title: str) -> None:
    """TOOL-07: it failed, and spoke of x0 and x1."""
    needs("PIL")
    small = (await ask("plot_sixel", width=120, height=90, title=title, **arguments)).unwrap()
    assert small["dimensions"] == {"width": 120, "height": 90}
    # The line, which is the last colour.
    assert re.search(r"#3[?-~!]", small["sixel"])


async def test_a_title_that_does_not_fit_is_cut_in_a_picture_too() -> None:
    needs("PIL")
    long, longer = [
        (await ask("plot_sixel", x=ONE, y=ONE, width=120, height=90, title="title " * times)).unwrap()
        for times in (10, 11)
    ]
    assert long == longer


@pytest.mark.parametrize(
    "colour",
    ["rgb(999,0,0)", "rgb(500%,0%,0%)", "hsl(0,500%,500%)", "hsl(0,500%,50%)", "hsv(0,0%,200%)", "rgb(256,0,0)"],
)
async def test_a_colour_with_parts_that_no_colour_has_is_an_input_error(colour: str) -> None:
    """TOOL-07: they were written into the picture, which was no sixel then."""
    needs("PIL")
    outcome = await ask("plot_sixel", x=ONE, y=ONE, colors=["gold", colour])
    assert outcome.error.category is Category.USER_INPUT
    assert f"colors has '{colour}', which is none" in str(outcome)
    assert (await ask("plot_sixel", x=ONE, y=ONE, colors=["rgb(255,0,0)", "hsl(0,100%,100%)"])).ok
