"""A request over MCP cannot be more than its credential: nothing is called under a raised context, in either era."""

from typing import Any

import pytest
from mcp import MCPError

from tests.doors.http.conftest import Served
from tests.doors.mcp.conftest import client_of, text_of
from tests.doors.raised import FREE, RAISED

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])


@ERAS
@pytest.mark.parametrize("raised", RAISED)
async def test_a_request_is_never_more_than_its_credential(served: Served, raised: str, era: str):
    limits, wish = RAISED[raised]
    meta: Any = {"callgate/context": wish}
    async with client_of(served, mode=era, limits=limits) as client:
        with pytest.raises(MCPError):
            await client.call_tool("pay", {"amount": 1}, meta=meta)
    assert served.paid == []
    assert [event.type async for event in served.gate.events(types=["tool_call.*", "gate.*"])] == []


@ERAS
async def test_the_same_request_without_the_wish_pays(served: Served, era: str):
    async with client_of(served, mode=era, limits=FREE) as client:
        assert text_of(await client.call_tool("pay", {"amount": 1})) == "paid 1"
    assert served.paid == [1]
