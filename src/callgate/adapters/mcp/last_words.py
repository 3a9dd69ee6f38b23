"""How a server that was started ended by itself: its exit code, and the last it wrote to stderr. Strikes nothing."""

from __future__ import annotations

import signal
from collections import deque

from callgate.model.visible import cut, one_line

_LINES = 3
_LONGEST = 200


class LastWords:
    """The last lines of a server, each clipped: what it wrote before it ended is why it ended, as a rule."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LINES)

    def add(self, line: str) -> None:
        """Keep a line, unless it is blank."""
        if line.strip():
            self._lines.append(one_line(cut(line.strip(), _LONGEST)))

    def told(self, code: int) -> str:
        """How it ended, in one line."""
        how = f"it ended with exit code {code}" if code >= 0 else f"it was ended by {_name(-code)}"
        return f"{how}, and wrote last: {' | '.join(self._lines)}" if self._lines else f"{how}, and wrote nothing"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
