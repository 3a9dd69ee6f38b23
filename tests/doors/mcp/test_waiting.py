"""Calls over MCP that wait for a person: held, then a link, then collected, and only by who asked."""

import asyncio
from typing import Any

import pytest

from callgate.model.approval import Approval
from tests.doors.http.conftest import Served
from tests.doors.mcp.conftest import client_of, text_of

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
AT_ONCE: Any = {"callgate/wait": 0}


@ERAS
async def test_a_call_is_held_until_a_person_allows_it(served: Served, era: str):
    notes: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        notes.append(message)
        assert total is None
        assert progress > 0

    async with client_of(served, mode=era) as client:
        calling = asyncio.ensure_future(client.call_tool("pay", {"amount": 5}, progress_callback=hear))
        asked = await _asked(served)
        assert served.paid == []
        await served.gate.approve(asked.id, by="ada")
        answer = await calling
    assert text_of(answer) == "paid 5"
    assert served.paid == [5]
    assert notes[0] == f"waiting for a person to decide: {served.console}/approvals/{asked.id}"


@ERAS
async def test_a_rejected_call_says_why(served: Served, era: str):
    async with client_of(served, mode=era) as client:
        calling = asyncio.ensure_future(client.call_tool("pay", {"amount": 5}))
        await served.gate.reject((await _asked(served)).id, by="ada", why="too much")
        answer = await calling
    assert answer.is_error
    assert "too much" in text_of(answer)
    assert served.paid == []


@ERAS
async def test_what_waited_too_long_is_collected_later_and_runs_once(served: Served, era: str):
    async with client_of(served, mode=era) as client:
        waiting = await client.call_tool("pay", {"amount": 5}, meta=AT_ONCE)
        asked = await _asked(served)
        still = await client.call_tool("approval_result", {"id": asked.id, "wait": 0})
        await served.gate.approve(asked.id, by="ada")
        got = await client.call_tool("approval_result", {"id": asked.id})
        again = await client.call_tool("approval_result", {"id": asked.id})
    assert f"{served.console}/approvals/{asked.id}" in text_of(waiting)
    assert waiting.meta is not None
    assert waiting.meta["callgate/outcome"]["status"] == "pending"
    assert waiting.meta["callgate/outcome"]["approval_id"] == asked.id
    assert "approval_result" in text_of(still)
    assert text_of(got) == text_of(again) == "paid 5"
    assert served.paid == [5]


@pytest.mark.parametrize(
    "thief",
    [{"name": "other"}, {"limits": {"session": "elsewhere"}}],
    ids=["another agent", "its other session"],
)
async def test_nobody_collects_what_another_asked_for(served: Served, thief: dict[str, Any]):
    async with client_of(served) as mine, client_of(served, **thief) as theirs:
        await mine.call_tool("pay", {"amount": 5}, meta=AT_ONCE)
        asked = await _asked(served)
        await served.gate.approve(asked.id, by="ada")
        stolen = await theirs.call_tool("approval_result", {"id": asked.id})
        made_up = await theirs.call_tool("approval_result", {"id": "01900000-0000-7000-8000-000000000000"})
        nothing = await theirs.call_tool("approval_result", {"wait": 0})
        called = await theirs.call_tool("pay", {"amount": 5}, meta=AT_ONCE)
    assert stolen.is_error
    assert text_of(stolen).replace(asked.id, "ID") == text_of(made_up).replace(text_of(made_up)[-36:], "ID")
    assert "invalid_arguments" in text_of(nothing)
    assert called.meta is not None
    assert called.meta["callgate/outcome"]["status"] == "pending"
    assert called.meta["callgate/outcome"]["approval_id"] != asked.id
    assert served.paid == []


async def _asked(served: Served) -> Approval:
    """The one question that stands, once it does."""
    async with asyncio.timeout(10):
        async for _ in served.gate.events(types=["gate.required"], follow=True):
            break
    [asked] = await served.gate.approvals()
    return asked
