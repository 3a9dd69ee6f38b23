"""Calling over HTTP: the same outcomes as in process, for those who are let in."""

from typing import Any

import pytest

from callgate import tool
from callgate.runtime import errand_book
from tests.doors.http.conftest import Served


async def test_an_agent_calls_a_tool_and_is_told_how_it_ended(served: Served):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a b"}})
    assert answer.status_code == 200
    assert (answer.json()["status"], answer.json()["value"]) == ("succeeded", 2)


async def test_what_needs_a_person_waits_and_nothing_happens(served: Served):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 5}})
    assert answer.status_code == 202
    assert answer.json()["status"] == "pending"
    assert answer.json()["approval_id"]
    assert served.paid == []


async def test_nobody_calls_without_a_token_and_a_person_never(served: Served):
    call = {"tool": "word_count", "arguments": {"text": "a b"}}
    async with served.nobody() as client:
        answer = await client.post("/api/v1/calls", json=call)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    async with await served.person() as client:
        answer = await client.post("/api/v1/calls", json=call)
    assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")


async def test_an_unknown_tool_and_wrong_arguments_are_problems(served: Served):
    async with await served.agent() as client:
        absent = await client.post("/api/v1/calls", json={"tool": "word_cuont"})
        wrong = await client.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": 1}})
        odd = await client.post("/api/v1/calls", json={"tool": "word_count", "argument": {}})
    assert (absent.status_code, absent.json()["code"]) == (404, "tool_not_found")
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_arguments")
    assert (odd.status_code, odd.json()["code"]) == (422, "invalid_request")


async def test_one_key_is_one_effect(served: Served):
    call = {"tool": "pay", "arguments": {"amount": 7}}
    async with await served.agent() as client:
        first = await client.post("/api/v1/calls", json=call, headers={"Idempotency-Key": "k1"})
        await served.gate.approve(first.json()["approval_id"], by="ada")
        second = await client.post("/api/v1/calls", json=call, headers={"Idempotency-Key": "k1"})
        third = await client.post("/api/v1/calls", json=call, headers={"Idempotency-Key": "k1"})
    assert second.json()["status"] == third.json()["status"] == "succeeded"
    assert served.paid == [7]


async def test_a_call_is_begun_and_asked_about_later(served: Served):
    async with await served.agent() as client:
        begun = await client.post(
            "/api/v1/calls",
            json={"tool": "pay", "arguments": {"amount": 3}, "wait": 30},
            headers={"Prefer": "respond-async, wait=5"},
        )
        assert (begun.status_code, begun.json()["status"], begun.json()["done"]) == (202, "running", False)
        assert begun.headers["preference-applied"] == "respond-async"
        where = begun.headers["location"]
        question = await served.question()
        assert (await client.get(where)).json()["status"] == "running"
        await served.gate.approve(question.id, by="ada")
        await served.recorded("tool_call.succeeded")
        found = await served.until(lambda: client.get(where), lambda answer: answer.json()["done"])
    assert (found["status"], found["outcome"]["value"]) == ("succeeded", "paid 3")
    assert found["id"] == found["outcome"]["call_id"] == begun.json()["id"]
    assert served.paid == [3]


async def test_a_call_is_found_by_its_id_however_it_was_made(served: Served):
    async with await served.agent() as client:
        asked = (await client.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 4}})).json()
        waits = (await client.get(f"/api/v1/calls/{asked['call_id']}")).json()
        await served.gate.approve(asked["approval_id"], by="ada")
        made = (await client.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 4}})).json()
        ended = (await client.get(f"/api/v1/calls/{made['call_id']}")).json()
    assert (waits["status"], waits["done"], waits["approval_id"]) == ("pending", False, asked["approval_id"])
    assert (ended["status"], ended["done"], ended["outcome"]["value"]) == ("succeeded", True, "paid 4")


async def test_calls_of_others_are_not_found(served: Served):
    async with await served.agent() as client:
        own = (await client.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 4}})).json()["call_id"]
        begun = await client.post(
            "/api/v1/calls",
            json={"tool": "word_count", "arguments": {"text": "a"}},
            headers={"Prefer": "respond-async"},
        )
    strangers: list[dict[str, Any]] = [
        {"name": "other"},
        {"session": "elsewhere"},
        {"session": "defaul", "many_sessions": True},
    ]
    for limits in strangers:
        async with await served.agent(**limits) as stranger:
            for call_id in (own, begun.json()["id"], "no such call"):
                answer = await stranger.get(f"/api/v1/calls/{call_id}")
                assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
                assert answer.json()["detail"] == f"no call has the id {call_id}"


async def test_sessions_below_its_own_are_the_agents_own(served: Served):
    async with await served.agent(many_sessions=True) as client:
        call = {"tool": "pay", "arguments": {"amount": 4}, "context": {"session": "one"}}
        asked = (await client.post("/api/v1/calls", json=call)).json()
        found = await client.get(f"/api/v1/calls/{asked['call_id']}")
    assert (found.status_code, found.json()["session"]) == (200, "default/one")


async def test_a_batch_answers_in_order_and_one_failure_is_nobody_elses(served: Served):
    calls = [
        {"tool": "word_count", "arguments": {"text": "a b c"}, "id": "first"},
        {"tool": "word_count", "arguments": {"text": 1}},
        {"tool": "pay", "arguments": {"amount": 1}, "key": "k9"},
    ]
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls/batch", json={"calls": calls})
        none = await client.post("/api/v1/calls/batch", json={"calls": []})
        raised = await client.post("/api/v1/calls/batch", json={"calls": calls, "context": {"role": "admin"}})
    told = answer.json()["outcomes"]
    assert [each["outcome"]["status"] for each in told] == ["succeeded", "refused", "pending"]
    assert [each["id"] for each in told] == ["first", "batch_1", "batch_2"]
    assert told[2]["outcome"]["key"] == "k9"
    assert (none.status_code, raised.status_code) == (422, 403)
    assert served.paid == []


async def test_what_would_be_decided_is_explained_and_nothing_is_asked(served: Served):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/calls/explain", json={"tool": "pay", "arguments": {"amount": 1}})
        denied = await client.post("/api/v1/calls/explain", json={"tool": "no_such"})
    assert (answer.json()["verdict"], answer.json()["risk"]) == ("confirm", "high")
    assert answer.json()["reasons"]
    assert (denied.status_code, denied.json()["code"]) == (200, "tool_not_found")
    assert await served.gate.approvals() == []


async def test_people_read_calls_and_agents_do_not_list_them(served: Served):
    async with await served.agent() as client:
        for number in range(5):
            await client.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a " * number}})
        asked = (await client.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 4}})).json()
        refused = await client.get("/api/v1/calls")
    assert (refused.status_code, refused.json()["code"]) == (403, "entry_refused")
    async with await served.person(rights=["read"]) as reader:
        first = (await reader.get("/api/v1/calls", params={"limit": 4})).json()
        rest = (await reader.get("/api/v1/calls", params={"limit": 4, "cursor": first["next"]})).json()
        only = (await reader.get("/api/v1/calls", params={"tool": "pay"})).json()
        story = (await reader.get(f"/api/v1/calls/{asked['call_id']}")).json()
        wrong = await reader.get("/api/v1/calls", params={"cursor": "nonsense"})
        absent = await reader.get("/api/v1/calls/nothing")
    assert [each["tool"] for each in first["items"]] == ["pay", *["word_count"] * 3]
    assert (len(rest["items"]), rest["next"]) == (2, None)
    assert len({each["call"] for each in first["items"] + rest["items"]}) == 6
    assert [each["call"] for each in only["items"]] == [asked["call_id"]]
    assert story["invocation"]["args"] == "pay\n  amount: 4"
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_request")
    assert absent.status_code == 404


async def test_json_with_more_than_one_reading_is_refused(served: Served):
    async with await served.agent() as client:
        for body in (
            '{"tool": "word_count", "tool": "pay", "arguments": {}}',
            '{"tool": "pay", "arguments": {"amount": NaN}}',
            '{"tool": "\\ud800", "arguments": {}}',
            "[" * 50_000,
            "{",
        ):
            answer = await client.post("/api/v1/calls", content=body, headers={"Content-Type": "application/json"})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), body[:20]
    assert served.paid == []


async def test_a_body_that_does_not_fit_is_told_what_would(served: Served):
    async with await served.agent() as client:

        async def fault(body: str, kind: str = "application/json") -> str:
            answer = await client.post("/api/v1/calls", content=body, headers={"Content-Type": kind})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")
            return answer.json()["detail"]

        call = '{"tool": "word_count", "arguments": {"text": "a"}}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            assert "send Content-Type: application/json" in await fault(call, kind)
        assert "Content-Type" not in await fault("[]")
        unknown = await fault('{"tool": "word_count", "args": {}}')
        assert unknown.startswith("args: ")
        assert unknown.endswith("known here: tool, arguments, context, wait, timeout, distinct")
        inside = await fault('{"tool": "word_count", "context": {"agent": "x"}}')
        assert inside.startswith("context.agent: ")
        assert "known here: principal, user, session" in inside
        batch = await client.post("/api/v1/calls/batch", json={"calls": [{"tool": "word_count", "args": 1}]})
        assert batch.json()["detail"].endswith("known here: tool, arguments, id, key, timeout, distinct")


async def test_one_agent_begins_no_more_than_so_many_calls_at_once(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(errand_book, "MOST_OF_ONE", 1)
    call = {"tool": "pay", "arguments": {"amount": 3}, "wait": 30}
    later = {"Prefer": "respond-async"}
    async with await served.agent() as agent, await served.agent("other") as other:
        first = await agent.post("/api/v1/calls", json=call, headers=later)
        second = await agent.post("/api/v1/calls", json=call, headers=later)
        others = await other.post("/api/v1/calls", json=call, headers=later)
        for name in ("crawler", "other"):
            question = await served.question(name)
            await served.gate.reject(question.id, by="ada")
        ended = await served.until(lambda: agent.get(first.headers["location"]), lambda answer: answer.json()["done"])
    assert (second.status_code, second.json()["code"]) == (429, "limit_exceeded")
    assert others.status_code == 202
    assert ended["outcome"]["error"]["code"] == "approval_rejected"


async def test_of_outcomes_without_a_key_no_more_than_so_much_is_kept(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(errand_book, "_MOST_BYTES", 3000)

    @tool(effects="read_only")
    def repeat(letter: str) -> str:
        """Say a letter often."""
        return letter * 1000

    served.gate.add(repeat)
    async with await served.agent() as agent:
        ended: list[str] = []
        for letter in "abcd":
            call = {"tool": "repeat", "arguments": {"letter": letter}}
            begun = await agent.post("/api/v1/calls", json=call, headers={"Prefer": "respond-async"})
            where = begun.headers["location"]
            await served.until(lambda where=where: agent.get(where), lambda answer: answer.json()["done"])
            ended.append(where)
        found = [(await agent.get(where)).json() for where in ended]
    assert [each["status"] for each in found] == ["succeeded"] * 4
    kept = [each["outcome"] and each["outcome"]["value"][0] for each in found]
    assert kept == [None, None, "c", "d"]
