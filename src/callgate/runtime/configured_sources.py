"""Attaching the sources that a configuration names, when a gate opens. What cannot be reached keeps no gate shut."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from callgate.runtime.modules import placed

if TYPE_CHECKING:
    from callgate.ports import Source
    from callgate.runtime.sourcing import Sourcing
    from callgate.settings.values import Settings

_log = logging.getLogger("callgate")


async def attach_configured(gate: Sourcing, settings: Settings) -> None:
    """Attach every MCP server of the configuration, all at once; a server that is not there yet comes by itself.

    Raises:
        ConfigurationError: A server is described wrong, or the SDK is missing; with file, line and key.
    """
    if not settings.mcp_servers:
        return
    from callgate.adapters.mcp.server import McpServer  # noqa: PLC0415 - only who has servers pays for them

    servers: list[Source] = []
    for name, described in settings.mcp_servers.items():
        with placed(settings, f"mcp_servers.{name}"):
            servers.append(McpServer(name, described))
    ends = await asyncio.gather(
        *(_attach(gate, server, settings=settings) for server in servers), return_exceptions=True
    )
    for error in ends:
        if error is not None:
            raise error


async def _attach(gate: Sourcing, server: Source, *, settings: Settings) -> None:
    with placed(settings, f"mcp_servers.{server.name}"):
        report = await gate.attach(server)
    for failure in report.failures:
        _log.warning("mcp_servers.%s: %s: %s", server.name, failure.name, failure.reason)
