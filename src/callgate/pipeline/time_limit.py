"""How long a call may take: per call, then the user's setting, then the tool's, then the instance's, then 30 s.

The context caps all of them; a per-call value may be larger than the tool's own.
"""

from __future__ import annotations

import sys
from typing import Any

from callgate.model.context import Context
from callgate.model.tool import Tool
from callgate.model.visible import cut
from callgate.settings.values import Settings

DEFAULT_SECONDS = 30.0


def time_limit(
    tool: Tool | str,
    context: Context,
    settings: Settings,
    *,
    per_call: float | None = None,
    instance: float | None = None,
) -> float:
    """Seconds this call may take. A name alone stands for a tool that declares no limit of its own.

    `instance` stands in place of the instance's own limit, where that would count.

    Raises:
        ValueError: The per-call value is not a positive number of seconds.
    """
    if per_call is not None:
        check_seconds(per_call)
        seconds = float(per_call)
    else:
        seconds = _configured(tool, context, settings)
    if seconds is None:
        seconds = settings.timeout if instance is None else instance
    if seconds is None:
        seconds = DEFAULT_SECONDS
    return seconds if context.timeout is None else min(seconds, context.timeout)


def check_seconds(value: Any) -> None:
    """Refuse what is not a positive, finite number of seconds.

    Raises:
        ValueError: Saying so.
    """
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    if not numeric or not 0 < value <= sys.float_info.max:
        message = f"timeout must be a number of seconds above 0, not {cut(repr(value), 50)}"
        raise ValueError(message)


def _configured(tool: Tool | str, context: Context, settings: Settings) -> float | None:
    """What is set for the user or for this tool."""
    if context.user is not None and context.user in settings.user_timeouts:
        return settings.user_timeouts[context.user]
    if isinstance(tool, str):
        return settings.tool_timeouts.get(tool)
    return settings.tool_timeouts.get(tool.name, tool.timeout)
