"""What this category offers."""

from __future__ import annotations

from typing import Any

from callgate.settings.values import BuiltinToolsSettings


def make(_: BuiltinToolsSettings) -> list[Any]:
    """Its tools."""
    return []
