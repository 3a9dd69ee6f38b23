"""A canvas with a title, and axes that are marked."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from decimal import Decimal

from callgate.tools.data.braille import Canvas
from callgate.tools.data.series import Axis

_ROWS_PER_MARK = 2
_COLUMNS_PER_MARK = 14
LONGEST_TITLE = 200
_LEAST = 8
"""Columns of dots; numbers at the upright axis that leave fewer are left out."""


class Frame:
    """Where a plot is drawn: so many columns in all, and so many rows of dots between the title and the axis.

    Numbers at an axis for which there is no room are left out, and so is the end of the title.
    """

    def __init__(self, x: Axis, y: Axis, *, width: int, height: int, counts: bool = False) -> None:
        self._width = width
        step = y.step(max(height // _ROWS_PER_MARK, 3))
        if counts:
            step = max(step, Decimal(1))
        self._x, self._y = x, y.widened(step)
        marks = self._y.marks(step)
        self._labels = {height - 1 - self._y.place(number, steps=height): text for number, text in marks}
        if width - self._left() < _LEAST:
            self._labels = dict.fromkeys(self._labels, "")
        self._margin = self._left()
        self._columns = width - self._margin
        self.canvas = Canvas(self._columns, height)

    def place(self, x: float, y: float) -> tuple[int, int]:
        """The dot of a point."""
        canvas = self.canvas
        return self._x.place(x, steps=canvas.width), self._y.place(y, steps=canvas.height)

    def text(self, title: str) -> str:
        """The whole plot, in lines."""
        lines = [self._row(at, dots) for at, dots in enumerate(self.canvas.rows())]
        shown = self._cut(plain(title))
        left = min(self._margin + max(self._columns - len(shown), 0) // 2, self._width - len(shown))
        heading = [" " * left + shown] if shown else []
        return "\n".join(line.rstrip() for line in [*heading, *lines, *self._foot()])

    def _left(self) -> int:
        return max(map(len, self._labels.values()), default=0) + 2

    def _cut(self, title: str) -> str:
        return title if len(title) <= self._width else title[: self._width - 1] + "…"

    def _row(self, at: int, dots: str) -> str:
        label = self._labels.get(at)
        return f"{label or '':>{self._margin - 2}} {'│' if label is None else '┤'}{dots}"

    def _foot(self) -> Sequence[str]:
        marks = self._x.marks(self._x.step(max(self._columns // _COLUMNS_PER_MARK, 2)))
        line = ["─"] * self._columns
        labels = [" "] * self._width
        free = 0
        for number, text in marks:
            at = self._x.place(number, steps=self._columns)
            start = min(max(self._margin + at - len(text) // 2, 0), self._width - len(text))
            line[at] = "┬"
            if start >= free:
                labels[start : start + len(text)] = text
                free = start + len(text) + 1
        return [" " * (self._margin - 1) + "└" + "".join(line), "".join(labels)]


def plain(title: str) -> str:
    """A title on one line, without anything that a terminal would obey."""
    return "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in title).strip()
