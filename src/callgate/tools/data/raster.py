"""A plot as a picture: a frame with marked axes, a grid and the points, in as few colours as the palette has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from callgate.tools.data.series import Axis

LINE, BACKGROUND, AXES, GRID = 3, 0, 1, 2
"""Numbers of the colours in the palette."""
_MARGIN = 10
_PIXELS_PER_MARK = 60, 110
"""Of the upright axis, and of the other."""
_TICK = 5
_DOT = 3


class Raster:
    """The picture of one plot."""

    def __init__(self, x: Axis, y: Axis, *, size: tuple[int, int], title: str) -> None:
        self._image = Image.new("P", size, BACKGROUND)
        self._draw = ImageDraw.Draw(self._image)
        # One colour for letters too: shades in between would need a larger palette.
        self._draw.fontmode = "1"
        self._font = ImageFont.load_default(14)
        width, height = size
        step = y.step(max(height // _PIXELS_PER_MARK[0], 3))
        self._x, self._y = x, y.widened(step)
        marks = self._y.marks(step)
        line = round(self._font.getbbox("0")[3]) + _TICK
        left = round(max(self._font.getlength(text) for _, text in marks)) + _TICK + _MARGIN
        self._box = (left, line + _MARGIN if title else _MARGIN, width - 2 * _MARGIN, height - line - _MARGIN)
        self._frame(marks, x.marks(x.step(max((self._box[2] - left) // _PIXELS_PER_MARK[1], 2))))
        self._draw.text(((left + self._box[2]) / 2, _MARGIN / 2), title, AXES, self._font, anchor="mt")

    def points(self, x: Sequence[float], y: Sequence[float], *, joined: bool) -> None:
        """Draw the points, or the lines between them."""
        places = [self._place(*point) for point in zip(x, y, strict=True)]
        for start, end in dict.fromkeys(pairwise(places)) if joined else ():
            self._draw.line((start, end), fill=LINE, width=2)
        if not joined or len(places) == 1:
            for across, down in dict.fromkeys(places):
                self._draw.ellipse((across - _DOT, down - _DOT, across + _DOT, down + _DOT), fill=LINE)

    def pixels(self) -> bytes:
        """The number of each pixel's colour, row by row."""
        return self._image.tobytes()

    def _place(self, x: float, y: float) -> tuple[int, int]:
        left, top, right, bottom = self._box
        return left + self._x.place(x, steps=right - left + 1), bottom - self._y.place(y, steps=bottom - top + 1)

    def _frame(self, upright: Sequence[tuple[float, str]], across: Sequence[tuple[float, str]]) -> None:
        left, top, right, bottom = self._box
        for number, text in upright:
            _, at = self._place(self._x.low, number)
            self._draw.line(((left, at), (right, at)), fill=GRID)
            self._draw.line(((left - _TICK, at), (left, at)), fill=AXES)
            self._draw.text((left - _TICK - 2, at), text, AXES, self._font, anchor="rm")
        for number, text in across:
            at, _ = self._place(number, self._y.low)
            self._draw.line(((at, top), (at, bottom)), fill=GRID)
            self._draw.line(((at, bottom), (at, bottom + _TICK)), fill=AXES)
            self._draw.text((at, bottom + _TICK + 2), text, AXES, self._font, anchor="mt")
        self._draw.rectangle(self._box, outline=AXES)
