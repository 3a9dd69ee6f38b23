"""What the registry files of the tests name as handlers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from callgate import ToolContext, tool


def fetch_docs(url: str, depth: int = 1) -> dict[str, Any]:
    """Fetch nothing."""
    return {"url": url, "depth": depth}


async def whoami(ctx: ToolContext) -> str:
    """Who asks."""
    return ctx.context.principal


def anything(**fields: Any) -> dict[str, Any]:
    """Take whatever comes."""
    return fields


@tool(effects="read_only", timeout=3)
def search_code(query: str, limit: int = 5) -> list[str]:
    """Search."""
    return [query] * limit


def yields() -> Iterator[int]:
    """No single value."""
    yield 1


class Box:
    """Holds a function."""

    @staticmethod
    def inside() -> str:
        """Inside."""
        return "inside"


NOT_A_FUNCTION = 3
