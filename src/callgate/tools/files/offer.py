"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.files.listing import list_dir, list_directory
from callgate.tools.files.read import read_file
from callgate.tools.files.search import search_files
from callgate.tools.files.write import write_file
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, _services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    return [read_file, write_file, list_directory, list_dir, search_files]
