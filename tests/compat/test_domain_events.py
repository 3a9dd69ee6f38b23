"""Handing on what was recorded: to a store alone, to a bridge alone, and never half of an envelope's JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callgate import tool
from callgate.compat import Envelope, ToolExecutor
from callgate.model.context import Context
from callgate.testing import memory_gate


@tool(effects="read_only")
async def now() -> str:
    """Tell the time."""
    return "noon"


class Kept:
    """Takes envelopes under both names."""

    def __init__(self) -> None:
        self.envelopes: list[Envelope] = []

    def append(self, envelope: Envelope) -> None:
        self.envelopes.append(envelope)

    async def publish(self, envelope: Envelope) -> None:
        self.envelopes.append(envelope)


@pytest.mark.parametrize("way", ["event_store", "bridge"])
async def test_a_store_or_a_bridge_alone_is_told_everything(way: str):
    kept = Kept()
    options: dict[str, Any] = {way: kept, "producer": "somebody"}
    async with memory_gate(now) as gate:
        await ToolExecutor(gate, **options).run("now", Context())
    assert [each.event_type for each in kept.envelopes] == ["tool.invoked", "tool.completed"]
    assert len({each.event_id for each in kept.envelopes}) == 2
    assert json.loads(json.dumps(kept.envelopes[1].to_json()))["producer"] == "somebody"
