"""Switch: whether a tool of a plugin is on right now. Asked with every call, so that switching off holds at once.

It reads the saved settings again only when their file looks different. Whoever switches on has to load the plugin.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from callgate.adapters.plugins.reading import Stamp
from callgate.adapters.plugins.saved import SavedSettings
from callgate.errors import ConfigurationError


@dataclass(slots=True)
class Switch:
    """The switch of one plugin and its tools, in this and in every other process with the same settings."""

    settings: SavedSettings
    plugin: str
    by_manifest: bool = True
    """What counts where nobody said anything."""
    keeps: object = None
    """The code behind the tools: alive for as long as a tool can ask its switch."""
    _stamp: Stamp | None = None
    _off: Callable[[str], str | None] = field(default=lambda _tool: "it was not looked at yet")
    _looked: bool = False

    def off(self, tool: str) -> str | None:
        """Why the tool is off; None if it is on."""
        stamp = self.settings.stamp(self.plugin)
        if not self._looked or stamp != self._stamp:
            # The stamp first: a writing in between is seen the next time.
            self._off, self._stamp, self._looked = self._read(), stamp, True
        return self._off(tool)

    def _read(self) -> Callable[[str], str | None]:
        try:
            saved = self.settings.read(self.plugin)
        except ConfigurationError as error:
            reason = f"the settings of the plugin {self.plugin} cannot be read, so it is off: {error}"
            return lambda _tool: reason
        if not (self.by_manifest if saved.enabled is None else saved.enabled):
            return lambda _tool: f"the plugin {self.plugin} is switched off"
        return lambda tool: f"{tool} is switched off" if saved.has_off(tool) else None


def guarded(switch: Switch, tool: str, *, check: Callable[..., Any] | None) -> Callable[..., Any]:
    """The check of a tool, behind its switch."""

    def ask() -> None:
        reason = switch.off(tool)
        if reason is not None:
            raise PermissionError(reason)

    def plain(arguments: Any, context: Any) -> Any:
        ask()
        return None if check is None else check(arguments, context)

    async def awaited(arguments: Any, context: Any) -> Any:
        ask()
        return None if check is None else await check(arguments, context)

    # A plain check may block, and so it goes on a thread; looking at a file alone needs none.
    return awaited if check is None or inspect.iscoroutinefunction(check) else plain
