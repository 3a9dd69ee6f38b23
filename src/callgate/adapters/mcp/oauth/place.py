"""Place: where to sign in, and how. Shows no credential."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from callgate.adapters.mcp.oauth.asking import OAuth


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where to sign in, and how."""

    server: str
    """The URL of the MCP server."""
    oauth: OAuth
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What the server is shown besides; nobody else is."""
    client_secret: str | None = field(default=None, repr=False)
