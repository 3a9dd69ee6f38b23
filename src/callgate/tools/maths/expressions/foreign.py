"""Characters that are not in the language, which is ASCII: what to write instead of those of mathematics.

None is taken for what it looks like: several look like a minus, and what is meant is for who writes to say.
"""

from __future__ import annotations

import re
import unicodedata
from types import MappingProxyType

from callgate.model.visible import visible

_SIGNS = MappingProxyType(
    {
        **dict.fromkeys("\u00d7\u00b7\u22c5\u2219\u2217\u2022", "*"),
        **dict.fromkeys("\u00f7\u2215\u2044", "/"),
        **dict.fromkeys("\u2212\u2010\u2011\u2012\u2013\u2014", "-"),
        "\u2264": "<=",
        "\u2265": ">=",
        "\u2260": "!=",
        "\u03c0": "pi",
        "\u03c4": "tau",
        "\u221e": "inf",
        "\u03a3": "sum(…)",
        "\u2211": "sum(…)",
        "\u220f": "prod(…)",
    }
)
_ROOTS = MappingProxyType({"\u221a": "sqrt", "\u221b": "cbrt"})
_OF_ROOT = re.compile(r"[0-9]+(?:\.[0-9]+)?|[A-Za-z]\w*", re.ASCII)
# Not from within a number or a name, which would be read once for each of its characters.
_BEFORE = re.compile(r"(?<![\w.])([0-9]+(?:\.[0-9]+)?|[A-Za-z]\w*) *\Z", re.ASCII)
_POWER = re.compile("[\u207b\u2070\u00b9\u00b2\u00b3\u2074-\u2079]+")


def foreign(text: str, at: int) -> str:
    """What is said of the character at a place of a text, as the end of a sentence, with what to write where known."""
    character = text[at]
    shown = repr(character) if character.isascii() else f"'{visible(character)}'"
    what = f"has {shown} in column {at + 1}, which is not in the language"
    instead = _instead(text, at)
    return what if instead is None else f"{what}; write {instead}"


def _instead(text: str, at: int) -> str | None:
    character = text[at]
    if character in _ROOTS:
        of = _OF_ROOT.match(text[at + 1 :].lstrip())
        return f"{_ROOTS[character]}({of[0] if of else '…'})"
    if character == "\u00b0":
        of = _BEFORE.search(text[:at])
        return f"radians({of[1] if of else '…'})"
    power = _POWER.match(text, at)
    if power is not None:
        digits = unicodedata.normalize("NFKC", power[0]).replace("\u2212", "-")
        return f"^{digits}" if digits.isdigit() else f"^({digits})"
    return _SIGNS.get(character) or _plain(character, of=_BEFORE.search(text[:at]))


def _plain(character: str, *, of: re.Match[str] | None) -> str | None:
    """The same in ASCII: of ½, which is added to a number before it, of letters and digits in other widths."""
    same = unicodedata.normalize("NFKC", character).replace("\u2044", "/")
    if character.isascii() or not same.isascii() or not same.isprintable() or same.isspace():
        return None
    if "/" not in same:
        return same
    return f"({of[1]}+{same})" if of and of[1][0].isdigit() else f"({same})"
