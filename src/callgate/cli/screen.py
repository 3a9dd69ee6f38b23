"""What a person sees: lines, facts and tables that fit the terminal, plain when piped. Hidden characters show.

Everything given to a `Screen` is made visible first, so no text of a tool or a model can move the cursor or hide.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TextIO

from callgate.cli.moments import moment, short_moment
from callgate.cli.streams import put
from callgate.cli.width import columns, cut, fold, pad
from callgate.model.visible import one_line, visible

_FALLBACK_WIDTH = 80
_NARROWEST = 8
_GAP = "  "
_TAB = 4
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Column(NamedTuple):
    """One column of a table."""

    title: str
    whole: bool = False
    """Never cut: something people copy."""


class Cell(NamedTuple):
    """A value with a style."""

    text: str
    style: str = ""
    whole: bool = False
    """Never folded: a command that people copy."""


Row = Sequence[str | Cell]


class Screen:
    """One stream, as wide and as colourful as what is behind it.

    Args:
        stream: Where it is written.
        width: Columns; None asks the terminal, and without one nothing is folded or cut.
        colour: None decides: on a terminal that can, and never with NO_COLOR.
        margin: Spaces before every line.
    """

    def __init__(
        self, stream: TextIO, *, width: int | None = None, colour: bool | None = None, margin: int = 0
    ) -> None:
        self._stream = stream
        self._margin = " " * margin
        self.is_terminal = stream.isatty()
        room = width or (_terminal_width(stream) if self.is_terminal else None)
        self.width = None if room is None else max(1, room - margin)
        self.colour = self.is_terminal and _colours_wanted() if colour is None else colour

    def say(self, text: str = "", *, style: str = "", indent: int = 0, mark: str = "") -> None:
        """A paragraph; `mark` stands before each of its lines, so that nothing in the text can pass for ours."""
        shown, before = self._shown(text), " " * indent + mark
        lines = shown.split("\n") if self.width is None else fold(shown, self.width - columns(before))
        for line in lines:
            self._write(before + self._styled(line, style))

    def facts(self, pairs: Iterable[tuple[str, str | Cell]], *, indent: int = 0) -> None:
        """Labels with their values below each other; empty values are left out."""
        kept = [(label, _cell(value)) for label, value in pairs if _cell(value).text]
        widest = max((columns(label) for label, _ in kept), default=0)
        for label, cell in kept:
            before = " " * indent + pad(label, widest) + _GAP
            shown = self._shown(cell.text)
            room = None if self.width is None else max(_NARROWEST, self.width - columns(before))
            first, *rest = shown.split("\n") if room is None or cell.whole else fold(shown, room)
            head = " " * indent + self._styled(pad(label, widest), "dim") + _GAP
            self._write(head + self._styled(first, cell.style))
            for line in rest:
                self._write(" " * columns(before) + self._styled(line, cell.style))

    def table(self, heads: Sequence[Column], rows: Iterable[Row]) -> None:
        """Rows under their titles; on a terminal the widest columns are cut until they fit."""
        cells = [[cell._replace(text=one_line(cell.text)) for cell in map(_cell, row)] for row in rows]
        widths = [max(columns(text) for text in (head.title, *column)) for head, column in _by_column(heads, cells)]
        if self.width is not None and not _fit(widths, heads, width=self.width):
            self._records(heads, cells)
            return
        self._row([Cell(head.title, "bold") for head in heads], widths)
        for row in cells:
            self._row(row, widths)

    def moment(self, seconds: float | None) -> str:
        """A time for a table: in full where it is kept, short where it is looked at."""
        return moment(seconds) if self.width is None else short_moment(seconds)

    def _row(self, row: Sequence[Cell], widths: Sequence[int]) -> None:
        texts = [pad(cut(cell.text, width), width) for cell, width in zip(row, widths, strict=True)]
        texts[-1] = texts[-1].rstrip()
        self._write(_GAP.join(self._styled(text, cell.style) for text, cell in zip(texts, row, strict=True)).rstrip())

    def _records(self, heads: Sequence[Column], rows: Iterable[Sequence[Cell]]) -> None:
        """A table for a terminal that is too narrow for one: each row as facts."""
        for row in rows:
            self.facts((head.title, cell) for head, cell in zip(heads, row, strict=True))
            self._write("")

    def _shown(self, text: str) -> str:
        """What is hidden made visible; tabs stay where nobody counts columns, so that a kept table is the table."""
        return visible(text) if self.width is None else visible(text).expandtabs(_TAB)

    def _styled(self, text: str, style: str) -> str:
        code = _STYLES.get(style)
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text

    def _write(self, line: str) -> None:
        put(self._stream, (self._margin + line if line else line) + "\n")


def _by_column(heads: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[tuple[Column, list[str]]]:
    return [(head, [row[place].text for row in rows]) for place, head in enumerate(heads)]


def _fit(widths: list[int], heads: Sequence[Column], *, width: int) -> bool:
    """Narrow the widest columns that may be cut; False if that is not enough."""
    room = width - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room:
        cuttable = [place for place, head in enumerate(heads) if not head.whole and widths[place] > _NARROWEST]
        if not cuttable:
            return False
        widest = max(cuttable, key=lambda place: widths[place])
        widths[widest] -= 1
    return True


def _cell(value: str | Cell) -> Cell:
    return Cell(value) if isinstance(value, str) else value


def _terminal_width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or _FALLBACK_WIDTH
    except OSError:
        return _FALLBACK_WIDTH


def _colours_wanted() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") not in {"", "dumb"}
