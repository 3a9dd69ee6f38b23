"""Asking one data tool through a gate."""

from __future__ import annotations

from typing import Any

from callgate import Callgate


async def ask(name: str, **arguments: Any) -> Any:
    """The outcome of one call."""
    async with Callgate.open("memory://", builtin_tools=["data"]) as gate:
        return await gate.call(name, arguments)
