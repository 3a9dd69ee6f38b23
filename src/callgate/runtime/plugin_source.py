"""The plugins a configuration names: as a source, and the places that belong to them."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError
from callgate.policy.own_files import STORE_FOLDER
from callgate.runtime.modules import placed

if TYPE_CHECKING:
    from callgate.runtime.sourcing import Sourcing
    from callgate.settings.values import Settings

PLUGINS = "plugins"
"""The name of the source."""
SHIPPED_SOURCE = "callgate"
"""The name of the source of plugins that come with Callgate."""
_log = logging.getLogger("callgate")
_SAVED = Path(STORE_FOLDER) / "plugins"


async def attach_plugins(gate: Sourcing, settings: Settings, working_directory: Path) -> None:
    """Attach the configured plugins, if there are any; what fails of them is logged and keeps no gate shut.

    Raises:
        ConfigurationError: They are to be watched, and the library for it is missing; with file, line and key.
    """
    if not settings.plugins.folders:
        return
    from callgate.adapters.plugins.source import PluginFolder  # noqa: PLC0415 - loaded only where there are plugins

    *folders, saved = plugin_paths(settings, working_directory)
    chosen = settings.plugins
    source = PluginFolder(folders, settings=saved, accept=chosen.accept, reload=chosen.reload, name=PLUGINS)
    with placed(settings, "plugins"):
        report = await gate.attach(source)
    for failure in report.failures:
        _log.warning("plugins: %s: %s", failure.name, failure.reason)


async def attach_shipped(gate: Sourcing, settings: Settings, *, named: Iterable[str], working_directory: Path) -> None:
    """Attach the plugins that come with Callgate, as far as their tools are enabled or named.

    Raises:
        ConfigurationError: One of their tools was named by itself, and its name is taken.
    """
    wanted = [*settings.builtin_tools.enable, *named]
    if not wanted:
        return
    from callgate.adapters.plugins.source import PluginFolder  # noqa: PLC0415 - loaded only where there are plugins
    from callgate.tools.catalogue import SHIPPED, SHIPPED_FOLDER, shipped_tools  # noqa: PLC0415 - as above

    tools = shipped_tools(wanted)
    if not tools:
        return
    *_, saved = plugin_paths(settings, working_directory)
    source = PluginFolder(SHIPPED_FOLDER, settings=saved, accept=SHIPPED, name=SHIPPED_SOURCE, only=tools)
    source.announced = False  # it is there whenever built-in tools are: looking must not fill the log
    report = await gate.attach(source)
    for failure in report.failures:
        if failure.name in wanted:
            raise ConfigurationError(f"{failure.name}: {failure.reason}")
        _log.warning("built-in plugins: %s: %s", failure.name, failure.reason)


def plugin_paths(settings: Settings, working_directory: Path) -> list[Path]:
    """Every configured folder, and last the folder of their settings; all are beside the configuration."""
    beside = settings.folder(working_directory)
    folders = [(beside / Path(folder).expanduser()).absolute() for folder in settings.plugins.folders]
    return [*folders, (beside / _SAVED).absolute()]
