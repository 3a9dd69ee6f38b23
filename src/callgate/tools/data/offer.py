"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.data.json_tools import json_parse, json_query


def make(_: BuiltinToolsSettings) -> list[Any]:
    """Its tools."""
    return [json_parse, json_query]
