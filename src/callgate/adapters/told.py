"""What a person is told of an error in something that should have become a tool: short, and nothing in it hides."""

from __future__ import annotations

from callgate.errors import CallgateError
from callgate.model.visible import cut, visible

_LONGEST = 300


def told(error: BaseException) -> str:
    """Our own errors speak for themselves; others with their class, cut where they go on."""
    if isinstance(error, CallgateError):
        return str(error)
    return cut(visible(f"{type(error).__name__}: {error}"), _LONGEST)
