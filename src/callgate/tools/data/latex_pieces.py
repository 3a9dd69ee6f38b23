"""Pieces of a formula on one line, and how they are put together: where room is, and where parentheses are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from callgate.tools.data.latex_symbols import Kind

_VALUES = frozenset({Kind.ATOM, Kind.FRACTION, Kind.CLOSE})
_BETWEEN = frozenset({Kind.SIGN, Kind.RELATION, Kind.SLASH})
_WORDS = frozenset({Kind.WORD, Kind.LARGE})
_BEGIN_VALUES = _WORDS | {Kind.ATOM, Kind.FRACTION, Kind.OPEN}
_ROOM = frozenset({Kind.SPACE, Kind.GAP})
_LOOSE = _BETWEEN | _WORDS | {Kind.FRACTION, Kind.COMMA}
_DIFFERENTIALS = frozenset({"d", "∂", "partial"})
_DIVIDING = frozenset({":", "mod"})
"""Relations that take what is beside them as a division does."""
_PLAIN = frozenset({"+", "-", "±", "∓", "·", "×", "*", "+-", "-+", "x"})  # noqa: RUF001 - times
"""Signs beside which a fraction means the same with and without parentheses."""
_ONE_SIGN = frozenset({"+-", "-+", "<-", "->", "<=", ">=", "=>", "==", "!=", "<<", ">>"})
"""What a sign begins with, if it is written with two."""
_LINES = frozenset("\u0305\u0332")
"""Lines above and below, which join those of the letter before."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that is not taken apart any more."""

    text: str
    kind: Kind = Kind.ATOM
    is_name: bool = False
    """Whether it has to be told apart from letters before it: `2 omega`."""
    ends_name: bool = False
    """Whether it has to be told apart from letters after it: `omega y`, `x^2 y`."""
    closed_to: str = ""
    """The marks that it takes in parentheses only: √x² is the root of x², and not the square of √x."""
    is_raised: bool = False
    """Whether it begins with small letters above, which would be an exponent of what is before: ⁿ√y."""
    is_like_sign: bool = False
    """Whether with room around it, it would be read as a sign: in ASCII, 2 x 3 is six."""


def join(pieces: Sequence[Piece], *, tight: bool = False) -> str:
    """Write pieces one after the other.

    Args:
        pieces: What is to be written.
        tight: Without room around signs, as exponents are.
    """
    text = ""
    before: Piece | None = None
    spaced: Kind | None = None
    # A sign is one before a value where no value stands before it.
    lone = False
    product_at: int | None = None
    for piece in _apart(pieces):
        if piece.kind in _ROOM:
            spaced = piece.kind if text else None
            continue
        now_lone = piece.kind is Kind.SIGN and (before is None or before.kind not in _VALUES)
        if before is not None and (spaced or _has_room(before, piece, lone=lone, tight=tight)):
            if product_at is not None and piece.kind in _BEGIN_VALUES:
                text = f"{text[:product_at]}*{text[product_at + 1 :]}"
            product_at = len(text) if _could_be_sign(piece, before) and spaced is not Kind.GAP else None
            text += " "
        else:
            product_at = None
        text += piece.text
        before, spaced, lone = piece, None, now_lone
    return text


def _could_be_sign(piece: Piece, before: Piece) -> bool:
    # Nobody multiplies what says by what is derived.
    return piece.is_like_sign and before.kind in _VALUES and before.text not in _DIFFERENTIALS


def _has_room(before: Piece, piece: Piece, *, lone: bool, tight: bool) -> bool:
    if Kind.SLASH in {before.kind, piece.kind}:
        return False
    if before.kind in _WORDS:
        return piece.kind not in {Kind.OPEN, Kind.CLOSE, Kind.COMMA}
    if piece.kind in _WORDS and before.kind in _VALUES:
        return True
    if before.kind in _BETWEEN or piece.kind in _BETWEEN or before.kind is Kind.COMMA:
        may_have = not (before.kind is Kind.SIGN and lone) and before.kind is not Kind.OPEN
        return may_have and (not tight or _would_be_one_sign(before, piece))
    return _would_run_together(before, piece)


def _would_be_one_sign(before: Piece, piece: Piece) -> bool:
    """Whether a sign without room around it would be another, or a letter: `a+ -b`, `2 x 3`."""
    is_letters = any(one.kind in _BETWEEN and one.text.isalpha() for one in (before, piece))
    return is_letters or before.text[-1:] + piece.text[:1] in _ONE_SIGN


def _would_run_together(before: Piece, piece: Piece) -> bool:
    """Whether a name, a number or a line would not be seen to end, or to begin."""
    last, first = before.text[-1:], piece.text[:1]
    if last.isdecimal() and first.isdecimal():
        # Digits of a number are beside each other, those of √2 and 3 are not.
        return not before.text.isdecimal()
    if last in _LINES and piece.text[1:2] == last:
        return True
    return (before.ends_name and first.isalnum()) or (piece.is_name and last.isalnum())


def _apart(pieces: Sequence[Piece]) -> list[Piece]:
    """What would be read as a part of its neighbour goes into parentheses: half of x is no one over 2x."""
    values = [piece for piece in pieces if piece.kind is not Kind.SPACE]
    befores, afters = iter([None, *values]), iter([*values[1:], None])
    return [
        piece if piece.kind is Kind.SPACE else _beside(piece, before=next(befores), after=next(afters))
        for piece in pieces
    ]


def _beside(piece: Piece, *, before: Piece | None, after: Piece | None) -> Piece:
    has_value = before is not None and before.kind in _VALUES
    takes_fraction = before is not None and (before.kind is Kind.WORD or _divides(before))
    goes_on = after is not None and (after.kind in _BEGIN_VALUES or _divides(after))
    if piece.kind is Kind.FRACTION and (has_value or takes_fraction or goes_on):
        return Piece(f"({piece.text})")
    return Piece(f"({piece.text})") if piece.is_raised and has_value else piece


def _divides(piece: Piece) -> bool:
    """Whether it matters to it what of a fraction beside it is its own."""
    is_sign = piece.kind is Kind.SIGN and piece.text not in _PLAIN
    return is_sign or piece.kind is Kind.SLASH or (piece.kind is Kind.RELATION and piece.text in _DIVIDING)


def in_parentheses(pieces: Sequence[Piece]) -> Piece:
    """As one value; what is one already stays as it is."""
    solid = [piece for piece in pieces if piece.kind not in _ROOM]
    is_one = len(solid) == 1 and solid[0].kind is not Kind.FRACTION
    return solid[0] if is_one else Piece(f"({join(pieces)})")


def is_nothing(pieces: Sequence[Piece]) -> bool:
    """Whether it is only room, which carries no script."""
    return all(piece.kind in _ROOM for piece in pieces)


def ready_for(base: Piece, marks: str) -> Piece:
    """A value that may be given these marks."""
    return base if set(marks).isdisjoint(base.closed_to) else Piece(f"({base.text})")


def above(pieces: Sequence[Piece]) -> str:
    """As a numerator: a product may stand as it is, a sum may not."""
    return f"({join(pieces)})" if _is_sum(pieces) else join(pieces)


def below(pieces: Sequence[Piece]) -> str:
    """As a denominator: a product may not stand as it is either, but everyone reads d/dx."""
    values = [piece for piece in pieces if piece.kind is not Kind.SPACE]
    is_one = len(values) == 1 or _are_differentials(values)
    return join(pieces) if is_one and not _is_sum(pieces) else f"({join(pieces)})"


def _are_differentials(values: Sequence[Piece]) -> bool:
    """Whether each is one, as in dx dy: a letter that may begin a product as well, and a name, also to a power."""
    pairs = zip(values[::2], values[1::2], strict=False)
    return len(values) % 2 == 0 and all(of.text in _DIFFERENTIALS and _is_name(what) for of, what in pairs)


def _is_name(piece: Piece) -> bool:
    return piece.kind is Kind.ATOM and piece.text[:1].isalpha() and "(" not in piece.text


def _is_sum(pieces: Sequence[Piece]) -> bool:
    """Whether a sign, a fraction or a word lies open in it; a minus in front of it all does not count."""
    depth = 0
    for at, piece in enumerate(pieces):
        depth += (piece.kind is Kind.OPEN) - (piece.kind is Kind.CLOSE)
        if depth == 0 and piece.kind in _LOOSE and not (at == 0 and piece.kind is Kind.SIGN):
            return True
    return False
