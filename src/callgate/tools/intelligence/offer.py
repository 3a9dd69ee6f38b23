"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.intelligence.map_tool import make_map
from callgate.tools.intelligence.projects import Projects
from callgate.tools.intelligence.search_tool import make_search
from callgate.tools.intelligence.symbol_tools import make_find_definition, make_find_references
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(settings: BuiltinToolsSettings, services: Services = NOTHING) -> list[Any]:
    """Its tools. Notes are everybody's own, so the folder they are kept in is in nobody's index."""
    projects = Projects(services.indexes, notes=services.working_directory.absolute() / settings.vault.path)
    return [make_search(projects), make_find_definition(projects), make_find_references(projects), make_map(projects)]
