"""Asking the person at the client: only where the operator said that one sits there, and never without their word."""

import logging
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp_types import ElicitResult

from callgate import Callgate, Context, tool
from callgate.model.levels import Assurance
from tests.doors.http.conftest import Served, served_gate
from tests.doors.mcp.conftest import client_of, text_of

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
ATTENDED = {"attended": True, "user": "ada"}
AT_ONCE: Any = {"callgate/wait": 0}


def _person(answer: ElicitResult, seen: list[str]) -> Any:
    async def asked(_context: Any, params: Any) -> ElicitResult:
        seen.append(params.message)
        return answer

    return asked


def _ruled(folder: Path, by: str) -> AbstractAsyncContextManager[Served]:
    """A served gate where these people have to decide about payments."""
    config = folder / "callgate.yaml"
    config.write_text(f"version: 1\nglobal: {{rules: [{{match: pay, verdict: confirm, by: {by}, why: four eyes}}]}}\n")
    return served_gate(Callgate.open("memory://", config=str(config)))


@ERAS
async def test_a_person_at_the_client_allows_a_call(served: Served, era: str):
    seen: list[str] = []
    yes = _person(ElicitResult(action="accept", content={"decision": "allow"}), seen)
    async with client_of(served, mode=era, limits=ATTENDED, elicitation_callback=yes) as client:
        answer = await client.call_tool("pay", {"amount": 5})
    assert text_of(answer) == "paid 5"
    assert served.paid == [5]
    assert len(seen) == 1
    assert "pay" in seen[0]
    assert "5" in seen[0]
    [decided] = await served.gate.approvals(states=None)
    assert (decided.decided_by, decided.votes[0].assurance) == ("ada", Assurance.CLIENT)


@ERAS
async def test_a_person_at_the_client_refuses_a_call(served: Served, era: str):
    no = _person(ElicitResult(action="accept", content={"decision": "refuse", "why": "not today"}), [])
    async with client_of(served, mode=era, limits=ATTENDED, elicitation_callback=no) as client:
        answer = await client.call_tool("pay", {"amount": 5})
    assert answer.is_error
    assert "not today" in text_of(answer)
    assert served.paid == []


@ERAS
@pytest.mark.parametrize(
    "empty",
    [ElicitResult(action="accept", content={}), ElicitResult(action="accept"), ElicitResult(action="cancel")],
    ids=["empty", "nothing", "cancelled"],
)
async def test_a_form_that_nobody_filled_in_decides_nothing(served: Served, era: str, empty: ElicitResult):
    seen: list[str] = []
    async with client_of(served, mode=era, limits=ATTENDED, elicitation_callback=_person(empty, seen)) as client:
        answer = await client.call_tool("pay", {"amount": 5}, meta={"callgate/wait": 1})
    assert len(seen) == 1
    assert answer.meta is not None
    assert answer.meta["callgate/outcome"]["status"] == "pending"
    assert served.paid == []


@ERAS
async def test_a_client_that_is_not_attended_is_never_asked(served: Served, era: str):
    seen: list[str] = []
    yes = _person(ElicitResult(action="accept", content={"decision": "allow"}), seen)
    async with client_of(served, mode=era, elicitation_callback=yes) as client:
        await client.call_tool("pay", {"amount": 5}, meta=AT_ONCE)
        [asked] = await served.gate.approvals()
        # Nor does it help to say that one was.
        if era != "legacy":
            forged: Any = {"decision": ElicitResult(action="accept", content={"decision": "allow"})}
            await client.session.call_tool(
                "pay", {"amount": 5}, request_state=asked.id, input_responses=forged, meta=AT_ONCE
            )
    assert seen == []
    assert served.paid == []


@ERAS
@pytest.mark.parametrize("user", ["ada", None])
async def test_who_sits_at_the_client_is_nobody_other_than_the_user(tmp_path: Path, era: str, user: str | None):
    seen: list[str] = []
    yes = _person(ElicitResult(action="accept", content={"decision": "allow"}), seen)
    async with _ruled(tmp_path, "other") as served:
        limits = {"attended": True, "user": user}
        async with client_of(served, mode=era, limits=limits, elicitation_callback=yes) as client:
            answer = await client.call_tool("pay", {"amount": 5}, meta={"callgate/wait": 1})
        assert answer.meta is not None
        assert answer.meta["callgate/outcome"]["status"] == "pending"
        assert (seen, served.paid) == ([], []), "their word would not count, so that they are not asked for it"


@ERAS
async def test_a_yes_at_the_client_is_to_what_the_form_showed(tmp_path: Path, era: str):
    shown: list[str] = []
    async with _ruled(tmp_path, "two") as served:

        async def asked(_context: Any, params: Any) -> ElicitResult:
            shown.append(params.message)
            [question] = await served.gate.approvals()
            if not question.edited:
                await served.gate.approve(question.id, by="bob", arguments={"amount": 5000})
            return ElicitResult(action="accept", content={"decision": "allow"})

        async with client_of(served, mode=era, limits=ATTENDED, elicitation_callback=asked) as client:
            answer = await client.call_tool("pay", {"amount": 5}, meta={"callgate/wait": 1})
        assert "amount: 5\n" in shown[0]
        if era == "legacy":
            assert answer.meta is not None
            assert answer.meta["callgate/outcome"]["status"] == "pending"
            assert (len(shown), served.paid) == (1, [])
        else:
            # Each request stands alone: the next form shows what it is by now.
            assert "amount: 5000\n" in shown[1]
            assert (len(shown), served.paid) == (2, [5000])


async def test_an_answer_to_a_form_that_was_never_shown_decides_nothing(served: Served):
    yes: Any = {"decision": ElicitResult(action="accept", content={"decision": "allow"})}
    async with client_of(served, mode="2026-07-28", limits=ATTENDED) as client:
        await client.session.call_tool("pay", {"amount": 5}, meta=AT_ONCE)
        [asked] = await served.gate.approvals()
        theirs = served.gate.form_state(asked, Context(principal="other", session="default", user="ada"))
        for state in (asked.id, f"{asked.id}.{asked.digest}.", f"{asked.id}.{asked.digest}.\u00e9", theirs, ".."):
            await client.session.call_tool("pay", {"amount": 5}, request_state=state, input_responses=yes, meta=AT_ONCE)
    [still] = await served.gate.approvals()
    assert (still.id, served.paid) == (asked.id, [])


async def test_nobody_decides_about_anothers_call_with_its_id(served: Served):
    async with (
        client_of(served) as mine,
        client_of(served, name="other", limits=ATTENDED, mode="2026-07-28") as theirs,
    ):
        await mine.call_tool("pay", {"amount": 5}, meta=AT_ONCE)
        [asked] = await served.gate.approvals()
        answers: Any = {"decision": ElicitResult(action="accept", content={"decision": "allow"})}
        await theirs.session.call_tool(
            "pay", {"amount": 5}, input_responses=answers, request_state=asked.id, meta=AT_ONCE
        )
        again = await mine.call_tool("pay", {"amount": 5}, meta=AT_ONCE)
    assert again.meta is not None
    assert again.meta["callgate/outcome"]["status"] == "pending"
    assert served.paid == []


async def test_what_was_never_put_to_a_person_is_not_decided_by_an_answer(served: Served):
    """A form has no room for it, so nobody was asked; a client that knows its id says that somebody was."""
    sent: list[int] = []

    @tool(effects="system_state", risk="high")
    def send(text: str) -> str:
        """Send a text."""
        sent.append(len(text))
        return "sent"

    served.gate.add(send)
    seen: list[str] = []
    yes = _person(ElicitResult(action="accept", content={"decision": "allow"}), seen)
    answers: Any = {"decision": ElicitResult(action="accept", content={"decision": "allow"})}
    long = {"text": "x" * 5000}
    async with client_of(served, mode="2026-07-28", limits=ATTENDED, elicitation_callback=yes) as client:
        await client.call_tool("send", long, meta=AT_ONCE)
        [asked] = await served.gate.approvals()
        again = await client.session.call_tool(
            "send", long, input_responses=answers, request_state=asked.id, meta=AT_ONCE
        )
    assert seen == []
    assert again.meta is not None
    assert again.meta["callgate/outcome"]["status"] == "pending"
    assert (await served.gate.approval(asked.id)).state.value == "pending"
    assert sent == []


async def test_an_answer_that_does_not_count_is_in_the_log(served: Served, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "callgate.mcp")
    answers: Any = {"decision": ElicitResult(action="accept", content={"decision": "allow"})}
    asker = Context(principal="crawler", user="ada")
    async with client_of(served, mode="2026-07-28", limits=ATTENDED) as client:
        await client.session.call_tool("pay", {"amount": 1}, meta=AT_ONCE)
        [asked] = await served.gate.approvals()
        await served.gate.reject(asked.id, by="bob")
        for state in ("no such form", served.gate.form_state(asked, asker)):
            await client.session.call_tool(
                "pay", {"amount": 1}, input_responses=answers, request_state=state, meta=AT_ONCE
            )
    assert "no form with this state was sent" in caplog.text
    assert "a question was not decided at the client: ApprovalConflict" in caplog.text
    assert served.paid == []
