"""Adding the built-in tools that a configuration enables, or a developer names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from callgate.runtime.modules import placed

if TYPE_CHECKING:
    from callgate.runtime.toolbox import Toolbox
    from callgate.settings.values import Settings


def add_builtin(toolbox: Toolbox, settings: Settings, named: Iterable[str]) -> None:
    """Add them. None is there unless somebody says so.

    What is taken together (a category, or all) leaves out what a tool of the developer's own is called; by its own
    name, a tool that cannot be had is an error.

    Args:
        toolbox: The gate.
        settings: Its configuration.
        named: What is wanted beside what that enables.

    Raises:
        ConfigurationError: There is no such tool, or its name is taken; with file, line and key.
    """
    enabled, more = settings.builtin_tools.enable, tuple(named)
    if not enabled and not more:
        return
    from callgate.tools.catalogue import make_builtin  # noqa: PLC0415 - only who has them pays for them

    taken = {tool.name for tool in toolbox.tools()} - {*enabled, *more}
    with placed(settings, "builtin_tools.enable"):
        tools = {tool.name: tool for tool in make_builtin(enabled, settings.builtin_tools)}
    tools |= {tool.name: tool for tool in make_builtin(more, settings.builtin_tools) if tool.name not in tools}
    toolbox.add(*(tool for name, tool in tools.items() if name not in taken))
