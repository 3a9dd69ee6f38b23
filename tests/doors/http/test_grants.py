"""Grants over HTTP: given and taken by people who administer, and counting at once."""

from tests.doors.http.conftest import Served

_PAY = {"tool": "pay", "arguments": {"amount": 5}}


async def test_a_grant_lets_one_agents_calls_through_until_it_is_taken_back(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        body = {"tool": "pay", "principal": "crawler", "pattern": {"amount": 5}, "max_risk": "high"}
        made = await ada.post("/api/v1/grants", json=body)
        assert (made.status_code, made.json()["granted_by"]) == (201, "ada")
        assert (await agent.post("/api/v1/calls", json=_PAY)).json()["status"] == "succeeded"
        found = (await ada.get("/api/v1/grants", params={"principal": "crawler"})).json()["items"]
        assert [each["id"] for each in found] == [made.json()["id"]]
        ended = await ada.delete(f"/api/v1/grants/{made.json()['id']}")
        assert ended.json()["revoked_at"] is not None
        assert (await ada.get("/api/v1/grants")).json()["items"] == []
        other = {"tool": "pay", "arguments": {"amount": 5}, "context": {"task_id": "again"}}
        assert (await agent.post("/api/v1/calls", json=other)).json()["status"] == "pending"
    assert served.paid == [5]


async def test_only_who_administers_grants(served: Served):
    body = {"tool": "pay", "principal": "crawler", "max_risk": "high"}
    async with await served.agent() as agent, await served.person("bob", rights=["read", "decide"]) as bob:
        for client in (agent, bob):
            answer = await client.post("/api/v1/grants", json=body)
            assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")
            assert (await client.delete("/api/v1/grants/x")).status_code == 403
        assert (await agent.get("/api/v1/grants")).status_code == 403
        assert (await agent.post("/api/v1/calls", json=_PAY)).status_code == 202
    assert served.paid == []


async def test_a_grant_that_cannot_be_is_refused(served: Served):
    async with await served.person() as ada:
        for change, status in (
            ({"tool": "no_such"}, 404),
            ({"seconds": 0}, 422),
            ({"max_risk": "huge"}, 422),
            ({"principal": "ada"}, 400),
            ({"scope": "for_ever"}, 422),
        ):
            answer = await ada.post("/api/v1/grants", json={"tool": "pay", "principal": "crawler", **change})
            assert answer.status_code == status, change
        assert (await ada.delete("/api/v1/grants/nothing")).status_code == 404
