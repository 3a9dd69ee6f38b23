"""ToolPluginLoader: a loader's own words for plugin folders. It lists and switches; calls go through a gate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from callgate.adapters.plugins.manifest import ManifestFaults, parse_manifest
from callgate.adapters.plugins.saved import Saved
from callgate.adapters.plugins.shelf import Choices, Shelf
from callgate.adapters.plugins.source import DEFAULT_SETTINGS, PluginFolder
from callgate.adapters.plugins.state import differences
from callgate.adapters.plugins.template import manifest_template
from callgate.errors import ConfigurationError

if TYPE_CHECKING:
    from callgate.adapters.plugins.manifest import Manifest
    from callgate.adapters.plugins.state import PluginState


class ToolPluginLoader:  # noqa: PLR0904 - the words that loaders had
    """Finds, lists, configures and reloads plugins.

    Args:
        settings_dir: Where settings are saved, one file per plugin; `.callgate/plugins` when left out.
    """

    def __init__(self, settings_dir: str | Path = DEFAULT_SETTINGS) -> None:
        self._settings = Path(settings_dir)
        self._shelves: dict[Path, Shelf] = {}

    def discover_plugins(self, directory: str | Path) -> int:
        """Load the plugins of a folder; how many there are, those that are off included. No such folder is none."""
        folder = Path(directory).absolute()
        shelf = self._shelves.setdefault(folder, Shelf(Choices(folders=(folder,), settings=self._settings.absolute())))
        shelf.load()
        return len({state.name for state in shelf.states() if state.version})

    def list_tools(self, enabled_only: bool = True) -> list[dict[str, Any]]:  # noqa: FBT001, FBT002 - as it was
        """Every tool of a plugin: `name`, `description`, `plugin`, `category`, `enabled`, `parameters`."""
        return [
            {
                "name": tool.name,
                "description": tool.description,
                "plugin": state.name,
                "category": tool.category,
                "module": tool.module,
                "function": tool.function,
                "parameters": dict(tool.parameters),
                "enabled": tool.enabled,
            }
            for state in self.list_plugins()
            for tool in state.tools
            if tool.enabled or not enabled_only
        ]

    def list_plugins(self) -> list[PluginState]:
        """How every plugin stood when it was loaded last."""
        return [state for shelf in self._shelves.values() for state in shelf.states()]

    def check_for_changes(self) -> list[str]:
        """The names of plugins whose manifest or code is another one now, that came, or that went."""
        return [name for shelf in self._shelves.values() for name in differences(shelf.states(), shelf.survey())]

    def reload_changed(self) -> int:
        """Load what changed; how many did. One that cannot be loaded stays as it was, and its state says why."""
        changed = self.check_for_changes()
        for shelf in self._shelves.values():
            shelf.load()
        return len(changed) - len([name for name in self.check_for_changes() if name in changed])

    def get_settings(self, plugin: str) -> dict[str, Any]:
        """What is saved for a plugin: `enabled`, `tool_overrides`, `custom_config` with the defaults of its schema.

        Raises:
            ValueError: That is no plugin's name, or the file cannot be read; the plugin is off then.
        """
        shelf = self._shelf_of(plugin)
        try:
            saved = shelf.saved.read(plugin)
            return {"enabled": True, **saved.to_json(), "custom_config": shelf.filled(plugin, saved)}
        except ConfigurationError as error:
            raise ValueError(str(error)) from error

    def update_settings(
        self,
        plugin: str,
        *,
        enabled: bool | None = None,
        tool_overrides: Mapping[str, Mapping[str, Any]] | None = None,
        custom_config: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Put a change on top of what is saved, and load the plugins again; what is saved then.

        Raises:
            ValueError: It does not fit the plugin's schema, or the name is none.
            StoreError: It cannot be written.
        """
        change = Saved(enabled=enabled, tool_overrides=tool_overrides or {}, custom_config=custom_config or {})
        shelf = self._shelf_of(plugin)
        try:
            shelf.filled(plugin, shelf.saved.read(plugin).merged(change))
            shelf.saved.update(plugin, change)
        except ConfigurationError as error:
            raise ValueError(str(error)) from error
        shelf.load()
        return self.get_settings(plugin)

    def as_source(self, *, accept: Iterable[str] = (), reload: bool = False) -> PluginFolder:
        """The same folders for a gate: `await gate.attach(loader.as_source(accept=["canvas_tools"]))`."""
        return PluginFolder(list(self._shelves), settings=self._settings, accept=accept, reload=reload)

    @staticmethod
    def parse_manifest(path: str | Path) -> Manifest:
        """Read a manifest.

        Raises:
            FileNotFoundError: It is not there.
            ValueError: It is wrong; with the file and every fault.
        """
        return parse_manifest(Path(path).read_bytes(), file=str(path))

    @staticmethod
    def validate_manifest(manifest: Mapping[str, Any]) -> list[str]:
        """Every fault of a manifest; those of a tool name its index."""
        try:
            parse_manifest(json.dumps(dict(manifest)).encode(), file="manifest")
        except ManifestFaults as error:
            return list(error.faults)
        return []

    @staticmethod
    def create_manifest_template(name: str) -> dict[str, Any]:
        """A manifest for a new plugin, which validates.

        Raises:
            ConfigurationError: That is no name for a plugin.
        """
        return manifest_template(name)

    def _shelf_of(self, plugin: str) -> Shelf:
        """The shelf a plugin stands on; any one for a plugin that is not there yet."""
        for shelf in self._shelves.values():
            if any(state.name == plugin for state in shelf.states()):
                return shelf
        return Shelf(Choices(folders=(), settings=self._settings.absolute()))
