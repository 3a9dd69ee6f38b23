"""Looks: how much is looked at for one call. One bound counts all that is done for its paths, patterns and texts."""

from __future__ import annotations

MOST_LOOKED_AT = 20_000
"""So many names are looked at for one call, or as much else is done for it; beyond it, the call is refused."""
STEPS_A_NAME = 5
"""What is done is counted in steps of some microseconds."""
LETTERS_A_STEP = 8


class TooMany(Exception):
    """More than is looked at."""


class Looks:
    """How much is looked at for one call: the one bound on all that is done for its paths, patterns and texts."""

    def __init__(self) -> None:
        self._left = MOST_LOOKED_AT * STEPS_A_NAME

    def count(self, steps: int) -> None:
        """So many more, before they are taken.

        Raises:
            TooMany: They are used up.
        """
        self._left -= steps
        if self._left < 0:
            raise TooMany

    def count_path(self, path: str) -> None:
        """A path that is followed part by part.

        Raises:
            TooMany: As above.
        """
        self.count(2 * (path.count("/") + 1))

    def count_text(self, text: str) -> None:
        """A text that is read letter by letter.

        Raises:
            TooMany: As above.
        """
        self.count(1 + len(text) // LETTERS_A_STEP)
