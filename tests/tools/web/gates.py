"""Gates of the tests that have the web tools, over a network of the tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from callgate import Callgate
from callgate.settings.values import BuiltinToolsSettings
from callgate.tools.outbound.network import Network
from callgate.tools.web.offer import make


@asynccontextmanager
async def gate_with(network: Network, config: Path | None = None) -> AsyncGenerator[Callgate]:
    """A gate that has the web tools, over this network."""
    gate = Callgate.open("memory://", config)
    gate.add(*make(BuiltinToolsSettings(), network=network))
    async with gate:
        yield gate
