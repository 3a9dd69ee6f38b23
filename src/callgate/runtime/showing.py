"""Showing foreign text to people: nothing in it can hide, and nothing in it can move a cursor."""

from __future__ import annotations

from callgate.adapters import hidden
from callgate.approvals import show


def visible(text: str) -> str:
    """The text with every character that a reader would not see written as `<U+200B>`; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    # The one knows fillers and variation selectors, the other odd spaces.
    return show.visible(hidden.visible(text))


def one_line(text: str) -> str:
    """As `visible`, on one line: line breaks and tabs show too."""
    shown = visible(text)
    return shown.replace("\n", "\\n").replace("\t", "\\t")
