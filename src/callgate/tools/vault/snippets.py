"""Snippets: pieces of a note for whoever searches or lists, without the secrets that they hold or cut through."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from callgate.model.visible import CUT
from callgate.secrets.strike import process_striker

_AROUND = 16 * 1024
"""Characters on each side of a piece in which a secret may begin or end that it cuts through: none is longer."""
_LONGEST = 400
_MOST = 20
_MARKS = {2: "**", 3: "**", 4: CUT}
_NO_MARKS = {2: None, 3: None, 4: None}


def told(body: str, found: str) -> str:
    """The piece with its marks, if nothing in it or around it is secret; else without, and struck before it is cut.

    Marks and cuts would keep a secret from being known as one.

    Args:
        body: The text it is a piece of.
        found: The piece, with control characters as marks: 2 and 3 around the words that were found, 4 where it is cut.
    """
    piece, marked = found.translate(_NO_MARKS), found.translate(_MARKS)
    starts = list(itertools.islice(_starts(body, piece), _MOST))
    if not starts or len(starts) == _MOST:
        return marked if _is_clean(body) else ""
    for start in starts:
        before, after = body[max(0, start - _AROUND) : start], body[start + len(piece) :][:_AROUND]
        if not _is_clean(before + piece + after):
            return _struck_piece(piece, before=before, after=after)
    return marked


def beginning(text: str, most: int) -> str:
    """The beginning of a text, struck before it is cut: so no half of a secret is in it."""
    part = text[: within(most)]
    struck = process_striker().strike(part)
    if len(part) < len(text):
        # What the first cut goes through nobody knows as a secret; it is at the end, whatever was struck before it.
        struck = struck[: max(0, len(struck) - _AROUND)]
    return struck[:most]


def within(most: int) -> int:
    """How many characters of a text have to be known so that its beginning can be told."""
    return most + 2 * _AROUND


def _starts(body: str, piece: str) -> Iterator[int]:
    """Every place where the piece stands: nobody knows which of them was found."""
    at = body.find(piece)
    while at >= 0:
        yield at
        at = body.find(piece, at + 1)


def _struck_piece(piece: str, *, before: str, after: str) -> str:
    """What is left of a piece when everything around it is struck as well: what it cuts through is left out whole."""
    struck = process_striker().strike
    whole = struck(before + piece + after)
    start, end = _alike(struck(before), whole), _alike(struck(after)[::-1], whole[::-1])
    # What the two sides have in common with the whole lies outside; a secret at a seam does not, and stays struck.
    middle = whole[start : max(start, len(whole) - end)]
    shown = middle if len(middle) <= _LONGEST else f"{middle[:_LONGEST]}{CUT}"
    return f"{CUT if before else ''}{shown}{CUT if after else ''}"


def _alike(side: str, whole: str) -> int:
    """How many letters the two begin with in common."""
    longest = min(len(side), len(whole))
    return next((at for at in range(longest) if side[at] != whole[at]), longest)


def _is_clean(text: str) -> bool:
    return process_striker().strike(text) is text
