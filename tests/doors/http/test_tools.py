"""Tools over HTTP: an agent sees what it may call, people see everything, and who administers says what is trusted."""

from pathlib import Path

import pytest

from callgate import Callgate
from tests.doors.http.conftest import Served, served_gate
from tests.journeys.foreign import Server, server_tool


async def test_an_agent_sees_the_tools_that_it_may_call(served: Served):
    async with await served.agent(read_only=True) as agent:
        found = (await agent.get("/api/v1/tools")).json()
        shown = await agent.get("/api/v1/tools/word_count")
        hidden = await agent.get("/api/v1/tools/pay")
        absent = await agent.get("/api/v1/tools/no_such")
    assert ([each["name"] for each in found["items"]], found["next"]) == (["word_count"], None)
    assert (shown.json()["risk"], shown.json()["effects"]) == ("low", ["read_only"])
    assert "definition_hash" not in shown.json()
    assert (hidden.status_code, hidden.json()["code"]) == (404, "tool_not_found")
    assert hidden.json()["detail"].replace("pay", "no_such") == absent.json()["detail"]


async def test_people_see_all_tools_a_page_at_a_time(served: Served):
    async with await served.person(rights=["read"]) as reader:
        first = (await reader.get("/api/v1/tools", params={"limit": 2})).json()
        rest = (await reader.get("/api/v1/tools", params={"limit": 2, "cursor": first["next"]})).json()
        found = (await reader.get("/api/v1/tools", params={"search": "count words"})).json()
        none = (await reader.get("/api/v1/tools", params={"category": "no_such"})).json()
        shown = (await reader.get("/api/v1/tools/pay")).json()
    assert [each["name"] for each in first["items"] + rest["items"]] == ["pay", "ship", "word_count"]
    assert found["items"][0]["name"] == "word_count"
    assert none["items"] == []
    assert (shown["quarantined"], shown["declared"], shown["health"]["status"]) == (None, True, "healthy")


async def test_a_person_without_the_right_to_read_sees_none(served: Served):
    async with await served.person(rights=["decide"]) as eve:
        assert (await eve.get("/api/v1/tools")).status_code == 403
        assert (await eve.get("/api/v1/tools/pay")).status_code == 403
        assert (await eve.get("/api/v1/trust/quarantined")).status_code == 403


async def test_a_tool_is_held_and_let_go_by_who_looked_at_it(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        held = await ada.post("/api/v1/tools/word_count/distrust", json={"why": "it miscounts"})
        assert "it miscounts" in held.json()["quarantined"]
        call = {"tool": "word_count", "arguments": {"text": "a"}}
        refused = await agent.post("/api/v1/calls", json=call)
        assert (refused.status_code, refused.json()["code"]) == (403, "tool_quarantined")
        waiting = (await ada.get("/api/v1/trust/quarantined")).json()["items"]
        assert [each["name"] for each in waiting] == ["word_count"]
        other = await ada.post("/api/v1/tools/word_count/trust", json={"definition_hash": "0" * 64})
        assert (other.status_code, other.json()["code"]) == (400, "configuration")
        seen = (await ada.get("/api/v1/tools/word_count/difference")).json()["definition_hash"]
        done = await ada.post("/api/v1/tools/word_count/trust", json={"definition_hash": seen})
        assert (done.status_code, done.json()["quarantined"]) == (200, None)
        assert (await agent.post("/api/v1/calls", json=call)).status_code == 200


async def test_only_who_administers_trusts(served: Served):
    async with await served.agent() as agent, await served.person("bob", rights=["read", "decide"]) as bob:
        for client in (agent, bob):
            for path, body in (
                ("tools/word_count/distrust", {"why": "no"}),
                ("tools/word_count/trust", {"definition_hash": "0"}),
                ("trust/proposals/accept", {"proposals": [{"tool": "x", "definition_hash": "0"}]}),
            ):
                answer = await client.post(f"/api/v1/{path}", json=body)
                assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")
        assert (await agent.get("/api/v1/tools/word_count/difference")).status_code == 403
        assert (await agent.get("/api/v1/trust/proposals")).status_code == 403
    assert served.gate.quarantined() == ()


async def test_what_foreign_tools_are_proposed_as_is_in_force_when_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    async with Served.open() as served, await served.person() as ada, await served.agent() as agent:
        await served.gate.attach(Server(server_tool("gh.get_issue", "Get an issue.")))
        proposed = (await ada.get("/api/v1/trust/proposals", params={"source": "github"})).json()["items"]
        assert [(each["tool"], each["group"]) for each in proposed] == [("gh.get_issue", "read")]
        assert (await agent.post("/api/v1/calls", json={"tool": "gh.get_issue"})).status_code == 403
        chosen = {"tool": "gh.get_issue", "definition_hash": "0" * 64}
        stale = await ada.post("/api/v1/trust/proposals/accept", json={"proposals": [chosen]})
        assert (stale.status_code, stale.json()["code"]) == (409, "conflict")
        chosen["definition_hash"] = proposed[0]["definition_hash"]
        done = await ada.post("/api/v1/trust/proposals/accept", json={"proposals": [chosen]})
        assert done.status_code == 200
        assert (await agent.post("/api/v1/calls", json={"tool": "gh.get_issue"})).status_code == 200
        absent = await ada.get("/api/v1/trust/proposals", params={"source": "nowhere"})
        assert absent.status_code == 400
    assert "by: ada" in (tmp_path / "callgate.tools.yaml").read_text()


async def test_a_role_says_what_it_gives(tmp_path: Path):
    config = tmp_path / "callgate.yaml"
    config.write_text(
        "version: 1\n"
        "roles:\n"
        '  assistant: {scopes: ["net:outbound", "fs:read"], allow: ["group:read", pay], deny: [wipe],\n'
        "    max_autonomy: A3, max_risk: high,\n"
        '    rules: [{match: pay, when: "args.amount > 9", verdict: confirm, by: two, why: large}]}\n'
        "  nobody: {}\n",
        encoding="utf-8",
    )
    async with served_gate(Callgate.open("memory://", config=config)) as served, await served.person() as ada:
        assistant, nobody = (await ada.get("/api/v1/policy/roles")).json()["items"]
    assert assistant == {
        "name": "assistant",
        "scopes": ["fs:read", "net:outbound"],
        "autonomy": None,
        "allow": ["group:read", "pay"],
        "deny": ["wipe"],
        "max_autonomy": "A3",
        "max_risk": "high",
        "rules": [
            {
                "match": "pay",
                "when": "args.amount > 9",
                "verdict": "confirm",
                "risk": None,
                "by": "two",
                "assurance": None,
                "on_expiry": None,
                "why": "large",
            }
        ],
    }
    assert (nobody["name"], nobody["scopes"], nobody["allow"]) == ("nobody", [], [])


async def test_roles_and_what_would_be_decided_for_anybody_are_for_people(served: Served):
    call = {"tool": "pay", "arguments": {"amount": 1}, "context": {"principal": "x", "autonomy": "A4"}}
    async with await served.agent() as agent, await served.person(rights=["read"]) as reader:
        (role,) = (await reader.get("/api/v1/policy/roles")).json()["items"]
        assert (role["name"], role["scopes"], role["allow"], role["rules"]) == ("default", None, ["group:all"], [])
        told = (await reader.post("/api/v1/policy/explain", json=call)).json()
        strict = (await reader.post("/api/v1/policy/explain", json=call | {"context": {"autonomy": "A1"}})).json()
        odd = await reader.post("/api/v1/policy/explain", json=call | {"context": {"role": "nobody"}})
        assert (await agent.get("/api/v1/policy/roles")).status_code == 403
        assert (await agent.post("/api/v1/policy/explain", json=call)).status_code == 403
    assert (told["verdict"], strict["verdict"]) == ("allow", "confirm")
    assert (odd.status_code, odd.json()["verdict"]) == (200, "deny")
    assert served.paid == []
