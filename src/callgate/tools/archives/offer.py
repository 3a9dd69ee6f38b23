"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.archives.contents import make_file, make_search
from callgate.tools.archives.extract import make_extract
from callgate.tools.archives.manifest import make_open
from callgate.tools.archives.shelf import Shelf
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, _services: Services = NOTHING) -> list[Any]:
    """Its tools, which share what sessions opened."""
    shelf = Shelf()
    return [make_open(shelf), make_extract(shelf), make_file(shelf), make_search(shelf)]
