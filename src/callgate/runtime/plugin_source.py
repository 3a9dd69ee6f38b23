"""The plugins a configuration names: as a source, and the places that belong to them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from callgate.adapters.plugins.source import PluginFolder
    from callgate.settings.values import Settings

PLUGINS = "plugins"
"""The name of the source."""
_SAVED = Path(".callgate") / "plugins"


def plugin_source(settings: Settings, working_directory: Path) -> PluginFolder | None:
    """The source of the configured plugins; None without any."""
    if not settings.plugins.folders:
        return None
    from callgate.adapters.plugins.source import PluginFolder  # noqa: PLC0415 - loaded only where there are plugins

    *folders, saved = plugin_paths(settings, working_directory)
    return PluginFolder(
        folders, settings=saved, accept=settings.plugins.accept, reload=settings.plugins.reload, name=PLUGINS
    )


def plugin_paths(settings: Settings, working_directory: Path) -> list[Path]:
    """Every configured folder, and last the folder of their settings; all are beside the configuration."""
    beside = working_directory if settings.file is None else Path(settings.file).parent
    folders = [(beside / Path(folder).expanduser()).absolute() for folder in settings.plugins.folders]
    return [*folders, (beside / _SAVED).absolute()]
