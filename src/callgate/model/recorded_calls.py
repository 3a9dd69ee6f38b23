"""RecordedCalls: what a tool is told of the calls of its trace, and how many it is not told of."""

from __future__ import annotations

from typing import Any


class RecordedCalls(list[dict[str, Any]]):
    """Calls in the order they were asked for, each as `gate.invocation()` has it."""

    left_out: int = 0
    """How many older ones there are."""
