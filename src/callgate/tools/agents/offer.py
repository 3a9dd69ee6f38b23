"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.agents.librarian import make_delegate_librarian
from callgate.tools.agents.research_tool import make_deep_research
from callgate.tools.services import NOTHING, Services, lending


@lending
def make(_: BuiltinToolsSettings, services: Services = NOTHING) -> list[Any]:
    """Its tools."""
    return [make_delegate_librarian(services), make_deep_research(services)]
