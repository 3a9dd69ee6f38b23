"""Who signs in, in the tests about it: a person with a browser, and gates that keep what they are shown in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2

from callgate.adapters.mcp import McpServer
from callgate.model.levels import Autonomy
from callgate.settings.values import McpServerSettings, OAuthSettings, SecretsSettings, Settings
from tests.adapters.mcp.authorization import Protected
from tests.adapters.mcp.servers import READS, WRITES

DECLARED = {"note": WRITES, "hold": WRITES, "*": READS}


class Person:
    """Goes where he is sent, as a browser does."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.landed: list[int] = []

    async def __call__(self, url: str) -> None:
        self.asked.append(url)
        async with httpx2.AsyncClient(timeout=60) as browser:
            await self.land(browser, (await browser.get(url)).headers["location"])

    async def land(self, browser: httpx2.AsyncClient, address: str) -> None:
        self.landed.append((await browser.get(address)).status_code)


def kept_in(folder: Path, **servers: McpServerSettings) -> Settings:
    """Settings of a gate whose secrets are in a file there."""
    secrets = SecretsSettings(backend="file", path=str(folder / "secrets.sealed"))
    return Settings(autonomy=Autonomy.A4, secrets=secrets, mcp_servers=servers)


def at(server: Protected, auth: Any = None, **fields: Any) -> McpServer:
    """The server as a source, every tool declared."""
    given = OAuthSettings() if auth is None else auth or None
    options: Any = {"url": server.url, "auth": given, "declare": DECLARED, "startup": 30, **fields}
    return McpServer("srv", **options)
