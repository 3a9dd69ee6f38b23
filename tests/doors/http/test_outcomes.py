"""Outcomes over HTTP: an agent asks about its own keys, people find out what nobody knows."""

import httpx2

from callgate.model.levels import Autonomy
from tests.doors.http.conftest import Served


async def _lost(agent: httpx2.AsyncClient, known: str = "cannot_tell", key: str = "k1") -> str:
    call = {"tool": "ship", "arguments": {"known": known}}
    made = await agent.post("/api/v1/calls", json=call, headers={"Idempotency-Key": key})
    assert (made.status_code, made.json()["status"]) == (200, "unknown")
    return made.json()["call_id"]


async def test_an_agent_asks_what_became_of_its_key(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as agent, await served.agent("other") as other:
        call = {"tool": "pay", "arguments": {"amount": 5}}
        await agent.post("/api/v1/calls", json=call, headers={"Idempotency-Key": "rent/november 1"})
        found = await agent.get("/api/v1/outcomes/key/rent%2Fnovember%201")
        free = await agent.get("/api/v1/outcomes/key/free")
        foreign = await other.get("/api/v1/outcomes/key/rent%2Fnovember%201")
        raised = await agent.get("/api/v1/outcomes/key/k", params={"session": "other"})
    assert (found.status_code, found.json()["value"], found.json()["key"]) == (200, "paid 5", "rent/november 1")
    assert (free.status_code, free.json()) == (404, foreign.json())
    assert raised.status_code == 403


async def test_a_person_says_that_it_happened(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as agent, await served.person() as ada:
        call_id = await _lost(agent)
        waiting = (await ada.get("/api/v1/outcomes")).json()["items"]
        assert [(each["call_id"], each["state"], each["open_question"]) for each in waiting] == [
            (call_id, "unknown", True)
        ]
        said = {"happened": True, "note": "the carrier has it", "output": "shipped"}
        done = await ada.post(f"/api/v1/outcomes/{call_id}/resolve", json=said)
        assert (done.status_code, done.json()["value"]) == (200, "shipped")
        assert (await ada.get("/api/v1/outcomes")).json()["items"] == []
        row = (await ada.get(f"/api/v1/outcomes/{call_id}")).json()
        again = await ada.post(f"/api/v1/outcomes/{call_id}/resolve", json={"happened": False})
        told = (await agent.get("/api/v1/outcomes/key/k1")).json()
    assert (row["state"], row["resolved_by"]) == ("succeeded", "ada")
    assert (again.status_code, again.json()["code"]) == (409, "outcome_conflict")
    assert told["value"] == "shipped"


async def test_the_tool_itself_is_asked(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as agent, await served.person() as ada:
        happened, unclear = await _lost(agent, "happened"), await _lost(agent, "cannot_tell", "k2")
        knows = await ada.post(f"/api/v1/outcomes/{happened}/verify")
        shrugs = await ada.post(f"/api/v1/outcomes/{unclear}/verify")
        settled = await ada.post(f"/api/v1/outcomes/{happened}/verify")
    assert (knows.json()["answer"], shrugs.json()["answer"]) == ("happened", "cannot_tell")
    assert (settled.status_code, settled.json()["code"]) == (409, "outcome_conflict")


async def test_no_agent_resolves_or_lists(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as agent, await served.person("eve", rights=["read"]) as eve:
        call_id = await _lost(agent)
        for client in (agent, eve):
            for verb in ("verify", "resolve"):
                answer = await client.post(f"/api/v1/outcomes/{call_id}/{verb}", json={"happened": True})
                assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")
        assert (await agent.get("/api/v1/outcomes")).status_code == 403
        assert (await agent.get(f"/api/v1/outcomes/{call_id}")).status_code == 403
        assert (await eve.get("/api/v1/outcomes/key/k1")).status_code == 403
    row = await served.gate.attempt_of_call(call_id)
    assert row is not None
    assert row.state.value == "unknown"


async def test_what_cannot_be_is_refused(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as agent, await served.person() as ada:
        call_id = await _lost(agent)
        absent = await ada.post("/api/v1/outcomes/nothing/resolve", json={"happened": True})
        both = await ada.post(f"/api/v1/outcomes/{call_id}/resolve", json={"happened": False, "output": 1})
        odd = await ada.post(f"/api/v1/outcomes/{call_id}/resolve", json={"happened": "maybe"})
        listed = (await ada.get("/api/v1/outcomes", params={"state": "succeeded"})).json()
    assert (absent.status_code, both.status_code, odd.status_code) == (404, 409, 422)
    assert listed == {"items": [], "next": None}
