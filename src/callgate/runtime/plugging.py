"""Plugging: the face of a gate for plugins. How each stands, and switching them on and off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError
from callgate.model.levels import Origin
from callgate.runtime.sourcing import Sourcing

if TYPE_CHECKING:
    from callgate.adapters.plugins.source import PluginFolder
    from callgate.adapters.plugins.state import PluginState


class Plugging(Sourcing):
    """The plugins of a gate."""

    def plugins(self) -> tuple[PluginState, ...]:
        """How every plugin stood when it was loaded last, those that are off or broken included."""
        return tuple(state for source in self._plugin_sources() for state in source.plugins())

    async def enable_plugin(self, plugin: str, *, tool: str | None = None) -> PluginState:
        """Switch a plugin, or one tool of it, on for good; how it stands then.

        Raises:
            ConfigurationError: There is none of that name, or its settings cannot be read.
            StoreError: It cannot be written.
        """
        return await self._switch(plugin, on=True, tool=tool)

    async def disable_plugin(self, plugin: str, *, tool: str | None = None) -> PluginState:
        """Switch a plugin, or one tool of it, off for good: from now on no call of it begins, in no process.

        Raises:
            ConfigurationError: There is none of that name, or its settings cannot be read.
            StoreError: It cannot be written.
        """
        return await self._switch(plugin, on=False, tool=tool)

    async def reload_plugins(self) -> int:
        """Load every folder of plugins again; how many plugins serve then. A broken one goes on as it was before."""
        for source in self._plugin_sources():
            await self.reload(source.name)
        return sum(1 for state in self.plugins() if state.enabled and (state.fault is None or state.stale))

    async def _switch(self, plugin: str, *, on: bool, tool: str | None) -> PluginState:
        source = self._source_of(plugin)
        await source.switch(plugin, on=on, tool=tool)
        await self.reload(source.name)
        return next(state for state in source.plugins() if state.name == plugin)

    def _source_of(self, plugin: str) -> PluginFolder:
        for source in self._plugin_sources():
            if any(state.name == plugin for state in source.plugins()):
                return source
        known = ", ".join(state.name for state in self.plugins()) or "none"
        raise ConfigurationError(f"there is no plugin {plugin!r}; there are: {known}")

    def _plugin_sources(self) -> list[PluginFolder]:
        attached = [held.source for held in self._open().sources.values() if held.source.origin is Origin.PLUGIN]
        if not attached:
            return []
        from callgate.adapters.plugins.source import PluginFolder  # noqa: PLC0415 - loaded where there are plugins

        return [source for source in attached if isinstance(source, PluginFolder)]
