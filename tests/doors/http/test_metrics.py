"""Metrics over HTTP: for a person's token with the right to read, as Prometheus shows one."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from callgate import Callgate
from callgate.model.levels import Autonomy
from callgate.testing import HandClock
from tests.doors.http.conftest import Served, served_gate


async def test_who_may_read_is_told_the_counts(served: Served):
    async with await served.agent() as client:
        await client.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a"}})
        refused = await client.get("/metrics")
    await served.gate.flush()
    async with await served.person(rights=["read"]) as client:
        answer = await client.get("/metrics")
    assert refused.status_code == 403
    assert 'callgate_calls_total{status="succeeded",tool="word_count"} 1.0' in answer.text


async def test_what_waits_for_people_is_counted_by_the_store_and_not_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    clock, file = HandClock(), tmp_path / "gate.db"
    async with (
        served_gate(Callgate.open(f"sqlite:///{file}", clock=clock)) as served,
        await served.agent() as agent,
        await served.agent("free", autonomy=Autonomy.A4) as free,
        await served.person(rights=["read"]) as reader,
    ):
        await agent.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 1}})
        clock.turn(1800)
        await agent.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 2}})
        await free.post("/api/v1/calls", json={"tool": "ship", "arguments": {"known": "no"}})
        with closing(sqlite3.connect(file)) as db, db:  # whoever reads these would say that they were changed
            db.execute("UPDATE approvals SET body = replace(body, 'amount', 'account')")
        both = (await reader.get("/metrics")).text
        health = (await reader.get("/api/v1/health")).json()
        clock.turn(1801)
        later = (await reader.get("/metrics")).text
    assert "callgate_approvals_pending 2.0" in both
    assert "callgate_outcomes_unknown 1.0" in both
    assert (health["pending"], health["unknown"]) == (2, 1)
    assert "callgate_approvals_pending 1.0" in later
    assert "was changed in the store" not in caplog.text
