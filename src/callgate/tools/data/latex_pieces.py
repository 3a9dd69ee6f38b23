"""Pieces of a formula on one line, and how they are put together: where room is, and where parentheses are needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from callgate.tools.data.latex_symbols import Kind

_VALUES = frozenset({Kind.ATOM, Kind.FRACTION, Kind.CLOSE})
_BETWEEN = frozenset({Kind.SIGN, Kind.RELATION, Kind.SLASH})
_LOOSE = _BETWEEN | {Kind.FRACTION, Kind.COMMA, Kind.WORD}
_DIFFERENTIALS = frozenset({"d", "∂", "partial"})


@dataclass(frozen=True, slots=True)
class Piece:
    """Text that is not taken apart any more."""

    text: str
    kind: Kind = Kind.ATOM
    is_name: bool = False
    """Whether it has to be told apart from letters before it: `2 omega`."""
    ends_name: bool = False
    """Whether it has to be told apart from letters after it: `omega y`, `x^2 y`."""


def join(pieces: Sequence[Piece], *, tight: bool = False) -> str:
    """Write pieces one after the other.

    Args:
        pieces: What is to be written.
        tight: Without room around signs, as exponents are.
    """
    text = ""
    before: Piece | None = None
    spaced = False
    # A sign is one before a value where no value stands before it.
    lone = False
    for piece in _with_fractions_apart(pieces):
        if piece.kind is Kind.SPACE:
            spaced = bool(text)
            continue
        now_lone = piece.kind is Kind.SIGN and (before is None or before.kind not in _VALUES)
        if before is not None and (spaced or _has_room(before, piece, lone=lone, tight=tight)):
            text += " "
        text += piece.text
        before, spaced, lone = piece, False, now_lone
    return text


def _has_room(before: Piece, piece: Piece, *, lone: bool, tight: bool) -> bool:
    if Kind.SLASH in {before.kind, piece.kind}:
        return False
    if before.kind is Kind.WORD:
        return piece.kind not in {Kind.OPEN, Kind.CLOSE, Kind.COMMA}
    if piece.kind is Kind.WORD and before.kind in {Kind.ATOM, Kind.FRACTION, Kind.CLOSE}:
        return True
    if before.kind in _BETWEEN or piece.kind in _BETWEEN or before.kind is Kind.COMMA:
        return not tight and not (before.kind is Kind.SIGN and lone) and before.kind is not Kind.OPEN
    return _would_run_together(before, piece)


def _would_run_together(before: Piece, piece: Piece) -> bool:
    """Whether a name would not be seen to end, or to begin."""
    return (before.ends_name and piece.text[:1].isalnum()) or (piece.is_name and before.text[-1:].isalnum())


def _with_fractions_apart(pieces: Sequence[Piece]) -> list[Piece]:
    """A fraction beside another value goes into parentheses: half of x is no one over 2x."""
    found = list(pieces)
    for at, piece in enumerate(pieces):
        if piece.kind is Kind.FRACTION:
            before = pieces[at - 1].kind if at else Kind.RELATION
            after = pieces[at + 1].kind if at + 1 < len(pieces) else Kind.RELATION
            if before in _VALUES or after in {Kind.ATOM, Kind.FRACTION, Kind.OPEN, Kind.WORD, Kind.SLASH}:
                found[at] = replace(piece, text=f"({piece.text})", kind=Kind.ATOM)
    return found


def in_parentheses(pieces: Sequence[Piece]) -> Piece:
    """As one value; what is one already stays as it is."""
    is_one = len(pieces) == 1 and pieces[0].kind is not Kind.FRACTION
    return pieces[0] if is_one else Piece(f"({join(pieces)})")


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
