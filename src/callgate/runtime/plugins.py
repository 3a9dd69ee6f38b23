"""Plugins for the doors: looking at them, checking them, switching them, making a new one. Opens no gate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from callgate.adapters.plugins.shelf import Choices, Shelf
from callgate.adapters.plugins.state import PluginState, PluginTool
from callgate.adapters.plugins.template import make_plugin
from callgate.errors import ConfigurationError
from callgate.runtime.plugin_source import plugin_paths

if TYPE_CHECKING:
    from callgate.model.source import Failure
    from callgate.model.tool import Tool
    from callgate.settings.values import Settings

__all__ = [
    "PluginState",
    "PluginTool",
    "ask_for_reload",
    "check_plugins",
    "list_plugins",
    "new_plugin",
    "plugin_tools",
    "switch_plugin",
]


def list_plugins(settings: Settings, working_directory: Path) -> tuple[PluginState, ...]:
    """How every configured plugin stands in its folder; none of their code is run.

    Raises:
        ConfigurationError: No folder is configured.
    """
    return _shelf(settings, working_directory).survey()


def check_plugins(
    settings: Settings, working_directory: Path, *, only: str | None = None
) -> tuple[tuple[PluginState, ...], tuple[Failure, ...]]:
    """Load every configured plugin, or one, as a gate would, which runs its modules; how each stands, and what failed.

    Raises:
        ConfigurationError: No folder is configured, or there is no such plugin.
    """
    shelf = _shelf(settings, working_directory)
    if only is not None:
        shelf.find(only)
    loaded = shelf.load(only=only)
    states = tuple(state for state in shelf.states() if only in (None, state.name))
    names = {state.name for state in states} | {tool.name for state in states for tool in state.tools}
    return states, tuple(failure for failure in loaded.failures if only is None or failure.name in names)


def plugin_tools(settings: Settings, working_directory: Path) -> tuple[Tool, ...]:
    """The tools of the configured plugins, for judging them without a gate; what cannot be loaded is left out.

    Raises:
        ConfigurationError: No folder is configured.
    """
    return _shelf(settings, working_directory).load().tools


def ask_for_reload(settings: Settings, working_directory: Path) -> None:
    """Have gates that watch these plugins load them again, also where no file changed.

    Raises:
        ConfigurationError: No folder is configured.
        StoreError: It cannot be written.
    """
    _shelf(settings, working_directory).saved.ask_for_reload()


def switch_plugin(
    settings: Settings, working_directory: Path, plugin: str, *, on: bool, tool: str | None = None
) -> PluginState:
    """Switch a plugin, or one tool of it, on or off for good; how it stands then.

    Raises:
        ConfigurationError: There is none of that name, or its settings cannot be read.
        StoreError: It cannot be written.
    """
    shelf = _shelf(settings, working_directory)
    shelf.switch(plugin, on=on, tool=tool)
    try:
        return shelf.find(plugin)
    except ConfigurationError:
        return PluginState(name=plugin, folder="", fault="its manifest cannot be read")


def new_plugin(name: str, settings: Settings, working_directory: Path) -> Path:
    """Make a plugin that loads as it stands, in the first configured folder; its path.

    Raises:
        ConfigurationError: That is no name, something is there already, or no folder is configured.
    """
    return make_plugin(name, _choices(settings, working_directory).folders[0])


def _shelf(settings: Settings, working_directory: Path) -> Shelf:
    return Shelf(_choices(settings, working_directory))


def _choices(settings: Settings, working_directory: Path) -> Choices:
    *folders, saved = plugin_paths(settings, working_directory)
    if not folders:
        message = "no folder of plugins is configured; add to callgate.yaml: plugins: {folders: [plugins]}"
        raise ConfigurationError(message, file=settings.file)
    return Choices(folders=tuple(folders), settings=saved, accept=frozenset(settings.plugins.accept))
