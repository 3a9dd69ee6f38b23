"""Words: what texts are compared by when something is looked for. Knows how words end, not what they mean."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+(?:-\w+)*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_STOP = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can do for from has have how i in into is it its me my of on or that the this to "
        "use used using want what when which will with you your",
    )
)
_SHORTEST_STEM = 3


def words(text: str) -> list[str]:
    """The words of a text, as they stand there."""
    return _WORD.findall(text)


def stems(word: str) -> tuple[str, ...]:
    """The stems of a word: of its parts (snake_case, camelCase, e-mail), and of a hyphenated one also as a whole."""
    parts = [part.casefold() for part in (_PART.findall(word) if word.isascii() else re.split(r"[\W_]+", word)) if part]
    if "-" in word and len(parts) > 1:
        parts.append("".join(parts))
    return tuple(dict.fromkeys(_stem(part) for part in parts if part not in _STOP))


def _stem(word: str) -> str:
    """A light stem: plurals and the endings of verbs, so that *sending emails* meets *send email*."""
    for ending, instead in (("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            return _even(word.removesuffix(ending) + instead)
    return _even(word)


def _even(stem: str) -> str:
    """Make *delet(ing)* and *delete*, *runn(ing)* and *run* the same."""
    if len(stem) > _SHORTEST_STEM and stem.endswith("e"):
        return stem[:-1]
    if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] and stem[-1] not in "aeiouls":
        return stem[:-1]
    return stem
