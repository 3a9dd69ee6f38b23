"""Observe mode over HTTP: how a call ended says that nobody was asked, and what would have been decided."""

import time
from collections.abc import AsyncIterator

import pytest

from callgate import Callgate
from callgate.settings.values import Observe, Settings
from tests.doors.http.conftest import Served, served_gate

_TOLD = "observe mode by ada for *: it runs, and confirm is only recorded"


@pytest.fixture
async def observed() -> AsyncIterator[Served]:
    now = time.time()
    settings = Settings(observe=(Observe(source="*", since=now - 1, until=now + 3600, by="ada"),))
    async with served_gate(Callgate.open("memory://", config=settings)) as found:
        yield found


async def test_a_call_that_ran_unasked_says_so_and_why(observed: Served):
    call = {"tool": "pay", "arguments": {"amount": 5}}
    async with await observed.agent() as agent:
        alone = (await agent.post("/api/v1/calls", json=call, headers={"Idempotency-Key": "k"})).json()
        later = (await agent.get(f"/api/v1/calls/{alone['call_id']}")).json()["outcome"]
        batch = (await agent.post("/api/v1/calls/batch", json={"calls": [call]})).json()["outcomes"][0]["outcome"]
        explained = (await agent.post("/api/v1/calls/explain", json=call)).json()
    assert observed.paid == [5, 5]
    for outcome in (alone, batch):
        assert (outcome["status"], outcome["metadata"]["observed"]) == ("succeeded", "confirm")
        assert _TOLD in outcome["metadata"]["why"]
    assert later["metadata"]["observed"] == "confirm"
    assert _TOLD in [reason["text"] for reason in explained["reasons"]]


async def test_what_is_enforced_says_nothing_of_it(served: Served):
    async with await served.agent() as agent:
        found = (await agent.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a"}})).json()
    assert "observed" not in found["metadata"]
    assert "why" not in found["metadata"]
