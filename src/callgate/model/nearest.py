"""Nearest: the known word that was probably meant by one that is none. Shows nothing but the words it is given.

Names of tools, which are many and whose parts come in any order, are found by the pairs of letters they share
(`registry.near`).
"""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 64
"""Of the words that are compared: a caller may send a megabyte."""
_LETTERS_FOR_ONE = 5
"""So many letters of both words together for each that only one of them has: fss is near fs, and foo is not near
floor, of which a guess would mislead more than it helps."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant; the first of those that are equally near."""
    asked = _plain(word)
    if len(asked) > _LONGEST:
        return None
    found, share = None, 1.0
    for name in known:
        other = _plain(name)
        letters = len(asked) + len(other)
        apart = _apart(asked, other, most=letters // _LETTERS_FOR_ONE)
        if apart is not None and apart / letters < share:
            found, share = name, apart / letters
    return found


def _plain(word: str) -> str:
    return word.casefold().replace("-", "_").strip()


def _apart(one: str, other: str, *, most: int) -> int | None:
    """How many letters have to go and come to make one word of the other, where two that are swapped are one of them.

    None where it is more than `most`.
    """
    if abs(len(one) - len(other)) > most or not one:
        return None
    before, last = list[int](), list(range(len(other) + 1))
    for row, letter in enumerate(one):
        now = [row + 1]
        for at, there in enumerate(other):
            if letter == there:
                now.append(last[at])
            elif row and at and letter == other[at - 1] and there == one[row - 1]:
                now.append(min(last[at + 1], now[at], before[at - 1]) + 1)
            else:
                now.append(min(last[at + 1], now[at]) + 1)
        if min(now) > most:
            return None
        before, last = last, now
    return last[-1] if last[-1] <= most else None
