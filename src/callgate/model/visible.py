"""Characters that a reader does not see, and text with them made visible. Knows nothing of who reads, or where.

Hidden is what draws nothing or something else than itself: controls, format and private characters, unassigned ones,
halves of pairs, line separators of Unicode, spaces other than the plain one, and letters and marks that are blank. Line
breaks and tabs are not hidden. Marks that pile up on a letter are seen, and so are characters that look like others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_NOT_PLAIN = re.compile(r"[^\n\t -~]")
_BLANKS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\ufffc\U00016fe4\U0001d159\U00013441\U00013442"
)
"""Fillers, joiners and empty patterns that Unicode counts as letters, marks or symbols."""
_SELECTORS = re.compile("[\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Variation selectors, with which whole messages can be smuggled behind one letter."""
_JOINERS = frozenset("\u200c\u200d\ufe0e\ufe0f")
"""Needed inside emoji and some scripts; hiding places anywhere else."""
_SPACES = frozenset("\u00a0\u2009\u202f\u3000")
"""Spaces that careful writing uses: no-break, thin, narrow and ideographic."""
_KEYCAPS = frozenset("0123456789#*")
_BRIEF = 80
CUT = "…"
"""What stands where a text was cut."""


def hides(character: str) -> bool:
    """Whether one character, wherever it stands, is not seen as what it is."""
    if character in "\n\t":
        return False
    # Not printable are exactly the categories C and Z, but for the plain space.
    return not character.isprintable() or character in _BLANKS or _SELECTORS.match(character) is not None


def visible(text: str) -> str:
    """The text with every hidden character written as `<U+200B>`: for who decides, or reads what a stranger wrote."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_PLAIN.sub(_shown, text)


def one_line(text: str) -> str:
    r"""As `visible`, on one line: line breaks and tabs show too, as `\n` and `\t`."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def brief(text: str) -> str:
    """The beginning of a text for a message: as `visible`, on one line, line breaks and tabs as `<U+000A>`."""
    return visible(cut(text, _BRIEF)).replace("\n", "<U+000A>").replace("\t", "<U+0009>")


def cut(text: str, longest: int) -> str:
    """The text, or its beginning with the mark behind it: by that, half a secret is recognised when it is struck."""
    return text if len(text) <= longest else f"{text[:longest]}{CUT}"


def readable(text: str) -> str:
    """As `visible`, without what honest writing needs: joiners behind what they join, no-break spaces, CR before LF."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_PLAIN.sub(lambda found: found.group() if _belongs(text, found.start()) else _shown(found), text)


def hidden_places(text: str) -> Iterator[int]:
    """Where characters hide that honest writing does not need; what `readable` would show."""
    if text.isascii() and text.isprintable():
        return
    for found in _NOT_PLAIN.finditer(text):
        if hides(found.group()) and not _belongs(text, found.start()):
            yield found.start()


def first_hidden(text: str) -> str | None:
    """The first of the `hidden_places`, as `U+200B`; None if there is none."""
    place = next(hidden_places(text), None)
    return None if place is None else code_of(text[place])


def code_of(character: str) -> str:
    """`U+200B`, as Unicode writes its characters."""
    return f"U+{ord(character):04X}"


def _shown(found: re.Match[str]) -> str:
    character = found.group()
    return f"<{code_of(character)}>" if hides(character) else character


def _belongs(text: str, index: int) -> bool:
    character = text[index]
    if character == "\r":
        return text[index + 1 : index + 2] == "\n"
    return character in _SPACES or (character in _JOINERS and _joins(text, index))


def _joins(text: str, index: int) -> bool:
    """A joiner right behind a visible character belongs to it; a second one would be a message."""
    character, before = text[index], text[index - 1 : index] if index else ""
    if before == "\ufe0f" and character == "\u200d":
        return _joins(text, index - 1)
    if before.isascii():
        return character == "\ufe0f" and before != "" and before in _KEYCAPS
    return not hides(before)
