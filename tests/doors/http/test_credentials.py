"""Credentials over HTTP: who administers lets others in and ends it; nobody is told a token twice."""

from typing import Any

from tests.doors.http.conftest import Served


async def test_an_agent_is_let_in_with_limits_and_put_out_again(served: Served):
    async with await served.person() as ada:
        body = {"name": "mailer", "session": "mail", "autonomy": "A1", "scopes": ["fs:read"], "seconds": 60}
        made = await ada.post("/api/v1/credentials/agents", json=body)
        assert made.status_code == 201
        token = made.json()["token"]
        bearer = {"Authorization": f"Bearer {token}"}
        async with served.nobody() as client:
            me = (await client.get("/api/v1/me", headers=bearer)).json()
            assert (me["kind"], me["name"], me["session"], me["autonomy"]) == ("agent", "mailer", "mail", "A1")
            assert (me["rights"], me["scopes"], me["created_by"]) == (None, ["fs:read"], "ada")
            ended = await ada.delete(f"/api/v1/credentials/{made.json()['id']}")
            assert ended.json()["revoked_at"] is not None
            assert (await client.get("/api/v1/me", headers=bearer)).status_code == 401
        listed = await ada.get("/api/v1/credentials")
    assert token not in listed.text
    assert "digest" not in listed.text
    assert {each["name"] for each in listed.json()["items"]} == {"ada", "mailer"}


async def test_a_person_is_let_in_with_rights(served: Served):
    async with await served.person() as ada:
        made = await ada.post("/api/v1/credentials/people", json={"name": "bob", "rights": ["read"]})
    bearer = {"Authorization": f"Bearer {made.json()['token']}"}
    async with served.nobody() as client:
        assert (await client.get("/api/v1/approvals", headers=bearer)).status_code == 200
        assert (await client.post("/api/v1/approvals/x/approve", headers=bearer)).status_code == 403
        assert (await client.get("/api/v1/credentials", headers=bearer)).status_code == 403


async def test_one_name_is_never_an_agents_and_a_persons(served: Served):
    async with await served.agent(), await served.person() as ada:
        person = await ada.post("/api/v1/credentials/people", json={"name": "Crawler ", "rights": ["decide"]})
        agent = await ada.post("/api/v1/credentials/agents", json={"name": "ADA"})
    assert [(each.status_code, each.json()["code"]) for each in (person, agent)] == [(400, "configuration")] * 2


async def test_nobody_else_lets_anybody_in(served: Served):
    async with await served.agent() as agent, await served.person("bob", rights=["read", "decide"]) as bob:
        for client in (agent, bob):
            for path, body in (
                ("credentials/agents", {"name": "x"}),
                ("credentials/people", {"name": "y", "rights": ["decide"]}),
            ):
                answer = await client.post(f"/api/v1/{path}", json=body)
                assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")
            assert (await client.get("/api/v1/credentials")).status_code == 403
            assert (await client.delete("/api/v1/credentials/x")).status_code == 403
    assert {each.name for each in await served.gate.credentials()} == {"crawler", "bob"}


async def test_what_cannot_be_let_in_is_refused(served: Served):
    refused: list[tuple[str, dict[str, Any], int]] = [
        ("agents", {"name": "x", "role": "no_such"}, 400),
        ("agents", {"name": "x", "autonomy": "A9"}, 422),
        ("agents", {"name": "\u200b"}, 400),
        ("agents", {"name": "x", "rights": ["decide"]}, 422),
        ("people", {"name": "x", "rights": []}, 422),
        ("people", {"name": "x", "rights": ["everything"]}, 422),
        ("people", {"name": "x", "rights": ["read"], "seconds": 0}, 422),
    ]
    async with await served.person() as ada:
        for path, body, status in refused:
            answer = await ada.post(f"/api/v1/credentials/{path}", json=body)
            assert answer.status_code == status, body
        assert (await ada.delete("/api/v1/credentials/nothing")).status_code == 404
