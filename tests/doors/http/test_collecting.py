"""Collecting what was approved: for who asked, with no more than what they show now may do, and while it counts."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from callgate import Callgate, tool
from callgate.model.levels import Autonomy
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import text_of, with_token

_PAY = {"tool": "pay", "arguments": {"amount": 5}}
_ROLES = """
version: 1
roles:
  clerk: {scopes: [], allow: ["pay"]}
  guest: {scopes: [], allow: ["word_count"]}
"""


async def _approved(served: Served, asker: httpx2.AsyncClient, body: dict[str, Any] = _PAY) -> str:
    """The path of a question that this agent asked and a person said yes to."""
    where = f"/api/v1/approvals/{(await asker.post('/api/v1/calls', json=body)).json()['approval_id']}"
    async with await served.person("ada") as ada:
        assert (await ada.post(f"{where}/approve")).json()["state"] == "approved"
    return where


@pytest.mark.parametrize(
    ("less", "said"),
    [
        ({"read_only": True}, "refused"),
        ({"autonomy": Autonomy.A0}, "previewed"),
        ({"scopes": frozenset({"fs:read"})}, "refused"),
    ],
    ids=["read only", "A0", "scopes"],
)
async def test_a_lesser_credential_collects_no_more_than_it_may_call(served: Served, less: dict[str, Any], said: str):
    @tool(effects="system_state", scopes="money:pay", risk="high", name="transfer")
    def transfer(amount: int) -> str:
        """Pay somebody, by the bank."""
        served.paid.append(amount)
        return f"paid {amount}"

    served.gate.add(transfer)
    body = _PAY | {"tool": "transfer"}
    async with await served.agent() as asker, await served.agent(**less) as lesser:
        where = await _approved(served, asker, body)
        direct = await lesser.post("/api/v1/calls", json=body)
        assert direct.json().get("outcome", direct.json())["status"] == said
        collected = (await lesser.post(f"{where}/result")).json()
        assert collected.get("outcome", collected)["status"] == said
        assert served.paid == []
        made = (await asker.post(f"{where}/result")).json()
    assert (made["value"], served.paid) == ("paid 5", [5]), "who may, still can"


async def test_nor_does_it_over_mcp(served: Served):
    async with await served.agent() as asker:
        where = await _approved(served, asker)
    _, token = await served.gate.admit_agent("crawler", by="operator", read_only=True)
    async with with_token(f"{served.url}/mcp", token) as client:
        told = await client.call_tool("approval_result", {"id": where.rpartition("/")[2]})
    assert (told.is_error, served.paid) == (True, [])
    assert "policy_denied" in text_of(told)


async def test_a_credential_of_another_role_collects_nothing_and_is_told_why(tmp_path: Path):
    config = tmp_path / "callgate.yaml"
    config.write_text(_ROLES)
    async with served_gate(Callgate.open("memory://", config=str(config))) as served:
        async with await served.agent(role="clerk") as clerk, await served.agent(role="guest") as guest:
            where = await _approved(served, clerk)
            answer = await guest.post(f"{where}/result")
        assert (answer.status_code, answer.json()["code"]) == (403, "policy_denied")
        assert "asked for with the role 'clerk', and this is 'guest'" in answer.json()["detail"]
        assert served.paid == []
        [told] = [each async for each in served.gate.events(types=["tool_call.refused"])]
        assert told.payload is not None
        assert told.payload["role"] == "guest"


async def test_what_was_asked_for_one_user_is_nothing_to_another_of_the_same_agent(served: Served):
    async with await served.agent(user="alice") as hers, await served.agent(user="bob") as his:
        where = await _approved(served, hers)
        for answer in (await his.get(where), await his.post(f"{where}/result"), await his.post(f"{where}/withdraw")):
            assert answer.status_code == 404
        assert (await his.get("/api/v1/approvals", params={"state": "all"})).json()["items"] == []
        assert served.paid == []
        assert (await hers.post(f"{where}/result")).json()["value"] == "paid 5"
    assert served.paid == [5]


async def test_a_new_token_of_the_same_agent_collects_what_its_old_one_asked_for(served: Served):
    old, token = await served.gate.admit_agent("crawler", by="operator", many_sessions=True)
    async with with_bearer(served, token) as asker:
        where = await _approved(served, asker, _PAY | {"context": {"session": "night"}})
    await served.gate.revoke_credential(old.id, by="operator")
    async with await served.agent(many_sessions=True) as rotated:
        assert (await rotated.post(f"{where}/result")).json()["value"] == "paid 5"
    assert served.paid == [5]


@pytest.mark.parametrize("approved_first", [False, True], ids=["revoked first", "approved first"])
async def test_an_agent_that_was_revoked_while_its_call_waited_pays_nothing(served: Served, approved_first: bool):
    made, token = await served.gate.admit_agent("crawler", by="operator")
    async with with_bearer(served, token) as agent, await served.person("ada") as ada:
        asking = asyncio.ensure_future(agent.post("/api/v1/calls", json=_PAY | {"wait": 0 if approved_first else 50}))
        question = await served.question()
        if approved_first:
            await asking
            await ada.post(f"/api/v1/approvals/{question.id}/approve")
        assert (await ada.delete(f"/api/v1/credentials/{made.id}")).status_code == 200
        if not approved_first:
            await ada.post(f"/api/v1/approvals/{question.id}/approve")
            answer = await asking
            assert (answer.status_code, answer.json()["code"]) == (409, "approval_void")
            assert "does not count any more" in answer.json()["detail"]
    # Whoever has the gate makes it for its asker, who is not let in any more.
    late = await served.gate.resume(question.id)
    assert late.error is not None
    assert (late.error.code, served.paid) == ("approval_void", [])
    assert (await served.gate.approval(question.id)).state.value == "approved", "it was not used up"


def with_bearer(served: Served, token: str) -> httpx2.AsyncClient:
    """A client that shows this token."""
    headers = {"Authorization": f"Bearer {token}"}
    return httpx2.AsyncClient(base_url=served.url, headers=headers, trust_env=False, timeout=60)
