"""A second process of the demo: an agent that pays, and does not live to hear the bank's answer."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from callgate.cli.demo.shop import PAYMENT, Shop, free_agent, make_tools
from callgate.runtime.gate import Callgate


async def pay(folder: Path, store: str) -> None:
    """Pay through a gate of this process's own."""
    async with Callgate.open(store, working_directory=folder) as gate:
        gate.add(*make_tools(Shop(folder)))
        await gate.call("pay", PAYMENT, free_agent())


if __name__ == "__main__":
    asyncio.run(pay(Path(sys.argv[1]), sys.argv[2]))
