"""plot_sixel: what a terminal would draw, read back by a decoder of the tests' own. TOOL-07."""

from __future__ import annotations

import re
from typing import Any

import pytest

from callgate import Callgate
from callgate.model.levels import Category
from callgate.tools.data.sixel import encode
from tests.tools.data.asking import ask
from tests.tools.examples import run_examples

Pixel = tuple[int, int, int]
TOKEN = re.compile(r"#(\d+)(?:;2;(\d+);(\d+);(\d+))?|!(\d+)([?-~])|([?-~])|(\$)|(-)")
WHITE, BLUE = (255, 255, 255), (31, 119, 180)


async def draw(**arguments: Any) -> Any:
    return await ask("plot_sixel", **arguments)


def decode(text: str) -> tuple[int, int, dict[tuple[int, int], Pixel]]:
    """As a terminal does it: width, height and every pixel that was drawn, each once."""
    opened = re.match(r'\x1bP[0-9;]*q"1;1;(\d+);(\d+)', text)
    assert opened
    assert text.endswith("\x1b\\")
    colours: dict[int, Pixel] = {}
    drawn: dict[tuple[int, int], Pixel] = {}
    at, across, top, colour = opened.end(), 0, 0, 0
    while at < len(text) - 2:
        token = TOKEN.match(text, at)
        assert token, f"not sixel at {at}: {text[at : at + 20]!r}"
        at = token.end()
        number, red, green, blue, count, repeated, single, back, down = token.groups()
        if number is not None:
            colour = int(number)
            if red is not None:
                colours[colour] = (round(int(red) * 2.55), round(int(green) * 2.55), round(int(blue) * 2.55))
        elif back or down:
            across, top = 0, top + (6 if down else 0)
        else:
            end = across + int(count or 1)
            rows = [top + bit for bit in range(6) if ord(repeated or single) - 63 >> bit & 1]
            dots = {(column, row): colours[colour] for column in range(across, end) for row in rows}
            assert drawn.keys().isdisjoint(dots)
            drawn |= dots
            across = end
    return int(opened[1]), int(opened[2]), drawn


def near(one: Pixel, other: Pixel) -> bool:
    return all(abs(a - b) <= 3 for a, b in zip(one, other, strict=True))


async def test_every_pixel_of_the_picture_is_drawn_once_and_the_line_is_where_the_points_are() -> None:
    """TOOL-07: sixel, format, dimensions; decoded by somebody else."""
    made = (await draw(x=[0, 1], y=[0, 1], title="Up")).unwrap()
    assert made["format"] == "sixel"
    assert made["dimensions"] == {"width": 800, "height": 400}
    width, height, pixels = decode(made["sixel"])
    assert (width, height) == (800, 400)
    assert set(pixels) == {(across, down) for across in range(800) for down in range(400)}
    assert near(pixels[0, 0], WHITE)
    line = [place for place, colour in pixels.items() if near(colour, BLUE)]
    left, right = min(line), max(line)
    assert right[0] - left[0] > 650
    for across, down in line:
        share = (across - left[0]) / (right[0] - left[0])
        assert abs(left[1] + share * (right[1] - left[1]) - down) < 4
    assert left[1] > right[1]


async def test_the_colours_are_those_that_were_asked_for_and_few() -> None:
    made = (
        await draw(x=[1, 2, 3], y=[3, 1, 2], plot_type="scatter", width=200, height=100, colors=["gold", "#102030"])
    ).unwrap()
    _, _, pixels = decode(made["sixel"])
    colours = set(pixels.values())
    assert len(colours) <= 4
    assert any(near(colour, (255, 215, 0)) for colour in colours)
    assert near(pixels[0, 0], (16, 32, 48))


async def test_what_repeats_is_counted_and_equal_input_gives_equal_output() -> None:
    """TOOL-07: equal input, equal output."""
    first = (await draw(x=[0, 1, 2], y=[5, 5, 5])).unwrap()
    assert first == (await draw(x=[0, 1, 2], y=[5, 5, 5])).unwrap()
    assert len(first["sixel"]) < 800 * 400 // 20
    assert "!" in first["sixel"]


async def test_each_letter_of_a_title_is_drawn_as_itself() -> None:
    """TOOL-07: the usual font has a box for all that it does not have."""
    signs = "aou?äöüßÄÖÜéèñçøµ²½«°±\u00d7\u2019“”…"
    titles = [*signs, "aé", "oé"]
    drawn = {(await draw(x=[1], y=[1], width=120, height=90, title=title)).unwrap()["sixel"] for title in titles}
    assert len(drawn) == len(titles)


@pytest.mark.parametrize(
    ("title", "same"),
    [
        ("a \u2013 b \u2014 c", "a - b - c"),
        ("u\u0308ber", "\u00fcber"),
        ("\u201ef\u00fcr\u201c\u2026", '"f\u00fcr"...'),
    ],
)
async def test_dashes_and_what_else_is_written_in_several_ways_are_drawn_in_one(title: str, same: str) -> None:
    assert (await draw(x=[1], y=[1], title=title)).unwrap() == (await draw(x=[1], y=[1], title=same)).unwrap()


@pytest.mark.parametrize("letter", ["a", "\u00e4"])
async def test_of_a_title_that_is_too_long_the_end_is_left_out_in_either_font(letter: str) -> None:
    _, _, pixels = decode((await draw(x=[1], y=[1], width=120, height=90, title=letter * 200)).unwrap()["sixel"])
    inked = [across for (across, down), colour in pixels.items() if down < 18 and not near(colour, WHITE)]
    assert min(inked) < 12
    assert 105 < max(inked) < 120


@pytest.mark.parametrize("height", [1, 5, 6, 7, 12, 13])
def test_a_picture_of_any_height_comes_back_as_it_was(height: int) -> None:
    palette = [(0, 0, 0), (255, 255, 255), (255, 0, 0)]
    pixels = bytes((across * across + down * 5) % 7 % 3 for down in range(height) for across in range(11))
    width, high, drawn = decode(encode(pixels, palette, width=11))
    assert (width, high) == (11, height)
    assert drawn == {(at % 11, at // 11): palette[number] for at, number in enumerate(pixels)}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"x": [], "y": []}, "x is empty"),
        ({"x": [1, 2], "y": [1]}, "each point needs both"),
        ({"x": [1], "y": [1], "colors": ["no colour"]}, "#rrggbb"),
        (
            {"x": [1], "y": [1], "title": "in \u20ac"},
            "title has '\u20ac', and pictures have the letters and signs of Latin-1 only",
        ),
        ({"x": [1], "y": [1], "title": "\u0141"}, "title has '\u0141'"),
    ],
    ids=["empty", "unequal", "colour", "sign", "letter"],
)
async def test_what_cannot_be_drawn_is_an_input_error(arguments: dict[str, Any], said: str) -> None:
    outcome = await draw(**arguments)
    assert outcome.error.category is Category.USER_INPUT
    assert said in str(outcome)


async def test_a_picture_has_a_largest_size() -> None:
    assert (await draw(x=[1], y=[1], width=100_000)).error.code == "invalid_arguments"
    assert (await draw(x=[1], y=[1], colors=["red"] * 4)).error.code == "invalid_arguments"


async def test_the_examples_run() -> None:
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        await run_examples(gate, "plot_sixel")
