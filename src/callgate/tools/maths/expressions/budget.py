"""Budget: how much one call may compute, in steps and in time. A thread cannot be stopped, so the work stops itself."""

from __future__ import annotations

import time

from callgate.model.tool_context import ToolContext

_LOOK = 20_000
"""Steps between looks at the clock."""
_MARGIN = 0.05
"""The part of the time that is left for saying so: whoever waits hears the reason, and the thread is free."""


def _moment(context: ToolContext) -> float | None:
    now = time.monotonic()
    left = context.remaining(now)
    return None if left is None else now + left * (1 - _MARGIN)


class Budget:
    """Steps left, and the moment to stop at; one step is about one operation on a number or on 16 items of an array."""

    def __init__(self, steps: int, context: ToolContext) -> None:
        self._left = steps
        self._next = max(0, steps - _LOOK)
        self._until = _moment(context)
        self._context = context

    def spend(self, steps: int) -> None:
        """Use so many steps.

        Raises:
            ValueError: There are none left.
            TimeoutError: The time is up, or the call is over.
        """
        self._left -= steps
        if self._left < self._next:
            self._next = max(0, self._left - _LOOK)
            self._look()

    def _look(self) -> None:
        if self._left < 0:
            raise ValueError("the expression takes too much work; use fewer or shorter loops, lists or samples")
        self.check_time()

    def check_time(self) -> None:
        """Stop when the time is up, or the call is over and nobody waits for what comes out.

        Raises:
            TimeoutError: It is.
        """
        if self._context.closed:
            raise TimeoutError("the call was given up while it computed")
        if self._until is not None and time.monotonic() >= self._until:
            raise TimeoutError("the computation did not end within its time limit; ask for less, or allow more time")
