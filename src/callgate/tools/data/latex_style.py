"""The two ways in which a formula is written on one line: with the signs of Unicode, and in plain ASCII."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from callgate.tools.data.latex_pieces import Piece, in_parentheses, join
from callgate.tools.data.latex_symbols import ACCENTS, BLACKBOARD, CHARACTERS, COMMANDS, LOWERED, RAISED, Kind

Pieces = Sequence[Piece]
MARKS = "^_'"
_LIKE_SIGNS = frozenset({COMMANDS["times"].ascii, COMMANDS["circ"].ascii})
_KINDS = {symbol.unicode: symbol.kind for symbol in COMMANDS.values() if not symbol.unicode.isascii()}
_WORDS = {symbol.unicode: symbol.ascii for symbol in COMMANDS.values() if not symbol.unicode.isascii()}
"""What is typed as a sign means what its command does."""


class Style(Protocol):
    """How something is written."""

    def command(self, name: str) -> Piece | None: ...

    def character(self, char: str) -> Piece: ...

    def scripts(self, base: Piece, *, lower: Pieces | None, upper: Pieces | None) -> Piece: ...

    def root(self, body: Pieces, *, degree: Pieces | None) -> Piece: ...

    def accent(self, name: str, body: Pieces) -> Piece: ...

    def letters(self, font: str, text: str) -> str: ...


class UnicodeStyle:
    """With the signs of Unicode."""

    def command(self, name: str) -> Piece | None:
        symbol = COMMANDS.get(name)
        return None if symbol is None else _named(symbol.unicode, symbol.kind)

    def character(self, char: str) -> Piece:
        return Piece(char, CHARACTERS.get(char) or _KINDS.get(char, Kind.ATOM))

    def scripts(self, base: Piece, *, lower: Pieces | None, upper: Pieces | None) -> Piece:
        below, above = _script(lower, LOWERED, mark="_"), _script(upper, RAISED, mark="^")
        last = above or below
        # What is neither small nor in parentheses would go on with the next letter.
        is_open = last[:1] in {"_", "^"} and not last.endswith(")")
        return replace(base, text=base.text + below + above, ends_name=is_open, closed_to=_closed(lower, upper))

    def root(self, body: Pieces, *, degree: Pieces | None) -> Piece:
        index = "" if degree is None else join(degree, tight=True)
        sign = {"": "√", "2": "√", "3": "∛", "4": "∜"}.get(index)
        raised = None if sign else _shifted(index, RAISED)
        if sign is None and raised is None:
            return Piece(f"root({index}, {join(body)})", is_name=True)
        inner = in_parentheses(body)
        text = f"({inner.text})" if inner.is_name or inner.is_raised else inner.text
        return Piece(f"{sign or f'{raised}√'}{text}", closed_to=MARKS, is_raised=raised is not None)

    def accent(self, name: str, body: Pieces) -> Piece:
        text = join(body)
        if len(text) == 1 or name in {"overline", "underline"}:
            return Piece("".join(char + ACCENTS[name] for char in text), closed_to=MARKS if len(text) > 1 else "")
        return Piece(f"{name}({text})", is_name=True)

    def letters(self, font: str, text: str) -> str:
        return "".join(BLACKBOARD.get(char, char) for char in text) if font == "mathbb" else text


class AsciiStyle:
    """In plain ASCII."""

    def command(self, name: str) -> Piece | None:
        symbol = COMMANDS.get(name)
        return None if symbol is None else _named(symbol.ascii, symbol.kind)

    def character(self, char: str) -> Piece:
        kind = CHARACTERS.get(char) or _KINDS.get(char, Kind.ATOM)
        return replace(_named(_WORDS.get(char, char), kind), is_like_sign=char in _LIKE_SIGNS)

    def scripts(self, base: Piece, *, lower: Pieces | None, upper: Pieces | None) -> Piece:
        text = base.text + _script(lower, {}, mark="_") + _script(upper, {}, mark="^")
        return replace(base, text=text, ends_name=True, closed_to=_closed(lower, upper))

    def root(self, body: Pieces, *, degree: Pieces | None) -> Piece:
        if degree is None:
            return Piece(f"sqrt({join(body)})", is_name=True)
        return Piece(f"root({join(degree, tight=True)}, {join(body)})", is_name=True)

    def accent(self, name: str, body: Pieces) -> Piece:
        return Piece(f"{name}({join(body)})", is_name=True)

    def letters(self, font: str, text: str) -> str:
        del font
        return text


def _script(pieces: Pieces | None, signs: Mapping[str, str], *, mark: str) -> str:
    if pieces is None:
        return ""
    text = join(pieces, tight=True)
    shifted = _shifted(text, signs)
    if shifted is not None:
        return shifted
    is_one_word = len(text) == 1 or (len(pieces) == 1 and text.isascii() and text.isalnum())
    return mark + (text if is_one_word else f"({text})")


def _closed(lower: Pieces | None, upper: Pieces | None) -> str:
    """To which marks a base is closed that has these scripts: the square of x₁ is x₁², that of x² is not x²²."""
    return MARKS if upper is not None else "_" if lower is not None else ""


def _named(text: str, kind: Kind) -> Piece:
    is_name = len(text) > 1 and text.rstrip("(").isalpha()
    return Piece(text, kind, is_name, is_name and text.isalpha())


def _shifted(text: str, signs: Mapping[str, str]) -> str | None:
    """The text in small letters above or below, where there is one for each of its letters."""
    return "".join(signs[char] for char in text) if text and all(char in signs for char in text) else None
