"""One recorded fact, heard in the words of whoever listens, from a real call."""

import asyncio
from typing import Any

import pytest

from callgate import tool
from callgate.events.translation import Told
from callgate.model.context import Context
from callgate.model.levels import Autonomy, Severity
from callgate.runtime.gate import Callgate
from callgate.testing import memory_gate

FULL = Context(autonomy=Autonomy.A4)


@tool(effects="read_only", capabilities=["search"])
async def lookup(word: str) -> dict[str, str]:
    """Look a word up."""
    if not word:
        raise ValueError("no word")
    return {"found": word}


@tool(effects="system_state", risk="low")
async def note(word: str) -> dict[str, str]:
    """Write a word down."""
    if not word:
        raise ValueError("no word")
    return {"found": word}


@tool(effects="read_only", timeout=0.02)
async def hangs_reading() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


@tool(effects="system_state", timeout=0.02, risk="low")
async def hangs_writing() -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return ""


def house() -> Callgate:
    return memory_gate(lookup, note, hangs_reading, hangs_writing)


async def hear(pattern: str, name: str, arguments: dict[str, Any], vocabulary: str | None = None) -> list[Told]:
    """Everything a subscriber hears of one call."""
    heard: list[Told] = []
    async with house() as gate:
        gate.on(pattern, heard.append, vocabulary=vocabulary)
        await gate.call(name, arguments, FULL)
        await gate.flush()
    return heard


@pytest.mark.requirement("EVT-01")
@pytest.mark.parametrize("name", ["lookup", "note"])
async def test_a_success_is_invoked_then_completed_under_the_contexts_trace(name: str):
    told = await hear("tool.*", name, {"word": "gate"}, "tool")
    assert [item.type for item in told] == ["tool.invoked", "tool.completed"]
    assert {item.trace for item in told} == {FULL.trace_id}
    invoked, completed = (item.payload for item in told)
    assert invoked["tool_name"] == completed["tool_name"] == name
    assert invoked["tool_id"] == completed["tool_id"]
    assert (invoked["input_data"], invoked["source"]) == ({"word": "gate"}, "function")
    assert completed["output_data"] == {"found": "gate"}
    assert completed["duration_ms"] >= 0


@pytest.mark.requirement("EVT-02")
@pytest.mark.parametrize("name", ["lookup", "note"])
async def test_a_raising_handler_is_invoked_then_failed_and_unwrap_has_its_exception(name: str):
    told = await hear("tool.*", name, {"word": ""}, "tool")
    assert [item.type for item in told] == ["tool.invoked", "tool.failed"]
    assert told[1].payload["error"] == "no word"
    assert told[1].payload["duration_ms"] >= 0
    async with house() as gate:
        outcome = await gate.call(name, {"word": ""}, FULL)
    with pytest.raises(Exception, match="no word") as caught:
        outcome.unwrap()
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.__cause__ is outcome.cause


@pytest.mark.requirement("EVT-03")
@pytest.mark.parametrize("name", ["hangs_reading", "hangs_writing"])
async def test_a_timeout_is_invoked_then_timeout_with_its_limit_and_no_failure(name: str):
    told = await hear("tool.*", name, {}, "tool")
    assert [item.type for item in told] == ["tool.invoked", "tool.timeout"]
    assert told[1].payload["timeout_ms"] == 20


@pytest.mark.requirement("EVT-12")
@pytest.mark.parametrize("name", ["hangs_reading", "hangs_writing"])
async def test_a_timeout_is_told_once_to_who_listens_to_the_executor(name: str):
    (told,) = await hear("tool.call.timeout", name, {})
    assert (told.source, told.severity) == ("tool_executor", Severity.WARNING)
    assert told.payload.keys() == {"tool_name", "error_type", "error_message", "timeout_seconds"}
    assert (told.payload["tool_name"], told.payload["error_type"]) == (name, "timeout")
    assert told.payload["timeout_seconds"] == 0.02
    assert "timed out" in told.payload["error_message"]


@pytest.mark.requirement("EVT-13")
@pytest.mark.parametrize("name", ["lookup", "note"])
async def test_a_call_is_pending_then_a_success_with_its_duration_or_a_failure(name: str):
    pending, success = await hear("tool.call.*", name, {"word": "gate"})
    assert (pending.type, pending.payload["tool_name"]) == ("tool.call.pending", name)
    assert (success.type, success.severity) == ("tool.call.success", Severity.DEBUG)
    assert success.payload["tool_name"] == name
    assert success.payload["duration_ms"] >= 0
    failed = await hear("tool.call.*", name, {"word": ""})
    assert [item.type for item in failed] == ["tool.call.pending", "tool.call.failure"]
    assert failed[1].payload["error_message"] == "no word"
    assert failed[1].payload["error_type"] == "user_input_error"


async def test_a_refusal_begins_and_ends_for_the_executor():
    told = await hear("tool.call.*", "nowhere", {})
    assert [item.type for item in told] == ["tool.call.pending", "tool.call.failure"]
    assert told[1].payload["error_message"] == "Unknown tool: nowhere"


@pytest.mark.requirement("REG-18")
@pytest.mark.parametrize("vocabulary", [None, "tool"])
async def test_adding_a_tool_is_told_with_its_id_name_source_and_capabilities(vocabulary: str | None):
    heard: list[Any] = []
    async with memory_gate() as gate:
        gate.on("tool.registered", heard.append, vocabulary=vocabulary)
        (added,) = gate.add(lookup)
        await gate.flush()
    (told,) = heard
    payload = told.payload
    assert (payload["tool_id"], payload["tool_name"]) == (added.id, "lookup")
    assert (payload["source"], payload["capabilities"]) == ("function", ["search"])


@pytest.mark.requirement("REG-18")
async def test_tools_added_before_the_gate_opens_are_recorded_when_it_does():
    async with memory_gate(lookup, note) as gate:
        recorded = [event async for event in gate.events(types=["tool.registered"])]
    assert [(event.payload or {})["tool_name"] for event in recorded] == ["lookup", "note"]


@pytest.mark.requirement("REG-08")
async def test_listing_for_an_asker_has_what_it_may_use_with_its_facts():
    async with house() as gate:
        everything = {entry["name"]: entry for entry in gate.pool(FULL).describe()}
        reading = gate.pool(FULL.narrow(read_only=True)).describe()
    assert everything.keys() == {"lookup", "note", "hangs_reading", "hangs_writing"}
    assert {entry["name"] for entry in reading} == {"lookup", "hangs_reading"}
    assert everything["note"].keys() == {"name", "description", "category", "parameters", "mcp_backed", "side_effects"}
    assert everything["note"]["side_effects"] == ["system_state"]
    assert "destructive" not in everything["note"]
