"""A tool that declares it looks at the record sees its asker's own calls of the trace, and nobody else's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from callgate import Context, ToolContext, tool
from callgate.adapters.convert import convert
from callgate.model.tool import Tool
from callgate.pipeline import past_calls
from tests.journeys.gates import gate_of

pytestmark = pytest.mark.usefixtures("on_each_store")

ANN = Context(principal="agent", user="ann", session="s", trace_id="t")


@tool(effects="read_only")
async def echo(text: str) -> str:
    """Say it again."""
    if text == "fail":
        raise RuntimeError("no")
    return text


def looker(*capabilities: str) -> Tool:
    @tool(effects="read_only")
    async def look(ctx: ToolContext) -> dict[str, Any]:
        """Look at what was recorded."""
        calls = await ctx.recorded()
        return {"calls": [(call["args"].get("text"), call["status"]) for call in calls], "left_out": calls.left_out}

    [made] = convert(look)
    return replace(made, capabilities=capabilities)


async def test_a_tool_sees_the_calls_of_its_asker_in_this_trace_and_how_they_ended() -> None:
    async with gate_of(echo, looker("record")) as gate:
        for text in ("one", "fail"):
            await gate.call("echo", {"text": text}, ANN)
        for other in ({"user": "bob"}, {"principal": "another"}, {"session": "other"}, {"trace_id": "other"}):
            await gate.call("echo", {"text": "not hers"}, replace(ANN, **other))
        seen = (await gate.call("look", {}, ANN)).unwrap()
    assert [tuple(call) for call in seen["calls"]][:2] == [("one", "succeeded"), ("fail", "failed")]
    assert "not hers" not in str(seen)
    assert seen["left_out"] == 0


async def test_of_more_calls_than_are_kept_the_newest_are_told_and_the_others_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(past_calls, "_MOST_CALLS", 3)
    monkeypatch.setattr(past_calls, "_PAGE", 4)
    async with gate_of(echo, looker("record")) as gate:
        for number in range(5):
            await gate.call("echo", {"text": str(number)}, ANN)
        seen = (await gate.call("look", {}, ANN)).unwrap()
    assert [text for text, _ in seen["calls"]] == ["3", "4", None]
    assert seen["left_out"] == 3


async def test_a_tool_that_does_not_declare_it_sees_nothing() -> None:
    async with gate_of(echo, looker()) as gate:
        await gate.call("echo", {"text": "one"}, ANN)
        told = await gate.call("look", {}, ANN)
    assert "look failed unexpectedly (LookupError)" in str(told)
