"""How a complaint speaks of what the file says: quoted and escaped, and never what could be a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable

from callgate.model.nearest import nearest
from callgate.model.visible import visible

_LONGEST_SHOWN = 60
_CREDENTIAL = re.compile(
    r"""
      \b(?:sk|pk|rk|hf|npm|whsec)[-_]\w | \bgh[pousr]_ | github_pat_ | glpat- | \bxox[a-z]- | \bA[KS]IA[A-Z0-9]{8}
    | \bAIza | \bya29\. | \beyJ | -----BEGIN | ://[^/\s]*@ | (?i:\b(?:bearer|basic)\s)
    | (?i:(?:passw\w*|passphrase|secret|token|credential|key)\s*[=:]\s*\S)
    """,
    re.VERBOSE,
)
_RUN = re.compile(r"[A-Za-z0-9+/=_-]{16,}")
_DIGITS_OF_A_CREDENTIAL = 3


def is_presentable(text: str) -> bool:
    """Whether the text may be repeated: short, and nothing in it looks like a secret."""
    if len(text) > _LONGEST_SHOWN or _CREDENTIAL.search(text):
        return False
    return all(sum(letter.isdigit() for letter in run) < _DIGITS_OF_A_CREDENTIAL for run in _RUN.findall(text))


def quote(text: str) -> str:
    """The text in quotes with hidden characters escaped; only its length where it may not be repeated."""
    if not is_presentable(text):
        return f"a text of {len(text)} characters (not shown)"
    return repr(text) if visible(text) == text else ascii(text)


def instead(word: str, known: Iterable[str]) -> str:
    """What to write instead of an unknown word: the nearest known one, or all there are."""
    words = tuple(known)
    near = nearest(word, words)
    return f"did you mean {near}?" if near else f"there are {', '.join(words)}"
