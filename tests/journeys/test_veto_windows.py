"""A veto window: silence lets a call through where the rules say so, then and now, and where nobody said otherwise."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Pending, tool
from callgate.errors import ApprovalConflict
from callgate.model.approval import Approval, ApprovalState
from callgate.model.layer import ConfirmBy, Layer, LayerKind, Rule
from callgate.model.levels import Verdict
from callgate.settings.values import Settings
from callgate.testing import HandClock
from tests.journeys.gates import gate_of

WINDOW = Rule(match="send", verdict=Verdict.CONFIRM, on_expiry="proceed")
ASKING = Rule(match="send", verdict=Verdict.CONFIRM)
TWO_FOR_MUCH = Rule(match="send", when="args.amount > 100", by=ConfirmBy.TWO)


class Purse:
    """A tool whose effect can be undone, and what it was used for."""

    def __init__(self) -> None:
        self.sent: list[int] = []

        def undo(arguments: dict[str, Any], output: Any) -> None: ...

        @tool(effects="network_access", risk="low", undo=undo)
        async def send(amount: int) -> str:
            """Send money that can be called back."""
            self.sent.append(amount)
            return "sent"

        self.tool = send


def under(*rules: Rule) -> Settings:
    return Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, rules=rules))


async def ask(gate: Callgate, amount: int) -> str:
    asked = await gate.call("send", {"amount": amount})
    assert isinstance(asked, Pending)
    return asked.approval_id


def run(file: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(file)) as db, db:
        return db.execute(statement, values).fetchall()


# What silence does.


async def test_silence_is_not_the_second_yes_to_an_edited_call() -> None:
    purse, clock = Purse(), HandClock()
    async with gate_of(purse.tool, clock=clock, config=under(WINDOW, TWO_FOR_MUCH)) as gate:
        approval = await ask(gate, 5)
        edited = await gate.approve(approval, by="ann", arguments={"amount": 1000})
        assert (edited.state, edited.on_expiry) == (ApprovalState.PENDING, "reject")
        clock.turn(3600)
        assert (await gate.approval(approval)).state is ApprovalState.EXPIRED
        assert not (await gate.resume(approval)).ok
    assert purse.sent == []


async def test_an_edit_into_a_veto_window_makes_none_of_a_question_that_was_none() -> None:
    """Two have to say yes to either; that silence would do for the edited one by itself does not count."""
    purse, clock = Purse(), HandClock()
    async with gate_of(purse.tool, clock=clock, config=under(WINDOW, TWO_FOR_MUCH)) as gate:
        approval = await ask(gate, 1000)
        edited = await gate.approve(approval, by="ann", arguments={"amount": 5})
        assert (edited.state, edited.on_expiry) == (ApprovalState.APPROVED, "reject")
        assert (await gate.resume(approval)).ok
    assert purse.sent == [5]


@pytest.mark.parametrize("seen", [True, False], ids=["the end was seen before", "the end was not seen before"])
async def test_a_window_that_the_operator_closed_lets_nothing_through(tmp_path: Path, seen: bool) -> None:
    purse, clock, store = Purse(), HandClock(), f"sqlite:///{tmp_path / 'gate.db'}"
    async with gate_of(purse.tool, clock=clock, config=under(WINDOW), store=store) as gate:
        approval = await ask(gate, 5)
        clock.turn(3600)
        if seen:
            assert (await gate.approval(approval)).state is ApprovalState.APPROVED
    async with gate_of(purse.tool, clock=clock, config=under(ASKING), store=store) as gate:
        again = await ask(gate, 5)
        assert again != approval
        old = await gate.approval(approval)
        assert (old.state, old.text) == (
            ApprovalState.WITHDRAWN,
            "nobody objected, and by now the rules want an answer",
        )
        assert (await gate.approval(again)).on_expiry == "reject"
        await gate.approve(again, by="ann")
        assert (await gate.resume(again)).ok
        assert (await gate.verify_audit()).ok
    assert purse.sent == [5]


async def test_a_window_that_the_operator_opened_later_is_none_for_who_was_asked_before(tmp_path: Path) -> None:
    purse, clock, store = Purse(), HandClock(), f"sqlite:///{tmp_path / 'gate.db'}"
    async with gate_of(purse.tool, clock=clock, config=under(ASKING), store=store) as gate:
        approval = await ask(gate, 5)
    clock.turn(3600)
    async with gate_of(purse.tool, clock=clock, config=under(WINDOW), store=store) as gate:
        assert (await gate.approval(approval)).state is ApprovalState.EXPIRED
        assert not (await gate.resume(approval)).ok
    assert purse.sent == []


async def test_the_yes_of_a_person_still_counts_when_the_window_was_closed(tmp_path: Path) -> None:
    purse, store = Purse(), f"sqlite:///{tmp_path / 'gate.db'}"
    async with gate_of(purse.tool, config=under(WINDOW), store=store) as gate:
        approval = await ask(gate, 5)
        await gate.approve(approval, by="nobody objected")
    async with gate_of(purse.tool, config=under(ASKING), store=store) as gate:
        assert (await gate.resume(approval)).ok
    assert purse.sent == [5]


# Answers that come late.

LATE: dict[str, Callable[[Callgate, str], Awaitable[Approval]]] = {
    "a no": lambda gate, approval: gate.reject(approval, by="ann", why="stop"),
    "an answer": lambda gate, approval: gate.respond(approval, by="ann", text="send nothing"),
    "a yes": lambda gate, approval: gate.approve(approval, by="ann"),
    "an edit": lambda gate, approval: gate.approve(approval, by="ann", arguments={"amount": 1}),
}


@pytest.mark.parametrize("late", LATE)
async def test_whoever_answers_after_the_window_is_told_that_it_does_not_count(late: str) -> None:
    purse, clock = Purse(), HandClock()
    async with gate_of(purse.tool, clock=clock, config=under(WINDOW)) as gate:
        approval = await ask(gate, 5)
        clock.turn(3601)
        with pytest.raises(ApprovalConflict, match="its window ended, and nobody had objected"):
            await LATE[late](gate, approval)
        assert (await gate.approval(approval)).state is ApprovalState.APPROVED


# Rows that are put back.


@pytest.mark.parametrize("said", ["rejected", "answered", "withdrawn"])
async def test_a_no_stays_a_no_when_the_row_of_the_window_is_put_back(tmp_path: Path, said: str) -> None:
    purse, clock, file = Purse(), HandClock(), tmp_path / "gate.db"
    async with gate_of(purse.tool, clock=clock, config=under(WINDOW), store=f"sqlite:///{file}") as gate:
        approval = await ask(gate, 5)
        [before] = run(file, "SELECT state, body FROM approvals")
        if said == "rejected":
            await gate.reject(approval, by="ann", why="never")
        elif said == "answered":
            await gate.respond(approval, by="ann", text="never")
        else:
            await gate.withdraw(approval)
        run(file, "UPDATE approvals SET state = ?, body = ?", *before)
        with pytest.raises(ApprovalConflict, match=f"is pending, and the events say {said}"):
            await gate.approve(approval, by="bob")
        clock.turn(3601)
        with pytest.raises(ApprovalConflict, match="it is void"):
            await gate.approval(approval)
        outcome = await gate.call("send", {"amount": 5})
        assert outcome.error is not None
        assert outcome.error.code == "approval_void"
        assert f"the events say {said}" in outcome.error.message
    assert purse.sent == []


async def test_an_edit_stays_when_the_row_before_it_is_put_back(tmp_path: Path) -> None:
    """Both are edits of one person, with the same votes: they differ in what would run."""
    purse, file = Purse(), tmp_path / "gate.db"
    async with gate_of(purse.tool, config=under(ASKING, TWO_FOR_MUCH), store=f"sqlite:///{file}") as gate:
        approval = await ask(gate, 500)
        first = await gate.approve(approval, by="ann", arguments={"amount": 1000})
        [before] = run(file, "SELECT state, body FROM approvals")
        await gate.approve(approval, by="ann", arguments={"amount": 200}, digest=first.digest)
        run(file, "UPDATE approvals SET state = ?, body = ?", *before)
        with pytest.raises(ApprovalConflict, match="has another content than the events say"):
            await gate.approve(approval, by="bob", digest=first.digest)
        assert not (await gate.call("send", {"amount": 500})).ok
    assert purse.sent == []


async def test_an_approval_whose_events_are_erased_is_asked_for_anew(tmp_path: Path) -> None:
    """Whoever can write the store can take the payload of an event away: it may have said no."""
    purse, clock, file = Purse(), HandClock(), tmp_path / "gate.db"
    async with gate_of(purse.tool, clock=clock, config=under(WINDOW), store=f"sqlite:///{file}") as gate:
        approval = await ask(gate, 5)
        [before] = run(file, "SELECT state, body FROM approvals")
        await gate.reject(approval, by="ann", why="never")
        run(file, "UPDATE approvals SET state = ?, body = ?", *before)
        run(file, "UPDATE events SET payload = NULL, salt = NULL WHERE type = 'approval.rejected'")
        clock.turn(3601)
        outcome = await gate.call("send", {"amount": 5})
        assert outcome.error is not None
        assert "are erased, so that nobody knows how it was decided" in outcome.error.message
    assert purse.sent == []
