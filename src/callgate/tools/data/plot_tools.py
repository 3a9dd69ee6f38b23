"""plot_braille, plot_function and histogram: plots in braille characters, with axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from callgate.adapters.function import tool
from callgate.tools.data.braille_frame import LONGEST_TITLE, Frame
from callgate.tools.data.nothing_outside import nothing_outside
from callgate.tools.data.series import LARGEST, Axis, need_numbers, need_series

Width = Annotated[int, Field(ge=20, le=200)]
Height = Annotated[int, Field(ge=4, le=60)]
_RANGE = {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}
_PLOTTED = {
    "type": "object",
    "properties": {"plot": {"type": "string"}, "x_range": _RANGE, "y_range": _RANGE},
    "required": ["plot", "x_range", "y_range"],
    "additionalProperties": False,
}
_HISTOGRAM = {
    "type": "object",
    "properties": {
        "plot": {"type": "string"},
        "n_bins": {"type": "integer"},
        "bin_edges": {"type": "array", "items": {"type": "number"}},
        "counts": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["plot", "n_bins", "bin_edges", "counts"],
    "additionalProperties": False,
}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sin": math.sin,
    "cos": math.cos,
    "exp": math.exp,
    "log": math.log,
    "x^2": lambda x: x * x,
    "x^3": lambda x: x * x * x,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "sigmoid": lambda x: 0.5 * (1 + math.tanh(x / 2)),
    "gaussian": lambda x: math.exp(-x * x / 2),
}


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    resources=nothing_outside,
    output_schema=_PLOTTED,
    examples=[{"x": [0, 1, 2, 3], "y": [0, 1, 4, 9], "title": "Squares"}],
)
def plot_braille(  # noqa: PLR0917 - a tool's arguments have names
    x: list[float],
    y: list[float],
    plot_type: Literal["scatter", "line"] = "line",
    width: Width = 80,
    height: Height = 20,
    title: Annotated[str, Field(max_length=LONGEST_TITLE)] = "Plot",
) -> dict[str, Any]:
    """Draw points as a plot in braille characters, with axes.

    Args:
        x: Where each point is from left to right.
        y: Where each point is from below.
        plot_type: line joins the points in their order, scatter does not.
        width: Columns of the whole plot. Numbers at an axis that do not fit are left out.
        height: Rows of the drawing, without title and axis.
        title: Stands above the plot, as much of it as fits; empty for none.
    """
    need_series(x, y)
    frame = Frame(Axis.over(x), Axis.over(y), width=width, height=height)
    _draw(frame, [list(zip(x, y, strict=True))], joined=plot_type == "line")
    return _plotted(frame, title, x=x, y=y)


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    resources=nothing_outside,
    output_schema=_PLOTTED,
    examples=[{"function": "sin"}, {"function": "log", "x_min": 0, "x_max": 10}],
)
def plot_function(  # noqa: PLR0917 - as above
    function: Literal["sin", "cos", "exp", "log", "x^2", "x^3", "sqrt", "tanh", "sigmoid", "gaussian"],
    x_min: float = -3.14159,
    x_max: float = 3.14159,
    width: Width = 80,
    height: Height = 20,
) -> dict[str, Any]:
    """Draw a well-known function as a plot in braille characters, with axes. Where it has no value, nothing is drawn.

    Args:
        function: Which function.
        x_min: Where the plot begins.
        x_max: Where the plot ends.
        width: Columns of the whole plot. Numbers at an axis that do not fit are left out.
        height: Rows of the drawing, without title and axis.
    """
    need_numbers([x_min, x_max], name="x_min or x_max")
    if not x_min < x_max:
        raise ValueError("x_min must be less than x_max")
    count = 2 * width
    places = [x_min + (x_max - x_min) * at / (count - 1) for at in range(count)]
    points = [(x, y) for x in places if (y := _value(function, x)) is not None]
    if not points:
        raise ValueError(f"x_min and x_max: {function} has no value between {x_min:g} and {x_max:g} that can be drawn")
    y = [point[1] for point in points]
    frame = Frame(Axis(x_min, x_max), Axis.over(y), width=width, height=height)
    _draw(frame, [points], joined=True)
    return _plotted(frame, function, x=(x_min, x_max), y=y)


def _value(function: str, x: float) -> float | None:
    try:
        value = _FUNCTIONS[function](x)
    except (ValueError, OverflowError):
        return None
    return value if abs(value) <= LARGEST else None


@tool(
    effects="read_only",
    deterministic=True,
    concurrency_safe=True,
    scopes=["compute:run"],
    timeout=30,
    resources=nothing_outside,
    output_schema=_HISTOGRAM,
    examples=[{"data": [1, 2, 2, 3, 3, 3, 4, 4, 5], "bins": 5}],
)
def histogram(  # noqa: PLR0917 - as above
    data: list[float],
    bins: Annotated[int, Field(ge=1, le=200)] = 20,
    width: Width = 80,
    height: Height = 20,
) -> dict[str, Any]:
    """Count numbers in bins of equal width, and draw the counts in braille characters.

    Args:
        data: The numbers.
        bins: How many bins; the last one includes its upper edge.
        width: Columns of the whole plot. Numbers at an axis that do not fit are left out.
        height: Rows of the drawing, without the axis.
    """
    need_numbers(data, name="data")
    low, high = float(min(data)), float(max(data))
    if low == high:
        low, high = low - 0.5, high + 0.5
    if not low < high:
        raise ValueError("data has only one number, which is too large to make bins around it; scale it down")
    edges = [low + (high - low) * at / bins for at in range(bins)] + [high]
    counts = [0] * bins
    for number in data:
        counts[_bin(number, edges)] += 1
    frame = Frame(Axis(low, high), Axis(0, max(counts)), width=width, height=height, counts=True)
    canvas = frame.canvas
    if bins > canvas.width:
        raise ValueError(f"bins is {bins}, and width {width} has room for {canvas.width}; use fewer, or draw wider")
    for column in range(canvas.width):
        count = counts[column * bins // canvas.width]
        # What is not nothing can be seen.
        canvas.column(column, frame.place(low, count)[1] + 1 if count else 0)
    return {"plot": frame.text(""), "n_bins": bins, "bin_edges": edges, "counts": counts}


def _bin(number: float, edges: Sequence[float]) -> int:
    """The bin whose edges hold it; reckoning alone may be off by one where a number is an edge."""
    last = len(edges) - 2
    at = min(int((number - edges[0]) / (edges[-1] - edges[0]) * (last + 1)), last)
    if number < edges[at]:
        return at - 1
    return at + 1 if at < last and number >= edges[at + 1] else at


def _draw(frame: Frame, lines: Sequence[Sequence[tuple[float, float]]], *, joined: bool) -> None:
    for points in lines:
        dots = [frame.place(x, y) for x, y in points]
        for dot in dots:
            frame.canvas.dot(*dot)
        # What was drawn once need not be drawn again: many points share few dots.
        for start, end in dict.fromkeys(pairwise(dots)) if joined else ():
            frame.canvas.line(start, end)


def _plotted(frame: Frame, title: str, *, x: Sequence[float], y: Sequence[float]) -> dict[str, Any]:
    return {"plot": frame.text(title), "x_range": [min(x), max(x)], "y_range": [min(y), max(y)]}
