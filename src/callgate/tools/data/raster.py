"""A plot as a picture: a frame with marked axes, a grid and the points, in as few colours as the palette has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from PIL import Image, ImageDraw

from callgate.tools.data.lettering import Title, usual_font
from callgate.tools.data.series import Axis

LINE, BACKGROUND, AXES, GRID = 3, 0, 1, 2
"""Numbers of the colours in the palette."""
_MARGIN = 10
_PIXELS_PER_MARK = 60, 110
"""Of the upright axis, and of the other."""
_TICK = 5
_DOT = 3
_LEAST = 40
"""Pixels from left to right; numbers at the upright axis that leave fewer are left out."""


class Raster:
    """The picture of one plot. Numbers at an axis for which there is no room are left out, and the end of the title."""

    def __init__(self, x: Axis, y: Axis, *, size: tuple[int, int], title: Title) -> None:
        self._image = Image.new("P", size, BACKGROUND)
        self._draw = ImageDraw.Draw(self._image)
        # One colour for letters too: shades in between would need a larger palette.
        self._draw.fontmode = "1"
        self._font = usual_font()
        width, height = size
        step = y.step(max(height // _PIXELS_PER_MARK[0], 3))
        self._x, self._y = x, y.widened(step)
        marks = self._y.marks(step)
        line = round(self._font.getbbox("0")[3]) + _TICK
        left, right = self._left(marks), width - 2 * _MARGIN
        if right - left < _LEAST:
            marks = [(number, "") for number, _ in marks]
            left = self._left(marks)
        self._box = (left, line + _MARGIN if title.text else _MARGIN, right, height - line - _MARGIN)
        self._upright(marks)
        self._across(x.marks(x.step(max((right - left) // _PIXELS_PER_MARK[1], 2))))
        self._draw.rectangle(self._box, outline=AXES)
        title.cut(width)
        _, start = self._within((left + right) / 2, title.length)
        title.draw(self._draw, (start, _MARGIN / 2), colour=AXES)

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

    def _left(self, marks: Sequence[tuple[float, str]]) -> int:
        return round(max(self._font.getlength(text) for _, text in marks)) + _TICK + _MARGIN

    def _within(self, middle: float, length: float) -> tuple[float, float]:
        """Where the middle of a text has to be so that all of it is in the picture, and where it begins then."""
        half = length / 2
        middle = min(max(middle, half), self._image.width - half)
        return middle, middle - half

    def _upright(self, marks: Sequence[tuple[float, str]]) -> None:
        left, _, right, _ = self._box
        for number, text in marks:
            _, at = self._place(self._x.low, number)
            self._draw.line(((left, at), (right, at)), fill=GRID)
            self._draw.line(((left - _TICK, at), (left, at)), fill=AXES)
            self._draw.text((left - _TICK - 2, at), text, AXES, self._font, anchor="rm")

    def _across(self, marks: Sequence[tuple[float, str]]) -> None:
        _, top, _, bottom = self._box
        free = 0.0
        for number, text in marks:
            at, _ = self._place(number, self._y.low)
            self._draw.line(((at, top), (at, bottom)), fill=GRID)
            self._draw.line(((at, bottom), (at, bottom + _TICK)), fill=AXES)
            length = self._font.getlength(text)
            middle, start = self._within(at, length)
            if start >= free:
                self._draw.text((middle, bottom + _TICK + 2), text, AXES, self._font, anchor="mt")
                free = start + length + _TICK
