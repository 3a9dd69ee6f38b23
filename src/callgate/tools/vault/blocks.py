"""Blocks: what each line of a Markdown text is, one after the other, as CommonMark tells it. Knows no code spans.

A line stands in quotations and list items; what is left of it begins something, goes on with it, or is code. Tabs reach
to every fourth column. Lines of HTML count as text.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

_DEEPEST = 50
"""Quotations and items in each other; what lies deeper is text."""
_CODE_INDENT = 4
_BLANKS = re.compile(r" *")
_ITEM = re.compile(r"(?P<mark>[-+*]|(?P<number>\d{1,9})[.)])(?P<blanks> +|$)")
_HEADING = re.compile(r"#{1,6}(?: |$)")
_FENCE = re.compile(r"`{3,}(?=[^`]*$)|~{3,}")
_UNDERLINE = re.compile(r"=+$|-+$")
_RULES = ({"-"}, {"*"}, {"_"})
_SHORTEST_RULE = 3
_DELIMITER = re.compile(r":?-+:?")
_QUOTE = 0
"""In the place of an item's width."""


class Kind(enum.Enum):
    """What a line is to the lines before it."""

    TEXT = "text"
    """It begins something: a paragraph, a heading, an item, a blank between two."""
    MORE = "more"
    """It goes on with the text of the line before."""
    TABLE = "table"
    """It is what makes the line before it the head of a table."""
    ROW = "row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class _Fence:
    letter: str
    length: int


class Blocks:
    """Told the lines of one text in their order."""

    def __init__(self) -> None:
        self._within: list[int] = []
        """The quotations and items that are open; of an item, how far what belongs to it is indented."""
        self._fence: _Fence | None = None
        self._paragraph = False
        self._head = 0
        """How many cells the line before has, if it can be the head of a table."""
        self._table = False

    def take(self, line: str) -> Kind:
        """What the next line is."""
        bare = line.rstrip("\r\n").expandtabs(4).rstrip(" ")
        at, depth = self._entered(bare)
        if self._fence is not None:
            if depth == len(self._within):
                self._end_fence(bare, at)
                return Kind.CODE
            self._fence = None  # what it stood in has ended, and it with that
        if at >= len(bare):
            del self._within[depth:]
            self._paragraph = self._table = False
            return Kind.TEXT
        return self._begun(bare, at, depth=depth)

    def _entered(self, line: str) -> tuple[int, int]:
        """Where a line goes on behind the marks of what is open, and how many of them it has."""
        at = 0
        for depth, width in enumerate(self._within):
            indent = _indent(line, at)
            if width == _QUOTE:
                if indent >= _CODE_INDENT or line[at + indent : at + indent + 1] != ">":
                    return at, depth
                at = _behind_quote(line, at + indent)
            elif at < len(line):
                if indent < width:
                    return at, depth
                at += width
        return at, len(self._within)

    def _begun(self, line: str, at: int, *, depth: int) -> Kind:
        """What the rest of a line is, which may first begin quotations and items."""
        whole = depth == len(self._within)
        while at < len(line):
            indent = _indent(line, at)
            if indent >= _CODE_INDENT:
                if self._paragraph:
                    return self._text(line, at, depth=depth, whole=whole)
                del self._within[depth:]
                return Kind.CODE
            entered = self._enter(line, at + indent, at=at, depth=depth, whole=whole)
            if entered is None:
                return self._leaf(line, at + indent, depth=depth, whole=whole)
            at, depth, whole = entered, depth + 1, True
        return Kind.TEXT

    def _enter(self, line: str, start: int, *, at: int, depth: int, whole: bool) -> int | None:
        """Where the line goes on behind the mark of a quotation or an item that begins here; None: none does."""
        if depth >= _DEEPEST:
            return None
        if line[start] == ">":
            end, width = _behind_quote(line, start), _QUOTE
        else:
            found = None if _is_rule(line[start:]) else _ITEM.match(line, start)
            if found is None or (self._paragraph and whole and not _interrupts(found)):
                return None
            blanks = len(found["blanks"])
            end = found.end("mark") + (blanks if 1 <= blanks <= _CODE_INDENT else 1)
            width = end - at
        self._within[depth:] = [width]
        self._paragraph = self._table = False
        return end

    def _leaf(self, line: str, start: int, *, depth: int, whole: bool) -> Kind:
        rest = line[start:]
        fence = _FENCE.match(rest)
        if fence is not None:
            self._fence = _Fence(rest[0], len(fence[0]))
        elif not (_HEADING.match(rest) or _is_rule(rest)):
            return self._text(line, start, depth=depth, whole=whole)
        goes_on = self._paragraph and whole and _UNDERLINE.match(rest) is not None
        del self._within[depth:]
        self._paragraph = self._table = False
        return Kind.CODE if fence is not None else Kind.MORE if goes_on else Kind.TEXT

    def _text(self, line: str, start: int, *, depth: int, whole: bool) -> Kind:
        """A line of a paragraph, which may go on without the marks of what it stands in."""
        rest = line[start:]
        if self._table and whole:
            return Kind.ROW
        if not self._paragraph or self._table:
            del self._within[depth:]
            self._paragraph, self._table, self._head = True, False, _cells(rest)
            return Kind.TEXT
        if whole and _UNDERLINE.match(rest):
            self._paragraph = False
            return Kind.MORE
        head, self._head = self._head, _cells(rest)
        if whole and head and head == _delimiters(rest):
            self._table = True
            return Kind.TABLE
        return Kind.MORE

    def _end_fence(self, line: str, at: int) -> None:
        assert self._fence is not None  # noqa: S101 - asked by the caller
        indent = _indent(line, at)
        run = line[at + indent :]
        if indent < _CODE_INDENT and len(run) >= self._fence.length and not run.strip(self._fence.letter):
            self._fence = None
            self._paragraph = False


def _indent(line: str, at: int) -> int:
    found = _BLANKS.match(line, at)
    return 0 if found is None else found.end() - at


def _behind_quote(line: str, at: int) -> int:
    return at + (2 if line.startswith(" ", at + 1) else 1)


def _interrupts(item: re.Match[str]) -> bool:
    """Whether an item may follow a paragraph without a blank line between."""
    return bool(item["blanks"]) and item["number"] in {None, "1"}


def _is_rule(rest: str) -> bool:
    marks = rest.replace(" ", "")
    return len(marks) >= _SHORTEST_RULE and set(marks) in _RULES


def _cells(rest: str) -> int:
    """How many cells a line has as a row of a table; 0 where it has no bar."""
    if "|" not in rest:
        return 0
    return len(rest.strip(" ").removeprefix("|").removesuffix("|").replace("\\|", "").split("|"))


def _delimiters(rest: str) -> int:
    """How many cells of dashes a line has; 0 where one is something else."""
    if "|" not in rest:
        return 0
    cells = rest.strip(" ").removeprefix("|").removesuffix("|").split("|")
    return len(cells) if all(_DELIMITER.fullmatch(cell.strip(" ")) for cell in cells) else 0
