"""Metrics over HTTP: for a person's token with the right to read, as Prometheus shows one."""

from tests.doors.http.conftest import Served


async def test_who_may_read_is_told_the_counts(served: Served):
    async with await served.agent() as client:
        await client.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a"}})
        refused = await client.get("/metrics")
    await served.gate.flush()
    async with await served.person(rights=["read"]) as client:
        answer = await client.get("/metrics")
    assert refused.status_code == 403
    assert 'callgate_calls_total{status="succeeded",tool="word_count"} 1.0' in answer.text
