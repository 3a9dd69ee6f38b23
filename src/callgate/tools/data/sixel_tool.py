"""plot_sixel: a plot as a picture, for terminals that draw sixel graphics."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.tools.data.braille_frame import LONGEST_TITLE, plain
from callgate.tools.data.nothing_outside import nothing_outside
from callgate.tools.data.series import Axis, need_series
from callgate.tools.data.sixel import Colour, encode

_USUAL = ("#1f77b4", "#ffffff", "#202020")
"""The line, the background, and the axes with their texts."""
_LONGEST_COLOUR = 30
_FULL = 255
_DIMENSIONS = {
    "type": "object",
    "properties": {"width": {"type": "integer"}, "height": {"type": "integer"}},
    "required": ["width", "height"],
    "additionalProperties": False,
}
_PICTURE = {
    "type": "object",
    "properties": {"sixel": {"type": "string"}, "format": {"const": "sixel"}, "dimensions": _DIMENSIONS},
    "required": ["sixel", "format", "dimensions"],
    "additionalProperties": False,
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    resources=nothing_outside,
    output_schema=_PICTURE,
    examples=[{"x": [0, 1, 2, 3], "y": [0, 1, 4, 9], "title": "Squares", "colors": ["crimson"]}],
)
def plot_sixel(  # noqa: PLR0917 - a tool's arguments have names
    x: list[float],
    y: list[float],
    plot_type: Literal["line", "scatter"] = "line",
    width: Annotated[int, Field(ge=120, le=1600)] = 800,
    height: Annotated[int, Field(ge=90, le=1200)] = 400,
    title: Annotated[str, Field(max_length=LONGEST_TITLE)] = "",
    colors: Annotated[list[str], Field(max_length=3)] | None = None,
) -> dict[str, Any]:
    """Draw points as a picture in sixel graphics, with axes.

    Args:
        x: Where each point is from left to right.
        y: Where each point is from below.
        plot_type: line joins the points in their order, scatter does not.
        width: Pixels. Numbers at an axis that do not fit are left out.
        height: Pixels.
        title: Stands above the plot, as much of it as fits; in Latin-1.
        colors: Of the line, the background and the axes, as far as given: #rrggbb, or a name such as crimson.
    """
    from callgate.tools.data.lettering import Title  # noqa: PLC0415 - an extra
    from callgate.tools.data.raster import Raster  # noqa: PLC0415 - as above

    need_series(x, y)
    line, background, axes = _colours(colors or [])
    grid = tuple((3 * back + axis) // 4 for back, axis in zip(background, axes, strict=True))
    raster = Raster(Axis.over(x), Axis.over(y), size=(width, height), title=Title(plain(title)))
    raster.points(x, y, joined=plot_type == "line")
    text = encode(raster.pixels(), [background, axes, (grid[0], grid[1], grid[2]), line], width=width)
    return {"sixel": text, "format": "sixel", "dimensions": {"width": width, "height": height}}


def _colours(given: list[str]) -> list[Colour]:
    return [_colour(name[:_LONGEST_COLOUR]) for name in [*given, *_USUAL[len(given) :]]]


def _colour(name: str) -> Colour:
    from PIL import ImageColor  # noqa: PLC0415 - an extra

    with contextlib.suppress(ValueError):
        red, green, blue, *_ = ImageColor.getrgb(name)
        # It reads rgb(999, 0, 0) too, and hsl(0, 500%, 500%) with parts below zero.
        if all(0 <= part <= _FULL for part in (red, green, blue)):
            return red, green, blue
    raise ValueError(f"colors has {name!r}, which is none; write it as #rrggbb")
