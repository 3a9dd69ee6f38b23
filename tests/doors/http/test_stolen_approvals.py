"""Approvals that somebody else wants to use or to give: over HTTP one is its asker's, and a decision a person's."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from callgate import Callgate
from callgate.errors import ConfigurationError
from tests.doors.http.conftest import Served, served_gate

_PAY: dict[str, Any] = {"tool": "pay", "arguments": {"amount": 5}}
THIEVES: dict[str, dict[str, Any]] = {
    "another agent": {"name": "other"},
    "its other session": {"session": "elsewhere"},
    "a session named like its own": {"session": "default/one"},
    "one that may have many sessions": {"session": "defaul", "many_sessions": True},
    "another agent for the same user": {"name": "other", "user": "ada"},
    "its name in other letters": {"name": "Crawler"},
}
BY_OTHER = """
version: 1
global: {rules: [{match: pay, verdict: confirm, by: other, why: somebody else has to look}]}
"""


async def _asked(client: httpx2.AsyncClient) -> dict[str, Any]:
    return (await client.post("/api/v1/calls", json=_PAY)).json()


@pytest.mark.parametrize("thief", THIEVES)
async def test_an_approval_is_used_by_who_asked_and_nobody_else(served: Served, thief: str):
    async with await served.agent() as agent, await served.person("grace") as grace:
        pending = await _asked(agent)
        question = pending["approval_id"]
        await grace.post(f"/api/v1/approvals/{question}/approve")
        async with await served.agent(**THIEVES[thief]) as other:
            collected = await other.post(f"/api/v1/approvals/{question}/result", json={"wait": 0})
            called = await other.post("/api/v1/calls", json=_PAY)
            keyed = await other.post("/api/v1/calls", json=_PAY, headers={"Idempotency-Key": pending["key"]})
        assert (collected.status_code, collected.json()["code"]) == (404, "approval_not_found")
        assert [each.json()["status"] for each in (called, keyed)] == ["pending"] * 2
        assert question not in {each.json()["approval_id"] for each in (called, keyed)}
        assert served.paid == []
        assert (await served.gate.approval(question)).state.value == "approved"
        made = await agent.post(f"/api/v1/approvals/{question}/result")
    assert made.json()["value"] == "paid 5"
    assert served.paid == [5]


async def test_who_an_agent_acts_for_does_not_approve_where_another_has_to(tmp_path: Path):
    (tmp_path / "callgate.yaml").write_text(BY_OTHER)
    async with (
        served_gate(Callgate.open("memory://", tmp_path / "callgate.yaml")) as served,
        await served.agent(user="ada") as agent,
        await served.person("ada") as ada,
        await served.person("bob") as bob,
    ):
        question = (await _asked(agent))["approval_id"]
        own = await ada.post(f"/api/v1/approvals/{question}/approve")
        edited = await ada.post(f"/api/v1/approvals/{question}/approve", json={"arguments": {"amount": 4}})
        early = await agent.post(f"/api/v1/approvals/{question}/result", json={"wait": 0})
        assert {own.status_code, edited.status_code} <= {403, 409}
        assert early.json()["status"] == "pending"
        assert served.paid == []
        assert (await bob.post(f"/api/v1/approvals/{question}/approve")).status_code == 200
        await agent.post(f"/api/v1/approvals/{question}/result")
        assert served.paid == [5]


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("approve", {}),
        ("approve", {"arguments": {"amount": 1}}),
        ("preview", {"arguments": {"amount": 1}}),
        ("reject", {}),
        ("respond", {"text": "yes"}),
    ],
    ids=["approve", "edit", "preview", "reject", "respond"],
)
async def test_no_agent_decides_whatever_it_is_called(served: Served, verb: str, body: dict[str, Any]):
    """Its own question, one that acts for a person, and one with a person's name in all but spelling."""
    async with (
        await served.person("operator"),
        await served.agent() as agent,
        await served.agent("helper", user="operator") as acting,
        await served.agent("\u043eperator") as lookalike,
    ):
        with pytest.raises(ConfigurationError, match="nobody is both"):
            await served.agent("Operator")
        question = (await _asked(agent))["approval_id"]
        for client in (agent, acting, lookalike):
            answer = await client.post(f"/api/v1/approvals/{question}/{verb}", json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")
        async with served.nobody() as nobody:
            assert (await nobody.post(f"/api/v1/approvals/{question}/{verb}", json=body)).status_code == 401
        assert (await served.gate.approval(question)).state.value == "pending"
        collected = await agent.post(f"/api/v1/approvals/{question}/result", json={"wait": 0})
    assert collected.json()["status"] == "pending"
    assert served.paid == []
