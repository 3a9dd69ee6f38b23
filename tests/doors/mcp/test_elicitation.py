"""Asking the person at the client: only where the operator said that one sits there, and never without their word."""

import logging
from typing import Any

import pytest
from mcp_types import ElicitResult

from callgate import tool
from callgate.model.levels import Assurance
from tests.doors.http.conftest import Served
from tests.doors.mcp.conftest import client_of, text_of

ERAS = pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
ATTENDED = {"attended": True, "user": "ada"}
AT_ONCE: Any = {"callgate/wait": 0}


def _person(answer: ElicitResult, seen: list[str]) -> Any:
    async def asked(_context: Any, params: Any) -> ElicitResult:
        seen.append(params.message)
        return answer

    return asked


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


async def test_an_answer_that_is_not_enough_is_in_the_log(served: Served, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG, "callgate.mcp")
    answers: Any = {"decision": ElicitResult(action="accept", content={"decision": "allow"})}
    async with client_of(served, mode="2026-07-28", limits=ATTENDED) as client:
        await client.session.call_tool(
            "pay", {"amount": 1}, input_responses=answers, request_state="no such question", meta=AT_ONCE
        )
    assert "a question was not decided at the client: ApprovalNotFound" in caplog.text
    assert served.paid == []
