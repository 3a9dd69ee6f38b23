"""What a gate tells of itself in numbers."""

from typing import Any

import pytest

from callgate import Callgate, Pending, tool
from callgate.model.event import Event
from callgate.observe.metrics import Metrics


@tool(effects="read_only")
def word_count(text: str) -> int:
    """Count the words in a text."""
    return len(text.split())


@tool(effects="system_state", risk="high")
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


async def _told(gate: Callgate) -> str:
    await gate.flush()
    pending, unknown = len(await gate.approvals()), len(await gate.unknown_outcomes())
    return gate.metrics(pending=pending, unknown=unknown).decode()


@pytest.fixture
async def gate():
    async with Callgate.open("memory://") as opened:
        opened.add(word_count, pay)
        opened.count()
        yield opened


async def test_calls_are_counted_by_tool_and_how_they_ended(gate: Callgate):
    await gate.call("word_count", {"text": "a b"})
    await gate.call("word_count", {"text": "a"})
    await gate.call("word_count", {})
    told = await _told(gate)
    assert 'callgate_calls_total{status="succeeded",tool="word_count"} 2.0' in told
    assert 'callgate_calls_total{status="refused",tool="word_count"} 1.0' in told
    assert 'callgate_call_seconds_count{tool="word_count"} 2.0' in told


async def test_questions_are_counted_while_they_wait_and_when_they_are_decided(gate: Callgate):
    outcome = await gate.call("pay", {"amount": 1})
    assert "callgate_approvals_pending 1.0" in await _told(gate)
    assert isinstance(outcome, Pending)
    await gate.reject(outcome.approval_id, by="ada", why="no")
    told = await _told(gate)
    assert "callgate_approvals_pending 0.0" in told
    assert 'callgate_decisions_total{decision="rejected"} 1.0' in told
    assert "callgate_decision_seconds_count 1.0" in told


async def test_nothing_of_anybodys_arguments_is_told(gate: Callgate):
    await gate.call("word_count", {"text": "hunter2 hunter2"}, gate.context)
    assert "hunter2" not in await _told(gate)


def test_made_up_names_do_not_fill_the_memory():
    metrics = Metrics()
    for number in range(2500):
        payload = {"tool": f"made-up-{number}"}
        metrics.note(_event("tool_call.refused", payload))
    told = metrics.text(pending=0, unknown=0).decode()
    assert told.count("callgate_calls_total{") == 2001
    assert 'callgate_calls_total{status="refused",tool="(others)"} 500.0' in told


def _event(kind: str, payload: dict[str, Any]) -> Event:
    return Event(
        id="e",
        stream="s",
        sequence=0,
        type=kind,
        time=0.0,
        trace="t",
        call=None,
        producer="p",
        severity="info",
        causes=(),
        payload=payload,
        payload_digest="",
        salt=None,
        previous="",
        hash="",
        position=1,
    )


async def test_tools_that_are_made_up_are_counted_together(gate: Callgate):
    await gate.call("made_up", {})
    await gate.call("made_up_too", {})
    told = await _told(gate)
    assert 'callgate_calls_total{status="refused",tool="(unknown tools)"} 2.0' in told
    assert "made_up" not in told
