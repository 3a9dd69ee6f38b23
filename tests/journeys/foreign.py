"""A foreign server that has what a test says, and a person who looks at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callgate.model.levels import Origin
from callgate.model.source import Loaded
from callgate.model.tool import Arguments, Tool
from callgate.ports import Desk

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"repo": {"type": "string"}}}


def _as_given(arguments: Mapping[str, Any], /) -> Arguments:
    return dict(arguments)


def server_tool(name: str, description: str = "Get something.", **facts: Any) -> Tool:
    """A tool of the server `github`, which declares nothing unless told."""

    async def answer(_arguments: Arguments, _context: Any) -> str:
        return description

    body: dict[str, Any] = {
        "input_schema": SCHEMA,
        "handler": answer,
        "is_async": True,
        "validator": _as_given,
        "source": Origin.MCP,
        "source_name": "github",
        "declared": False,
        "destructive": True,
        "untrusted_output": True,
    }
    return Tool(name=name, description=description, **{**body, **facts})


class Server:
    """A source that has what the test puts on it."""

    origin = Origin.MCP
    name = "github"

    def __init__(self, *tools: Tool) -> None:
        self.tools = tools

    async def load(self, desk: Desk) -> Loaded:
        assert desk
        return Loaded(self.tools)

    async def close(self) -> None:
        """Nothing to let go."""
