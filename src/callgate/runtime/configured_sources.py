"""Attaching the sources that a configuration names, when a gate opens. What cannot be reached keeps no gate shut."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from callgate.errors import ConfigurationError
from callgate.runtime.modules import placed

if TYPE_CHECKING:
    from callgate.ports import Source
    from callgate.runtime.sourcing import Sourcing
    from callgate.settings.values import Settings

_log = logging.getLogger("callgate")
Servers = dict[str, tuple[str, "Source"]]
"""By name: the key of the configuration that names each, and the server."""


async def attach_configured(gate: Sourcing, settings: Settings, *, working_directory: Path) -> None:
    """Attach every MCP server of the configuration, all at once; a server that is not there yet comes by itself.

    Raises:
        ConfigurationError: A server is described wrong or twice, a file of servers cannot be read, or the SDK is
            missing; with file, line and key.
    """
    if not settings.mcp_servers and not settings.mcp_files:
        return
    servers = _described(settings)
    for at, file in enumerate(mcp_files(settings, working_directory)):
        _take_file(servers, file, settings=settings, key=f"mcp_files[{at}]")
    attaching = (_attach(gate, server, settings=settings, key=key) for key, server in servers.values())
    for error in await asyncio.gather(*attaching, return_exceptions=True):
        if error is not None:
            raise error


def mcp_files(settings: Settings, working_directory: Path) -> list[Path]:
    """Every configured file of servers; they are beside the configuration."""
    beside = settings.folder(working_directory)
    return [(beside / Path(file).expanduser()).absolute() for file in settings.mcp_files]


def _described(settings: Settings) -> Servers:
    from callgate.adapters.mcp.server import McpServer  # noqa: PLC0415 - only who has servers pays for them

    servers: Servers = {}
    for name, described in settings.mcp_servers.items():
        key = f"mcp_servers.{name}"
        with placed(settings, key):
            servers[name] = key, McpServer(name, described)
    return servers


def _take_file(servers: Servers, file: Path, *, settings: Settings, key: str) -> None:
    from callgate.adapters.mcp.client_files import McpServers  # noqa: PLC0415 - as above

    with placed(settings, key):
        try:
            found = McpServers.from_file(file)
        except ConfigurationError as error:
            # The place told is that in the configuration; which file it means belongs into the words.
            raise ConfigurationError(str(error)) from error
        for server in found:
            if server.name in servers:
                message = f"{file} names the MCP server {server.name}, and so does {servers[server.name][0]}; keep one"
                raise ConfigurationError(message)
            servers[server.name] = key, server
    for failure in found.failures:
        _log.warning("%s: %s: %s", key, failure.name, failure.reason)


async def _attach(gate: Sourcing, server: Source, *, settings: Settings, key: str) -> None:
    with placed(settings, key):
        report = await gate.attach(server)
    for failure in report.failures:
        _log.warning("%s: %s: %s", key, failure.name, failure.reason)
