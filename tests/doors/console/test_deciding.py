"""Deciding at the console: who may, what a form has to carry, and what is recorded."""

from pathlib import Path

import pytest

from callgate import Call, Callgate
from callgate.model.approval import ApprovalState
from callgate.model.levels import Assurance
from tests.doors.console.conftest import AGENT, Console, console_of


async def _seen(console: Console, which: str) -> str:
    return (await console.gate.approval(which)).digest


async def test_a_yes_is_recorded_as_that_of_somebody_signed_in_and_runs_nothing(console: Console):
    which = await console.ask()
    async with console.signed_in() as client:
        form = {"stamp": await console.stamp(client), "answer": "approve", "seen": await _seen(console, which)}
        answer = await client.post(f"/approvals/{which}", data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, f"/approvals/{which}")
    decided = await console.gate.approval(which)
    assert (decided.state, decided.decided_by) == (ApprovalState.APPROVED, "ada")
    assert decided.votes[0].assurance is Assurance.SIGNED_IN
    assert console.paid == []


@pytest.mark.parametrize("stamp", ["", "x", None])
async def test_a_form_without_the_stamp_of_the_visit_decides_nothing(console: Console, stamp: str | None):
    which = await console.ask()
    async with console.signed_in() as client:
        form = {"answer": "approve", "seen": await _seen(console, which)} | ({} if stamp is None else {"stamp": stamp})
        answer = await client.post(f"/approvals/{which}", data=form)
    assert answer.status_code == 403
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING


async def test_the_stamp_of_another_visit_does_not_count(console: Console):
    which = await console.ask()
    async with console.signed_in("ada") as ada, console.signed_in("eve") as eve:
        form = {"stamp": await console.stamp(eve), "answer": "approve", "seen": await _seen(console, which)}
        answer = await ada.post(f"/approvals/{which}", data=form)
    assert answer.status_code == 403
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}]
)
async def test_pages_of_other_sites_decide_nothing(console: Console, headers: dict[str, str]):
    which = await console.ask()
    async with console.signed_in() as client:
        form = {"stamp": await console.stamp(client), "answer": "approve", "seen": await _seen(console, which)}
        answer = await client.post(f"/approvals/{which}", data=form, headers=headers)
    assert answer.status_code == 403
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING


async def test_who_may_only_read_does_not_decide(console: Console):
    which = await console.ask()
    async with console.signed_in(rights=["read"]) as client:
        shown = await client.get(f"/approvals/{which}")
        assert "Your answer" not in shown.text
        form = {"stamp": await console.stamp(client), "answer": "approve", "seen": await _seen(console, which)}
        answer = await client.post(f"/approvals/{which}", data=form)
    assert answer.status_code == 403
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING


async def test_who_may_only_decide_sees_questions_and_nothing_else(console: Console):
    which = await console.ask()
    async with console.signed_in(rights=["decide"]) as client:
        assert (await client.get("/")).status_code == 200
        assert (await client.get(f"/approvals/{which}")).status_code == 200
        for path in ("/calls", "/outcomes", "/tools", "/review", "/policy", "/coverage", "/health", "/evidence"):
            assert (await client.get(path)).status_code == 403, path


async def test_a_call_that_changed_since_it_was_looked_at_is_looked_at_again(console: Console):
    which = await console.ask()
    async with console.signed_in() as client:
        form = {"stamp": await console.stamp(client), "answer": "approve", "seen": "another"}
        answer = await client.post(f"/approvals/{which}", data=form)
    assert answer.status_code == 409
    assert "Look at it as it is" in answer.text
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING


async def test_a_yes_to_what_was_shown_is_none_to_what_it_was_edited_to(tmp_path: Path):
    config = tmp_path / "callgate.yaml"
    config.write_text("version: 1\nglobal: {rules: [{match: pay, verdict: confirm, by: two, why: four eyes}]}\n")
    async with console_of(Callgate.open("memory://", config=str(config))) as console:
        which = await console.ask()
        async with console.signed_in("bob") as bob:
            form = {"stamp": await console.stamp(bob), "answer": "approve", "seen": await _seen(console, which)}
            await console.gate.approve(which, by="ada", arguments={"amount": 5000, "to": "eve"})
            answer = await bob.post(f"/approvals/{which}", data=form)
            assert (answer.status_code, "ada edited" in answer.text, "5000" in answer.text) == (409, True, True)
            assert (await console.gate.resume(which, AGENT)).status == "pending"
            assert console.paid == []
            form |= {"seen": await _seen(console, which)}
            assert (await bob.post(f"/approvals/{which}", data=form)).status_code == 303
        await console.gate.resume(which, AGENT)
        assert console.paid == [(5000, "eve")]


async def test_deciding_twice_is_told_and_changes_nothing(console: Console):
    which = await console.ask()
    async with console.signed_in() as client:
        form = {"stamp": await console.stamp(client), "answer": "reject", "why": "not today"}
        assert (await client.post(f"/approvals/{which}", data=form)).status_code == 303
        again = await client.post(f"/approvals/{which}", data=form | {"answer": "respond", "text": "yes"})
    assert again.status_code == 409
    decided = await console.gate.approval(which)
    assert (decided.state, decided.text) == (ApprovalState.REJECTED, "not today")
    outcome = await console.gate.call("pay", {"amount": 5, "to": "bob"}, AGENT)
    assert outcome.error is not None
    assert outcome.error.code == "approval_rejected"


async def test_an_edit_that_is_none_is_told_and_kept_for_mending(console: Console):
    which = await console.ask()
    async with console.signed_in() as client:
        stamp = await console.stamp(client)
        for typed, why in (("{", "no JSON"), ("[1]", "one JSON object"), ('{"amount": "x", "to": "bob"}', "amount")):
            answer = await client.post(
                f"/approvals/{which}", data={"stamp": stamp, "answer": "edit", "arguments": typed}
            )
            assert answer.status_code == 422, typed
            assert why in answer.text
    assert (await console.gate.approval(which)).state is ApprovalState.PENDING


async def test_a_plan_is_one_question_and_is_decided_as_a_whole(console: Console):
    calls = [
        Call("word_count", {"text": "a"}),
        Call("pay", {"amount": 1, "to": "bob"}),
        Call("pay", {"amount": 2, "to": "eve"}),
    ]
    plan = await console.gate.plan(calls, AGENT, ask=True)
    which = plan.approval_id
    assert which is not None
    async with console.signed_in() as client:
        assert "3 calls: word_count, pay, pay" in (await client.get("/")).text
        shown = (await client.get(f"/approvals/{which}")).text
        assert "wants to make 3 calls" in shown
        assert "it needs no person" in shown
        assert "Edit, then approve" not in shown
        stamp = await console.stamp(client)
        edit = await client.post(f"/approvals/{which}", data={"stamp": stamp, "answer": "edit", "arguments": "{}"})
        assert edit.status_code == 409
        form = {"stamp": stamp, "answer": "approve", "seen": await _seen(console, which)}
        assert (await client.post(f"/approvals/{which}", data=form)).status_code == 303
        part = (await console.gate.calls(tool="pay"))[0].get("approval_id")
        assert part not in {None, which}
        led = await client.get(f"/approvals/{part}")
        assert (led.status_code, led.headers["location"]) == (303, f"/approvals/{which}")
    outcomes = await console.gate.batch(plan)
    assert [outcome.status for outcome in outcomes] == ["succeeded"] * 3
    assert console.paid == [(1, "bob"), (2, "eve")]


async def test_a_question_that_is_not_there_is_not_found(console: Console):
    async with console.signed_in() as client:
        assert (await client.get("/approvals/nothing")).status_code == 404
        assert (await client.get("/approvals/nothing/standing")).status_code == 404
