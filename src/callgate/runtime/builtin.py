"""Adding the built-in tools that a configuration enables, or a developer names; and telling one that is not there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from callgate.errors import ToolNotFoundError
from callgate.runtime.modules import placed
from callgate.tools.services import NOTHING, Services

if TYPE_CHECKING:
    from callgate.model.tool import Tool
    from callgate.runtime.toolbox import Toolbox
    from callgate.settings.values import Settings


def add_builtin(toolbox: Toolbox, settings: Settings, named: Iterable[str], services: Services) -> None:
    """Add them. None is there unless somebody says so.

    What is taken together (a category, or all) leaves out what a tool of the developer's own is called; by its own
    name, a tool that cannot be had is an error.

    Args:
        toolbox: The gate.
        settings: Its configuration.
        named: What is wanted beside what that enables.
        services: What the gate lends them.

    Raises:
        ConfigurationError: There is no such tool, or its name is taken; with file, line and key.
    """
    more = tuple(named)
    tools = builtin_tools(settings, more, services)
    if tools:
        taken = {tool.name for tool in toolbox.tools()} - {*settings.builtin_tools.enable, *more}
        toolbox.add(*(tool for tool in tools if tool.name not in taken))


def builtin_tools(settings: Settings, named: Sequence[str] = (), services: Services = NOTHING) -> list[Tool]:
    """The built-in tools that a configuration enables, and those that are named besides.

    Where there is no gate, they are lent nothing: enough to list and describe them.

    Raises:
        ConfigurationError: There is no such tool; with file, line and key.
    """
    enabled = settings.builtin_tools.enable
    if not enabled and not named:
        return []
    from callgate.tools.catalogue import make_builtin  # noqa: PLC0415 - only who has them pays for them

    with placed(settings, "builtin_tools.enable"):
        tools = {tool.name: tool for tool in make_builtin(enabled, settings.builtin_tools, services=services)}
    more = make_builtin(named, settings.builtin_tools, services=services)
    return [*tools.values(), *(tool for tool in more if tool.name not in tools)]


def as_not_enabled(error: ToolNotFoundError, name: str) -> ToolNotFoundError:
    """The error for a tool that is not there; for a built-in one, how it comes to be there."""
    from callgate.tools.catalogue import ALL, meant_by  # noqa: PLC0415 - only who meets one pays for them

    if error.info is None or name not in meant_by(ALL):
        return error
    advice = "It is a built-in tool that is not enabled here; add it to builtin_tools.enable in callgate.yaml."
    return ToolNotFoundError(error.message, info=replace(error.info, suggestion=advice))
