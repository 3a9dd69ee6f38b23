"""Variables of the environment that are Callgate's own: its key, its secrets, its store. No server gets one."""

from __future__ import annotations

_PREFIX = "CALLGATE_"


def is_own_variable(name: str) -> bool:
    """Whether a variable is Callgate's own, in whatever case: some systems make no difference."""
    return name.strip().upper().startswith(_PREFIX)
