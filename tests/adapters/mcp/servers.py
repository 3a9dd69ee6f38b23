"""Servers for the tests about MCP: how they are started, what they witnessed, and waiting for what nobody tells."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from callgate import Callgate
from callgate.adapters.mcp import McpServer
from callgate.model.levels import Autonomy, HealthStatus
from callgate.settings.values import Settings
from callgate.testing import memory_gate
from tests.waiting import until

SCRIPT = Path(__file__).with_name("scripted_server.py")
FREE = Settings(autonomy=Autonomy.A4)
READS: dict[str, Any] = {"effects": "read_only"}
WRITES: dict[str, Any] = {"effects": "modifies_files", "risk": "low", "destructive": False}
DECLARED = {"note": WRITES, "die_after": WRITES, "*": READS}


def gate_of(**options: Any) -> Callgate:
    """An unopened gate in memory."""
    return memory_gate(**options)


def command(folder: Path, mode: str = "plain") -> list[str]:
    """Starts the scripted server."""
    return [sys.executable, "-I", str(SCRIPT), str(folder), mode]


def scripted(folder: Path, mode: str = "plain", **fields: Any) -> McpServer:
    """The scripted server as a source, every tool declared."""
    given: Any = {"command": command(folder, mode), "declare": DECLARED, **fields}
    return McpServer("srv", **given)


def witnessed(folder: Path, name: str) -> list[str]:
    """What a server wrote down under that name."""
    file = folder / name
    return file.read_text().splitlines() if file.exists() else []


async def until_available(gate: Callgate, connector: str = "mcp.srv", *, available: bool = True) -> None:
    """Wait until a server is there, or gone."""
    await until(lambda: (gate.health(connector).status is not HealthStatus.UNAVAILABLE) is available)


async def told(gate: Callgate, *types: str) -> list[dict[str, Any]]:
    """What was recorded of these types so far, each with its type and call."""
    await gate.flush()
    found = [event async for event in gate.events(types=list(types))]
    return [{**(event.payload or {}), "type": event.type, "call": event.call} for event in found]


async def until_told(gate: Callgate, *types: str, times: int = 1) -> list[dict[str, Any]]:
    """Wait until something of these types was recorded so many times."""
    async with asyncio.timeout(30):
        while len(found := await told(gate, *types)) < times:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0.01)  # between two looks
    return found
