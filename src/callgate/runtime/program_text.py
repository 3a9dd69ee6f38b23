"""The texts of a program that are shown: what it printed, and why it stopped. No cut shows a part of a secret.

Half a secret is not recognised, and what is struck gets shorter, so that text from near a cut moves up to where it is
shown. So a text is cut only where no secret is: where striking its two parts gives the same as striking the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

_LONGEST_SECRET = 64 * 1024
"""Characters: a secret that is longer may not be whole in what is kept."""
_TRIES = 6
_STEP = 1009
_CUT = "\n[more was printed than is kept]"

Strike = Callable[[str], str]


class Printed:
    """What a program printed, as far as it is kept: more than is shown, so that a secret is struck before the cut."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.text = ""

    def add(self, text: str) -> None:
        """Called by the sandbox, on its thread."""
        room = _kept(self._most) - len(self.text)
        if room > 0:
            self.text += text[:room]

    def shown(self, strike: Strike) -> str:
        """What is shown of it."""
        told, whole = _beginning(self.text, strike, self._most)
        return told if whole else told + _CUT


def shown(text: str, strike: Strike, *, most: int) -> str:
    """As much of a text as may be shown, without secrets."""
    return _beginning(text, strike, most)[0]


def _kept(most: int) -> int:
    return 2 * most + _LONGEST_SECRET


def _beginning(text: str, strike: Strike, most: int) -> tuple[str, bool]:
    """The beginning of a text, struck, and whether that is all of it."""
    kept = _kept(most)
    whole = len(text) < kept
    struck = strike(text if whole else text[: _between_secrets(text[:kept], strike, kept - _LONGEST_SECRET)])
    told = struck.encode("utf-8", "backslashreplace")
    if whole and len(told) <= most:
        return told.decode(), True
    return told[:most].decode(errors="ignore"), False


def _between_secrets(text: str, strike: Strike, end: int) -> int:
    """A place at or before the end where no secret is; the beginning, if none is found soon."""
    for at in _places(text, end):
        left, right = text[max(0, at - _LONGEST_SECRET) : at], text[at : at + _LONGEST_SECRET]
        if strike(left + right) == strike(left) + strike(right):
            return at
    return 0


def _places(text: str, end: int) -> Iterator[int]:
    yield end
    line = end
    for back in range(1, _TRIES):
        line = text.rfind("\n", 0, max(0, line - 1)) + 1
        yield line
        yield max(0, end - back * _STEP)
