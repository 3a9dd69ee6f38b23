"""A facade without a gate has one of its own: opened once, closed with it, and opened anew when it is used again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from callgate import tool
from callgate.compat.home import Home
from callgate.compat.protocol import ToolRegistry
from callgate.errors import ConfigurationError
from callgate.model.context import Context


@tool(effects="read_only")
async def now() -> str:
    """Tell the time."""
    return "noon"


@tool(effects="read_only")
async def later() -> str:
    """Tell another time."""
    return "midnight"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def test_calls_that_come_at_once_open_one_gate(place: Path):
    home = Home()
    home.gate.add(now)
    assert not (place / ".callgate").exists()
    outcomes = await asyncio.gather(*(home.call("now", {}, Context()) for _ in range(5)))
    assert [outcome.unwrap() for outcome in outcomes] == ["noon"] * 5
    gate = home.gate
    assert await home.opened() is gate
    await home.close()
    await home.close()
    assert home.gate is not gate
    assert await home.opened() is home.gate
    await home.close()


async def test_a_registry_of_the_protocol_takes_one_tool_after_the_other():
    async with ToolRegistry() as registry:
        with pytest.raises(ConfigurationError, match="one tool after the other"):
            registry.register([now, later])
        both = registry.register(now).register(later)
        assert [each["name"] for each in both.to_anthropic_tools()] == ["now", "later"]
