"""A formula in LaTeX, read and written on one line.

What needs more than a line is told apart from what is wrong: `NotLinear` is no error of the one who wrote it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from callgate.tools.data.latex_pieces import Piece, above, below, in_parentheses, is_nothing, join, ready_for
from callgate.tools.data.latex_style import AsciiStyle, Style
from callgate.tools.data.latex_symbols import ACCENTS, FONTS, NOTHING, Kind

DEEPEST = 40
_FRACTIONS_INSIDE = 2
_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.", re.DOTALL)
_DOLLARS = re.compile(r"\s*(?:\$\$(.*)\$\$|\$(.*)\$|\\\[(.*)\\\]|\\\((.*)\\\))\s*", re.DOTALL)
_MARKS = frozenset("^_'")
_WITHOUT_MEANING = frozenset({"\\limits", "\\nolimits"})
"""They only say where a script is drawn, and stand between it and what it belongs to."""
_FRACTIONS = frozenset({"frac", "dfrac", "tfrac", "cfrac"})


_ENVIRONMENTS = {"vmatrix": "det[{}]", "Vmatrix": "norm[{}]", "Bmatrix": "{{{}}}", "cases": "cases[{}]"}
"""What is not only another way of drawing a matrix."""


class NotLinear(Exception):
    """It can be read in two dimensions only."""


def bare(latex: str) -> str:
    """The formula without the signs that only say it is one."""
    found = _DOLLARS.fullmatch(latex)
    return next((part for part in found.groups() if part is not None), "") if found else latex


def to_line(latex: str, style: Style) -> str:
    """Write a formula on one line.

    Raises:
        ValueError: It is none; says why.
        NotLinear: It is one, but on one line nobody could read it.
    """
    reader = _Reader(latex, style)
    if isinstance(style, AsciiStyle):
        reader.need_pairs()
    return reader.whole()


class _Reader:
    def __init__(self, latex: str, style: Style) -> None:
        self._tokens = [token for token in _TOKEN.findall(latex) if token not in _WITHOUT_MEANING]
        self._at = 0
        self._depth = 0
        self._fractions = 0
        self._style = style
        self._commands: dict[str, Callable[[str], list[Piece]]] = {
            "sqrt": self._root,
            "begin": self._environment,
            "\\": self._break,
            "newline": self._break,
            **dict.fromkeys(_FRACTIONS, self._fraction),
            **dict.fromkeys(("binom", "dbinom", "tbinom"), self._binomial),
            **dict.fromkeys(NOTHING, self._nothing),
            **dict.fromkeys(FONTS, self._letters),
            **dict.fromkeys(ACCENTS, self._accent),
        }

    def whole(self) -> str:
        pieces = self._sequence("")
        if not pieces:
            raise ValueError("latex is empty; give a formula")
        return join(pieces).strip()

    def need_pairs(self) -> None:
        """In ASCII a floor and a ceiling end alike: each has to be closed by its own."""
        opened = ""
        for token in self._tokens:
            if token in {"\\lfloor", "\\lceil"}:
                opened += token[2]
            elif token in {"\\rfloor", "\\rceil"}:
                if opened[-1:] != token[2]:
                    raise ValueError(f"latex has {token} at the end of something else; use the format unicode")
                opened = opened[:-1]

    def _peek(self) -> str:
        while self._at < len(self._tokens) and self._tokens[self._at].isspace():
            self._at += 1
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _sequence(self, *ends: str) -> list[Piece]:
        """Everything up to one of these tokens, which stays."""
        pieces: list[Piece] = []
        while (token := self._peek()) not in ends:
            if token == "":
                raise ValueError(f"latex ends too early: {ends[0]} is missing")
            pieces += self._with_scripts(pieces)
        return pieces

    def _with_scripts(self, before: list[Piece]) -> list[Piece]:
        if self._peek() in _MARKS:
            # After scripts it would be one of theirs: x^2{}^3.
            room = [Piece(" ", Kind.SPACE)] if before and before[-1].closed_to else []
            return [*room, self._scripted(Piece(""))]
        base = _merged(before, self._one())
        # What comes after nothing begins anew.
        if is_nothing(base) or self._peek() not in _MARKS:
            return base
        return [self._scripted(in_parentheses(base))]

    def _scripted(self, base: Piece) -> Piece:
        marks = ""
        lower = upper = None
        while (mark := self._peek()) in _MARKS:
            self._take()
            marks += mark
            if mark == "^":
                upper = self._only(upper, mark)
            elif mark == "_":
                lower = self._only(lower, mark)
        carrying = ready_for(base, marks)
        primes = join([self._known("prime")]) * marks.count("'")
        return self._style.scripts(replace(carrying, text=carrying.text + primes), lower=lower, upper=upper)

    def _only(self, already: list[Piece] | None, mark: str) -> list[Piece]:
        if already is not None:
            raise ValueError(f"latex has two {mark} at one place; put the first part into braces")
        return self._argument()

    def _one(self) -> list[Piece]:
        """What one token begins."""
        mark = self._take()
        if mark == "{":
            return self._group()
        if mark in {"}", ""}:
            raise ValueError("latex has a } that nothing opened")
        if mark.startswith("\\"):
            return self._command(mark[1:])
        if mark == "&":
            raise ValueError("latex has an & outside of a matrix")
        if mark == "~":
            return [Piece(" ", Kind.SPACE)]
        return [self._style.character(mark)]

    def _group(self) -> list[Piece]:
        with_room = self._deeper(lambda: self._sequence("}"))
        self._take()
        return with_room

    def _deeper(self, read: Callable[[], list[Piece]]) -> list[Piece]:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ValueError(f"latex is nested more than {DEEPEST} levels deep")
        found = read()
        self._depth -= 1
        return found

    def _argument(self) -> list[Piece]:
        if self._peek() == "":
            raise ValueError("latex ends where something has to follow")
        return self._deeper(self._one)

    def _command(self, name: str) -> list[Piece]:
        read = self._commands.get(name)
        if read is not None:
            return read(name)
        return [self._known(name)]

    def _known(self, name: str) -> Piece:
        piece = self._style.command(name)
        if piece is None:
            raise ValueError(f"latex has \\{name}, which is not known")
        return piece

    def _nothing(self, name: str) -> list[Piece]:
        if name in {"left", "right"} and self._peek() == ".":
            self._take()
        return []

    def _fraction(self, _: str) -> list[Piece]:
        self._fractions += 1
        if self._fractions > _FRACTIONS_INSIDE and not isinstance(self._style, AsciiStyle):
            raise NotLinear
        upper, lower = self._argument(), self._argument()
        self._fractions -= 1
        return [Piece(f"{above(upper)}/{below(lower)}", Kind.FRACTION)]

    def _binomial(self, _: str) -> list[Piece]:
        return [Piece(f"C({join(self._argument())}, {join(self._argument())})", is_name=True)]

    def _root(self, _: str) -> list[Piece]:
        degree = None
        if self._peek() == "[":
            self._take()
            degree = self._deeper(lambda: self._sequence("]"))
            self._take()
        return [self._style.root(self._argument(), degree=degree)]

    def _accent(self, name: str) -> list[Piece]:
        return [self._style.accent(name, self._argument())]

    def _letters(self, font: str) -> list[Piece]:
        if self._peek() != "{":
            return self._argument()
        self._take()
        end = self._at
        while end < len(self._tokens) and self._tokens[end] not in {"{", "}"}:
            end += 1
        inner = "".join(self._tokens[self._at : end])
        if "\\" in inner or self._tokens[end : end + 1] != ["}"]:
            return self._group()
        self._at = end + 1
        text = self._style.letters(font, " ".join(inner.split()))
        kind = Kind.WORD if font == "operatorname" else Kind.ATOM
        # Only in running text is a space one.
        before, after = (font == "text" and inner[at : at + 1].isspace() for at in (0, len(inner) - 1))
        room = Piece(" ", Kind.GAP)
        return [*[room] * before, Piece(text, kind, len(text) > 1, len(text) > 1), *[room] * after] if text else []

    def _break(self, _: str) -> list[Piece]:
        if not isinstance(self._style, AsciiStyle):
            raise NotLinear
        return [Piece(";", Kind.COMMA)]

    def _environment(self, _: str) -> list[Piece]:
        """In ASCII a matrix can be written on a line; in Unicode it is drawn."""
        if not isinstance(self._style, AsciiStyle):
            raise NotLinear
        self._need("{")
        name = self._name()
        if name == "array" and self._peek() == "{":
            self._argument()
        rows: list[list[str]] = [[]]
        while True:
            cell = self._deeper(lambda: self._sequence("&", "\\\\", "\\end"))
            rows[-1].append(join(cell))
            end = self._take()
            if end == "\\\\":
                rows.append([])
            elif end == "\\end":
                break
        self._need("{")
        if self._name() != name:
            raise ValueError(f"latex begins {name} and ends something else")
        text = "; ".join(", ".join(row) for row in rows if row != [""])
        return [Piece(_ENVIRONMENTS.get(name, "[{}]").format(text), is_name=name in _ENVIRONMENTS)]

    def _name(self) -> str:
        start = self._at
        while self._peek() not in {"}", ""}:
            self._take()
        name = "".join(self._tokens[start : self._at])
        self._need("}")
        return name

    def _need(self, token: str) -> None:
        if self._take() != token:
            raise ValueError(f"latex needs {token} after \\begin and \\end")


def _merged(before: list[Piece], base: list[Piece]) -> list[Piece]:
    """Digits beside each other are one number."""
    if len(base) == 1 and base[0].text.isdigit() and before and before[-1].text.replace(".", "").isdigit():
        return [replace(base[0], text=before.pop().text + base[0].text)]
    return base
