"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.plugins.reloading import make_reload_plugins
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    return [make_reload_plugins(services.way)]
