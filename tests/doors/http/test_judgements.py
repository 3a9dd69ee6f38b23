"""Judging over HTTP: a host asks before it runs its own tool, and says afterwards what became of it."""

from pathlib import Path

import pytest

from callgate import Callgate, tool
from callgate.model.levels import Autonomy
from callgate.runtime.host_tools import host_tools
from tests.doors.http.conftest import Served, served_gate

_PAY = {"tool": "pay", "arguments": {"amount": 5}}
_EDIT = {"tool": "host.edit", "arguments": {"path": "a"}}


@pytest.fixture(autouse=True)
def host(served: Served) -> None:
    """A tool that the agent's own host runs."""

    @tool(effects="system_state", risk="high", name="host.edit", source="host")
    def edit(path: str) -> str:
        """Edit something."""
        raise AssertionError(path)

    served.gate.add(edit)


async def test_a_host_asks_and_reports_and_the_same_report_again_is_the_same(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as client:
        judged = (await client.post("/api/v1/judgements", json=_EDIT)).json()
        assert (judged["allowed"], judged["outcome"]) == (True, None)
        assert judged["decision"]["verdict"] == "allow"
        where = f"/api/v1/judgements/{judged['id']}/report"
        reported = await client.post(where, json={"ok": True, "output": "done"})
        again = await client.post(where, json={"ok": True, "output": "done"})
        otherwise = await client.post(where, json={"ok": False, "error": "no"})
    assert (reported.status_code, reported.json()["value"]) == (200, "done")
    assert again.json()["status"] == "succeeded"
    assert (otherwise.status_code, otherwise.json()["code"]) == (409, "outcome_conflict")


async def test_what_is_not_allowed_says_what_to_tell_the_model(served: Served):
    async with await served.agent() as client:
        waits = (await client.post("/api/v1/judgements", json=_EDIT)).json()
        absent = (await client.post("/api/v1/judgements", json={"tool": "no_such"})).json()
    assert (waits["allowed"], waits["outcome"]["status"]) == (False, "pending")
    assert (absent["allowed"], absent["outcome"]["error"]["code"]) == (False, "tool_not_found")


async def test_a_search_that_would_read_our_own_files_is_not_allowed(tmp_path: Path):
    (tmp_path / "callgate.yaml").write_text("version: 1\n", encoding="utf-8")
    (tmp_path / "src").mkdir()
    async with served_gate(Callgate.open("memory://", working_directory=tmp_path)) as served:
        served.gate.add(*host_tools("Grep"))
        async with await served.agent() as client:
            search = {"tool": "host.grep", "arguments": {"pattern": "x"}}
            no = (await client.post("/api/v1/judgements", json=search)).json()
            yes = (
                await client.post("/api/v1/judgements", json=search | {"arguments": {"pattern": "x", "path": "src"}})
            ).json()
    assert (no["allowed"], yes["allowed"]) == (False, True)
    assert "callgate.yaml" in no["outcome"]["error"]["message"]


async def test_nobody_reports_for_another_and_no_person_judges(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as client:
        judged = (await client.post("/api/v1/judgements", json=_EDIT)).json()
    where = f"/api/v1/judgements/{judged['id']}/report"
    for limits in ({"name": "other"}, {"session": "elsewhere"}):
        async with await served.agent(**limits) as stranger:
            assert (await stranger.post(where, json={"ok": True})).status_code == 404
    async with await served.person() as person:
        assert (await person.post(where, json={"ok": True})).status_code == 403
        assert (await person.post("/api/v1/judgements", json=_EDIT)).status_code == 403
    row = await served.gate.attempt_of_call(judged["id"])
    assert row is not None
    assert row.state.value == "started"


async def test_what_the_gate_ran_itself_is_settled_by_nobodys_word(served: Served):
    async with await served.agent(autonomy=Autonomy.A4) as client:
        made = (await client.post("/api/v1/calls", json=_PAY)).json()
        answer = await client.post(f"/api/v1/judgements/{made['call_id']}/report", json={"ok": False, "error": "no"})
    assert (answer.status_code, answer.json()["code"]) == (404, "outcome_not_found")
    assert served.paid == [5]


async def test_nobody_says_of_a_tool_that_the_gate_runs_that_it_ran(served: Served):
    key = {"Idempotency-Key": "rent"}
    async with await served.agent(autonomy=Autonomy.A4) as client, await served.person() as person:
        judged = (await client.post("/api/v1/judgements", json=_PAY, headers=key)).json()
        assert (judged["allowed"], judged["outcome"]["error"]["code"]) == (False, "tool_unavailable")
        assert "call it instead" in judged["outcome"]["error"]["message"]
        report = {"ok": True, "output": "paid 5"}
        answer = await client.post(f"/api/v1/judgements/{judged['id']}/report", json=report)
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        paid = (await person.get("/api/v1/calls", params={"tool": "pay", "status": "succeeded"})).json()["items"]
        assert (paid, served.paid) == ([], [])
        made = await client.post("/api/v1/calls", json=_PAY, headers=key)
    assert (made.json()["value"], served.paid) == ("paid 5", [5]), "the key was free, and the call is made"


async def test_a_request_cannot_judge_as_more_than_its_credential(served: Served):
    async with await served.agent() as client:
        answer = await client.post("/api/v1/judgements", json=_EDIT | {"context": {"principal": "other"}})
        odd = await client.post("/api/v1/judgements/x/report", json={"ok": "yes"})
    assert (answer.status_code, answer.json()["code"]) == (403, "entry_refused")
    assert (odd.status_code, odd.json()["code"]) == (422, "invalid_request")
