"""A request over HTTP cannot be more than its credential: nothing is called under a raised context, on any route."""

from typing import Any

import httpx2
import pytest

from callgate.model.levels import Autonomy
from tests.doors.http.conftest import Served
from tests.doors.raised import FREE, RAISED

_PAY = {"tool": "pay", "arguments": {"amount": 1}}
ROUTES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "call": ("/api/v1/calls", _PAY, {}),
    "begun": ("/api/v1/calls", _PAY, {"Prefer": "respond-async"}),
    "batch": ("/api/v1/calls/batch", {"calls": [_PAY]}, {}),
    "judgement": ("/api/v1/judgements", _PAY, {}),
}


async def _asked(client: httpx2.AsyncClient, route: str, wish: dict[str, Any]) -> httpx2.Response:
    path, body, headers = ROUTES[route]
    return await client.post(path, json=body | {"context": wish}, headers=headers)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("raised", RAISED)
async def test_a_request_is_never_more_than_its_credential(served: Served, raised: str, route: str):
    limits, wish = RAISED[raised]
    async with await served.agent(**limits) as agent:
        answer = await _asked(agent, route, wish)
    assert (answer.status_code, answer.json()["code"]) in {(403, "entry_refused"), (422, "invalid_request")}
    assert served.paid == []
    assert [event.type async for event in served.gate.events(types=["tool_call.*", "gate.*"])] == []


async def test_the_same_request_without_the_wish_pays(served: Served):
    async with await served.agent(**FREE) as agent:
        assert (await _asked(agent, "call", {})).status_code == 200
    assert served.paid == [1]


async def test_more_autonomy_than_is_usual_changes_nothing_where_the_credential_says_none(served: Served):
    async with await served.agent() as agent:
        answer = await _asked(agent, "call", {"autonomy": "A4"})
    assert answer.status_code == 202
    assert served.paid == []


async def test_a_request_may_be_less_than_its_credential(served: Served):
    async with await served.agent(**FREE) as agent:
        less = await _asked(agent, "call", {"autonomy": Autonomy.A1.label})
        least = await _asked(agent, "call", {"read_only": True})
    assert (less.status_code, least.status_code) == (202, 403)
    assert served.paid == []
