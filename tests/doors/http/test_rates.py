"""Rates: who asks too often is told when to come back, and nobody else is harmed."""

import pytest

from callgate.serve.rates import Rates, TooManyRequests
from callgate.settings.values import ServeSettings
from tests.doors.http.conftest import Served


async def test_a_credential_that_asks_too_often_is_told_when_to_come_back():
    slow = ServeSettings(port=0, requests_per_second=1, requests_at_once=3)
    async with Served.open(slow) as served, await served.agent() as agent, await served.agent("other") as other:
        answers = [await agent.get("/api/v1/me") for _ in range(5)]
        assert (await other.get("/api/v1/me")).status_code == 200
    refused = answers[-1]
    assert [each.status_code for each in answers[:3]] == [200] * 3
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
    assert int(refused.headers["retry-after"]) >= 1


async def test_a_credential_has_one_bucket_for_all_doors():
    slow = ServeSettings(port=0, requests_per_second=1, requests_at_once=3)
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"Accept": "application/json, text/event-stream"}
    async with Served.open(slow) as served, await served.agent() as agent, await served.agent("other") as other:
        await agent.get("/api/v1/me")
        answers = [await agent.post("/mcp", json=ping, headers=accept) for _ in range(5)]
        others = await other.post("/mcp", json=ping, headers=accept)
    refused = answers[-1]
    assert 429 not in {each.status_code for each in (*answers[:2], others)}
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
    assert int(refused.headers["retry-after"]) >= 1


def test_a_bucket_fills_again_with_time():
    now = [0.0]
    rates = Rates(per_second=2, burst=2, clock=lambda: now[0])
    rates.take("a")
    rates.take("a")
    with pytest.raises(TooManyRequests) as refused:
        rates.take("a")
    assert refused.value.seconds == 1
    rates.take("b")
    now[0] = 0.5
    rates.take("a")
    with pytest.raises(TooManyRequests):
        rates.take("a")


def test_waiting_long_gives_no_more_than_a_bucket_holds():
    now = [0.0]
    rates = Rates(per_second=100, burst=1, clock=lambda: now[0])
    rates.take("a")
    now[0] = 1000.0
    rates.take("a")
    with pytest.raises(TooManyRequests):
        rates.take("a")
