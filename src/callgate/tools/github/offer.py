"""What this category offers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.github.allowance import Allowance
from callgate.tools.github.api import Api
from callgate.tools.github.cache import MOST_BYTES, MemoryShelf, Shelf
from callgate.tools.github.reading import make_github_read
from callgate.tools.github.searching import make_github_search
from callgate.tools.github.shelf_file import FileShelf
from callgate.tools.outbound.network import Network, network_for
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(settings: BuiltinToolsSettings, services: Services = NOTHING, *, network: Network | None = None) -> list[Any]:
    """Its tools.

    Args:
        settings: What the configuration says.
        services: A folder for files that were read before, and a clock.
        network: What they go out through; None is the system's own, or the proxy of the configuration.
    """
    now = time.time if services.clock is None else services.clock.now
    api = Api(network or network_for(settings.web), settings.github, allowance=Allowance(now))
    return [
        make_github_read(api, _shelf(services.indexes), address=settings.github.api),
        make_github_search(api, address=settings.github.api),
    ]


def _shelf(folder: Path | None) -> Shelf:
    return MemoryShelf() if folder is None else FileShelf(folder / "github.db", most=MOST_BYTES)
