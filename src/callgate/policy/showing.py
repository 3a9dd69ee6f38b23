"""How a reason repeats what a caller sent: quoted, with hidden characters escaped, and never at length."""

from __future__ import annotations

from collections.abc import Iterable

from callgate.model.visible import CUT, visible

_LONGEST_SHOWN = 160
_MOST_NAMED = 8


def show(text: str) -> str:
    """The text in quotes; what cannot be seen is escaped, and of a long text only the beginning is there."""
    cut = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN]
    quoted = repr(cut) if visible(cut) == cut else ascii(cut)
    return quoted if cut is text else f"{quoted}{CUT} ({len(text)} characters)"


def name_all(words: Iterable[str]) -> str:
    """The words in order, with commas; beyond a handful only how many more there are."""
    listed = sorted(words)
    more = len(listed) - _MOST_NAMED
    shown = ", ".join(listed[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
