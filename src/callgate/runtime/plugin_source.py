"""The plugins a configuration names: as a source, and the places that belong to them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.runtime.modules import placed

if TYPE_CHECKING:
    from callgate.runtime.sourcing import Sourcing
    from callgate.settings.values import Settings

PLUGINS = "plugins"
"""The name of the source."""
_log = logging.getLogger("callgate")
_SAVED = Path(".callgate") / "plugins"


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


def plugin_paths(settings: Settings, working_directory: Path) -> list[Path]:
    """Every configured folder, and last the folder of their settings; all are beside the configuration."""
    beside = working_directory if settings.file is None else Path(settings.file).parent
    folders = [(beside / Path(folder).expanduser()).absolute() for folder in settings.plugins.folders]
    return [*folders, (beside / _SAVED).absolute()]
