"""Calling over HTTP: the same outcomes as in process, for those who are let in."""

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


async def test_a_request_cannot_be_more_than_its_credential(served: Served):
    async with await served.agent() as client:
        for wish in ({"role": "admin"}, {"principal": "other"}, {"session": "other"}, {"intent": "pay all"}):
            answer = await client.post("/api/v1/calls", json={"tool": "word_count", "arguments": {}, "context": wish})
            assert answer.status_code == 403, wish
        answer = await client.post(
            "/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 1}, "context": {"autonomy": "A4"}}
        )
    assert answer.status_code == 202
    assert served.paid == []


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
