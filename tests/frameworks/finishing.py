"""A program with a gate of its own: it begins a conversation and dies in the middle, or goes on with one that was kept.

Its one tool writes a line into a file for each time it ran, which is the witness.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from callgate import Callgate, Context, tool
from tests.frameworks.providers import PROVIDERS

MINE = Context(user="ann", session="chat-1")


def payment(witness: Path, *, risk: str, dies: bool = False) -> Any:
    """The tool."""

    @tool(name="bank.pay", effects="system_state", risk=risk)
    async def pay(amount: int, to: str) -> str:
        """Pay somebody."""
        with witness.open("a") as lines:
            lines.write(f"{amount} {to}\n")
        if dies:
            os._exit(9)
        return f"paid {amount} to {to}"

    return pay


async def main(order: dict[str, Any]) -> None:
    """Do what the test ordered, and print how it ended."""
    folder, provider = Path(order["folder"]), PROVIDERS[order["provider"]]
    state = folder / "state.json"
    tool = payment(folder / "witness", risk=order["risk"], dies=order["part"] == "begin")
    async with Callgate.open(f"sqlite:///{folder / 'gate.db'}") as gate:
        gate.add(tool)
        loop = provider.loop(order["url"], gate, wait=30)
        if order["part"] == "begin":
            await loop.run("Pay.", MINE, keep=lambda kept: state.write_text(json.dumps(kept)))
            return
        for approval in await gate.approvals():
            await gate.approve(approval.id, by="ann")
        result = await loop.resume(state.read_text(), MINE)
        print(json.dumps({"stopped": result.stopped, "text": result.text}))  # noqa: T201 - its way to answer


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
