"""The record over HTTP: pages of it, whether it holds, a package of it; and how the server is."""

import sqlite3
import zipfile
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest

from callgate import Callgate
from tests.doors.http.conftest import Served, served_gate


async def test_people_page_through_what_was_recorded(served: Served):
    async with await served.agent() as agent, await served.person(rights=["read"]) as reader:
        for _ in range(3):
            await agent.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a"}})
        chosen = {"type": ["tool_call.attempted", "tool_call.succ*"], "limit": 4}
        first = (await reader.get("/api/v1/events", params=chosen)).json()
        rest = (await reader.get("/api/v1/events", params={**chosen, "after": first["next"]})).json()
        call = first["items"][0]["call"]
        one = (await reader.get("/api/v1/events", params={"call": call})).json()["items"]
        refused = await agent.get("/api/v1/events")
    assert [each["type"] for each in first["items"]] == ["tool_call.attempted", "tool_call.succeeded"] * 2
    assert (len(rest["items"]), rest["next"]) == (2, None)
    assert {each["call"] for each in one} == {call}
    assert "salt" not in one[0]
    assert refused.status_code == 403


async def test_the_record_is_verified_and_packed_for_who_may_read(served: Served):
    async with await served.agent() as agent, await served.person(rights=["read"]) as reader:
        await agent.post("/api/v1/calls", json={"tool": "word_count", "arguments": {"text": "a"}})
        report = (await reader.post("/api/v1/audit/verify")).json()
        packed = await reader.get("/api/v1/evidence", params={"type": "tool_call.*"})
        assert (await agent.post("/api/v1/audit/verify")).status_code == 403
        assert (await agent.get("/api/v1/evidence")).status_code == 403
        wrong = await reader.get("/api/v1/evidence", params={"since": "yesterday"})
    assert (report["ok"], report["problems"]) == (True, [])
    assert packed.headers["content-disposition"] == 'attachment; filename="callgate-evidence.zip"'
    with zipfile.ZipFile(BytesIO(packed.content)) as package:
        assert package.testzip() is None
        assert "manifest.json" in package.namelist()
    assert wrong.status_code == 422


async def test_whoever_asks_is_told_that_the_server_lives_and_works(served: Served):
    async with served.nobody() as nobody, await served.person() as ada, await served.agent() as agent:
        assert (await nobody.get("/healthz")).json() == {"status": "alive"}
        assert (await nobody.get("/readyz")).json() == {"status": "ready"}
        assert (await nobody.get("/api/v1/health")).status_code == 401
        assert (await agent.get("/api/v1/health")).status_code == 403
        await agent.post("/api/v1/calls", json={"tool": "pay", "arguments": {"amount": 1}})
        found = (await ada.get("/api/v1/health")).json()
    assert (found["tools"], found["pending"], found["unknown"]) == (3, 1, 0)
    assert found["connectors"]["pay"]["status"] == "healthy"


async def test_a_server_whose_store_cannot_be_written_is_alive_and_not_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("callgate.stores.sqlite.session._LOCK_WAIT_MS", 30)
    file = tmp_path / "callgate.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        async with served_gate(Callgate.open(f"sqlite:///{file}")) as served, served.nobody() as nobody:
            assert (await nobody.get("/readyz")).status_code == 200
            other.execute("BEGIN IMMEDIATE")
            answer = await nobody.get("/readyz")
            assert (answer.status_code, answer.json()["code"]) == (503, "not_ready")
            assert "locked" not in answer.text
            assert (await nobody.get("/healthz")).status_code == 200
            other.execute("ROLLBACK")
            assert (await nobody.get("/readyz")).status_code == 200


async def test_a_fault_of_our_own_is_a_problem_that_says_nothing(served: Served, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(served.gate, "roles", fail)
    async with await served.person() as ada:
        answer = await ada.get("/api/v1/policy/roles")
        assert (answer.status_code, answer.json()["code"]) == (500, "fault")
        assert "secret" not in answer.text
        absent = await ada.get("/api/v1/nowhere")
        method = await ada.put("/api/v1/calls")
    assert (absent.status_code, absent.json()["code"]) == (404, "no_such_address")
    assert (method.status_code, method.json()["code"], method.headers["allow"]) == (405, "no_such_method", "POST")
