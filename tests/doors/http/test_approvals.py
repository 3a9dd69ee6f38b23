"""Deciding over HTTP: by people who are signed in, never by an agent; the agent that asked collects."""

import asyncio
import base64
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from callgate import Callgate
from callgate.model.levels import Assurance
from callgate.serve.api.paging import ListPlace, page
from tests.doors.http.conftest import Served, served_gate


async def _asked(client: httpx2.AsyncClient, amount: int = 5, **context: Any) -> str:
    body = {"tool": "pay", "arguments": {"amount": amount}, "context": context}
    return (await client.post("/api/v1/calls", json=body)).json()["approval_id"]


async def test_a_person_approves_and_the_agent_collects_once(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        question = await _asked(agent)
        early = await agent.post(f"/api/v1/approvals/{question}/result")
        assert (early.status_code, early.json()["status"]) == (202, "pending")
        decided = await ada.post(f"/api/v1/approvals/{question}/approve")
        assert (decided.status_code, decided.json()["state"], served.paid) == (200, "approved", [])
        made = await agent.post(f"/api/v1/approvals/{question}/result", json={"wait": 1})
        again = await agent.post(f"/api/v1/approvals/{question}/result")
        twice = await ada.post(f"/api/v1/approvals/{question}/approve")
    assert (made.status_code, made.json()["value"]) == (200, "paid 5")
    assert again.json()["deduped"] is True
    assert (twice.status_code, twice.json()["code"]) == (409, "approval_conflict")
    assert served.paid == [5]
    vote = (await served.gate.approval(question)).votes[0]
    assert (vote.by, vote.assurance) == ("ada", Assurance.SIGNED_IN)


async def test_collecting_waits_for_a_person_for_so_long(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        question = await _asked(agent)
        collecting = asyncio.create_task(agent.post(f"/api/v1/approvals/{question}/result", json={"wait": 30}))
        await ada.post(f"/api/v1/approvals/{question}/approve")
        made = await collecting
        too_long = await agent.post(f"/api/v1/approvals/{question}/result", json={"wait": 61})
    assert made.json()["value"] == "paid 5"
    assert too_long.status_code == 422


async def test_an_edit_is_previewed_then_approved_and_the_model_is_told(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        question = await _asked(agent)
        shown = await ada.post(f"/api/v1/approvals/{question}/preview", json={"arguments": {"amount": 2}})
        assert (shown.json()["edited"], shown.json()["what"]) == (True, "pay\n  amount: 2")
        assert (await ada.get(f"/api/v1/approvals/{question}")).json()["edited"] is False
        wrong = await ada.post(f"/api/v1/approvals/{question}/approve", json={"arguments": {"amount": "two"}})
        assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_arguments")
        await ada.post(f"/api/v1/approvals/{question}/approve", json={"arguments": {"amount": 2}})
        made = (await agent.post(f"/api/v1/approvals/{question}/result")).json()
    assert made["value"] == "paid 2"
    assert served.paid == [2]


async def test_a_yes_is_to_the_question_that_was_looked_at(tmp_path: Path):
    config = tmp_path / "callgate.yaml"
    config.write_text("version: 1\nglobal: {rules: [{match: pay, verdict: confirm, by: two, why: four eyes}]}\n")
    async with served_gate(Callgate.open("memory://", config=str(config))) as served:
        async with await served.agent() as agent, await served.person("ada") as ada, await served.person("bob") as bob:
            where = f"/api/v1/approvals/{await _asked(agent)}"
            seen = (await bob.get(where)).json()["digest"]
            await ada.post(f"{where}/approve", json={"arguments": {"amount": 5000}, "digest": seen})
            for said in ({}, {"digest": seen}):
                answer = await bob.post(f"{where}/approve", json=said)
                assert (answer.status_code, answer.json()["code"]) == (409, "approval_conflict")
                assert "ada edited" in answer.json()["detail"]
            assert "amount: 5000" in answer.json()["detail"], "it says what it is now"
            for verb, said in (("reject", {"why": "no"}), ("respond", {"text": "no"})):
                assert (await bob.post(f"{where}/{verb}", json=said | {"digest": seen})).status_code == 409
            assert (await agent.post(f"{where}/result")).json()["status"] == "pending"
            assert served.paid == []
            now = (await bob.get(where)).json()
            assert now["what"] == "pay\n  amount: 5000"
            assert (await bob.post(f"{where}/approve", json={"digest": now["digest"]})).json()["state"] == "approved"
            await agent.post(f"{where}/result")
        assert served.paid == [5000]


async def test_an_edit_is_of_the_question_that_was_looked_at_or_was_seen_before(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        where = f"/api/v1/approvals/{await _asked(agent)}"
        edit = {"arguments": {"amount": 2}}
        other = (await ada.post(f"{where}/preview", json={"arguments": {"amount": 3}})).json()["digest"]
        assert (await ada.post(f"{where}/approve", json=edit | {"digest": other})).status_code == 409
        shown = (await ada.post(f"{where}/preview", json=edit)).json()["digest"]
        assert (await ada.post(f"{where}/approve", json=edit | {"digest": shown})).json()["state"] == "approved"
        await agent.post(f"{where}/result")
    assert served.paid == [2]


async def test_a_person_rejects_or_answers_and_nothing_happens(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        first, second = await _asked(agent, 1), await _asked(agent, 2)
        await ada.post(f"/api/v1/approvals/{first}/reject", json={"why": "too much"})
        await ada.post(f"/api/v1/approvals/{second}/respond", json={"text": "ask bob first"})
        no = await agent.post(f"/api/v1/approvals/{first}/result")
        answered = await agent.post(f"/api/v1/approvals/{second}/result")
        seen = (await agent.get(f"/api/v1/approvals/{second}")).json()
        wordless = await ada.post(f"/api/v1/approvals/{await _asked(agent, 3)}/respond", json={"text": ""})
    assert (no.status_code, no.json()["code"]) == (409, "approval_rejected")
    assert "too much" in no.json()["detail"]
    assert answered.json()["code"] == "approval_answered"
    assert "ask bob first" in answered.json()["detail"]
    assert (seen["state"], seen["text"]) == ("answered", "ask bob first")
    assert wordless.status_code == 422
    assert served.paid == []


async def test_the_agent_withdraws_what_it_asked(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        question = await _asked(agent)
        refused = await ada.post(f"/api/v1/approvals/{question}/withdraw")
        done = await agent.post(f"/api/v1/approvals/{question}/withdraw")
        late = await ada.post(f"/api/v1/approvals/{question}/approve")
    assert (refused.status_code, done.json()["state"], late.status_code) == (403, "withdrawn", 409)


async def test_a_person_who_may_only_read_or_administer_does_not_decide(served: Served):
    async with await served.agent() as agent, await served.person("bob", rights=["read", "administer"]) as bob:
        question = await _asked(agent)
        answer = await bob.post(f"/api/v1/approvals/{question}/approve")
        assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")
        assert (await bob.get(f"/api/v1/approvals/{question}")).status_code == 200
    async with await served.person("eve", rights=["decide"]) as eve:
        assert (await eve.get("/api/v1/approvals")).status_code == 403


async def test_questions_of_others_are_not_found(served: Served):
    async with await served.agent() as agent, await served.agent("other") as other:
        question = await _asked(agent)
        for verb in ("withdraw", "result"):
            answer = await other.post(f"/api/v1/approvals/{question}/{verb}")
            assert (answer.status_code, answer.json()["code"]) == (404, "approval_not_found")
        looked = await other.get(f"/api/v1/approvals/{question}")
        assert looked.json()["detail"] == f"Unknown approval: {question}"
        assert (await other.get("/api/v1/approvals", params={"state": "all"})).json()["items"] == []
        assert [each["id"] for each in (await agent.get("/api/v1/approvals")).json()["items"]] == [question]
    assert (await served.gate.approval(question)).state.value == "pending"


async def test_an_agent_lists_its_own_questions_without_reading_those_of_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    file = tmp_path / "gate.db"
    async with (
        served_gate(Callgate.open(f"sqlite:///{file}")) as served,
        await served.agent() as agent,
        await served.agent("other") as other,
    ):
        for amount in range(5):
            await _asked(other, amount)
        mine = [await _asked(agent, amount) for amount in (1, 2, 3)]
        with closing(sqlite3.connect(file)) as db, db:  # whoever reads these would say that they were changed
            db.execute("UPDATE approvals SET body = replace(body, 'amount', 'account') WHERE principal = 'other'")
        first = (await agent.get("/api/v1/approvals", params={"limit": 2})).json()
        rest = (await agent.get("/api/v1/approvals", params={"limit": 2, "cursor": first["next"]})).json()
        every = (await agent.get("/api/v1/approvals", params={"state": "all"})).json()
    assert [each["id"] for each in first["items"] + rest["items"]] == mine[::-1]
    assert [each["id"] for each in every["items"]] == mine[::-1]
    assert "was changed in the store" not in caplog.text


async def test_a_cursor_that_somebody_wrote_reads_no_more_than_there_is(served: Served):
    """It says how many came before; so many are not looked for at once."""
    sizes: list[int] = []

    async def read(size: int) -> list[int]:
        sizes.append(size)
        return list(range(10))[:size]

    body = base64.urlsafe_b64encode(json.dumps([5.0, "", (1 << 31) - 1]).encode()).decode().rstrip("=")
    found, further = await page(read, place=lambda each: ListPlace(each, "x"), limit=3, cursor=body)
    assert found == [4, 3, 2]
    assert further is not None
    assert max(sizes) < 2000
    async with await served.agent() as agent:
        await _asked(agent)
        answer = await agent.get("/api/v1/approvals", params={"cursor": body})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_pages_go_on_behind_a_question_whatever_stands_before_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    file = tmp_path / "gate.db"
    async with served_gate(Callgate.open(f"sqlite:///{file}")) as served, await served.agent() as agent:
        asked = [await _asked(agent, amount) for amount in range(6)]
        first = (await agent.get("/api/v1/approvals", params={"limit": 3})).json()
        with closing(sqlite3.connect(file)) as db, db:  # whoever reads these would say that they were changed
            spoilt = [(each,) for each in asked[3:]]
            db.executemany("UPDATE approvals SET body = replace(body, 'amount', 'account') WHERE id = ?", spoilt)
        rest = (await agent.get("/api/v1/approvals", params={"limit": 3, "cursor": first["next"]})).json()
    assert [each["id"] for each in rest["items"]] == asked[2::-1]
    assert rest["next"] is None
    changed = [record for record in caplog.records if "was changed in the store" in record.getMessage()]
    assert len(changed) <= 1  # the one that the cursor names


async def test_a_question_of_another_is_no_place_to_go_on_from(served: Served):
    async with await served.agent() as agent, await served.agent("other") as other:
        await _asked(agent)
        for amount in (1, 2):
            await _asked(other, amount)
        cursor = (await other.get("/api/v1/approvals", params={"limit": 1})).json()["next"]
        answer = await agent.get("/api/v1/approvals", params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_an_agent_of_many_sessions_lists_the_questions_of_all_of_them(served: Served):
    async with await served.agent(session="work", many_sessions=True) as agent, await served.agent("other") as other:
        await _asked(other)
        for session in ("a", "b", "c"):
            asked = {"tool": "pay", "arguments": {"amount": 1}, "context": {"session": session}}
            assert (await agent.post("/api/v1/calls", json=asked)).status_code == 202
        found = (await agent.get("/api/v1/approvals", params={"limit": 2})).json()
        rest = (await agent.get("/api/v1/approvals", params={"limit": 2, "cursor": found["next"]})).json()
    assert [each["session"] for each in found["items"] + rest["items"]] == ["work/c", "work/b", "work/a"]


async def test_an_agent_is_shown_less_of_its_question_than_people(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        question = await _asked(agent)
        await ada.post(f"/api/v1/approvals/{question}/approve")
        seen = await agent.get(f"/api/v1/approvals/{question}")
        whole = (await ada.get(f"/api/v1/approvals/{question}")).json()
    assert {"votes", "decided_by", "origins"}.isdisjoint(seen.json())
    assert (whole["decided_by"], whole["principal"], whole["risk"]) == ("ada", "crawler", "high")
    assert {"mac", "sealed_id", "final_fingerprint"}.isdisjoint(whole)


async def test_people_page_through_questions_that_change_meanwhile(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        asked = [await _asked(agent, number) for number in range(7)]
        first = (await ada.get("/api/v1/approvals", params={"limit": 3})).json()
        await ada.post(f"/api/v1/approvals/{asked[4]}/reject")
        newer = await _asked(agent, 100)
        rest = (await ada.get("/api/v1/approvals", params={"limit": 3, "cursor": first["next"]})).json()
        last = (await ada.get("/api/v1/approvals", params={"limit": 3, "cursor": rest["next"]})).json()
    pages = [[each["id"] for each in found["items"]] for found in (first, rest, last)]
    assert pages == [asked[6:3:-1], asked[3:0:-1], [asked[0]]]
    assert last["next"] is None
    assert all(newer not in found for found in pages)


async def test_a_page_goes_on_behind_what_was_decided_also_where_one_row_cannot_be_read(tmp_path: Path):
    async with (
        served_gate(Callgate.open(f"sqlite:///{tmp_path}/gate.db")) as served,
        await served.agent() as agent,
        await served.person() as ada,
    ):
        asked = [await _asked(agent, number) for number in range(7)]
        with closing(sqlite3.connect(tmp_path / "gate.db")) as other, other:
            other.execute("UPDATE approvals SET body = '{' WHERE id = ?", (asked[0],))
        first = (await ada.get("/api/v1/approvals", params={"limit": 3})).json()
        await ada.post(f"/api/v1/approvals/{asked[4]}/reject")
        rest = (await ada.get("/api/v1/approvals", params={"limit": 3, "cursor": first["next"]})).json()
    pages = [[each["id"] for each in found["items"]] for found in (first, rest)]
    assert pages == [asked[6:3:-1], asked[3:0:-1]]


async def test_an_id_that_never_was_is_not_found_by_anybody(served: Served):
    async with await served.agent() as agent, await served.person() as ada:
        for client in (agent, ada):
            assert (await client.get("/api/v1/approvals/nothing")).status_code == 404
        assert (await ada.post("/api/v1/approvals/nothing/approve")).status_code == 404
        assert (await ada.get("/api/v1/approvals", params={"state": "odd"})).status_code == 422
