"""What the audit log says of calls: the witness that they went through the gate, whichever surface made them."""

from __future__ import annotations

from typing import Any

from callgate import Callgate
from callgate.model.event import Event

_CALLS = ("tool_call.", "gate.")


async def log(gate: Callgate) -> list[Event]:
    """Every event of a call, in order."""
    return [event async for event in gate.events() if event.type.startswith(_CALLS)]


async def story(gate: Callgate) -> list[tuple[str, str]]:
    """Type and tool of every event of a call, in order."""
    return [(event.type, (event.payload or {}).get("tool", "")) for event in await log(gate)]


async def types(gate: Callgate) -> list[str]:
    """The types alone."""
    return [event.type for event in await log(gate)]


def told(gate: Any) -> list[tuple[str, str]]:
    """As `story`, of a gate for blocking code."""
    recorded: list[Event] = [event for event in gate.events() if event.type.startswith(_CALLS)]
    return [(event.type, (event.payload or {}).get("tool", "")) for event in recorded]


def ran(*tools: str) -> list[tuple[str, str]]:
    """The story of calls that passed and ended well, one after the other."""
    return [(f"tool_call.{step}", tool) for tool in tools for step in ("attempted", "succeeded")]
