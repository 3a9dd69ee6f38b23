"""An approval that somebody edits without the key is void, is found, and hides no other question."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Pending, tool
from callgate.errors import ApprovalConflict
from callgate.events.evidence import verify_evidence
from callgate.model.approval import ApprovalState

COLUMNS = ("id", "state", "session", "principal", "tool", "asked_fingerprint", "key", "plan_id", "plan_digest")
"""All that a row is found by."""


@tool(effects="system_state", risk="medium")
async def move(desk: int) -> str:
    """Move to another desk."""
    return f"at desk {desk}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


def gate_on(file: Path) -> Callgate:
    gate = Callgate.open(f"sqlite:///{file}", working_directory=file.parent)
    gate.add(move)
    return gate


def run(file: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(file)) as db, db:
        return db.execute(statement, values).fetchall()


def edit(file: Path, approval_id: str, **changes: Any) -> None:
    [[body]] = run(file, "SELECT body FROM approvals WHERE id = ?", approval_id)
    run(file, "UPDATE approvals SET body = ? WHERE id = ?", json.dumps(json.loads(body) | changes), approval_id)


async def ask(gate: Callgate, desk: int) -> str:
    asked = await gate.call("move", {"desk": desk})
    assert isinstance(asked, Pending)
    return asked.approval_id


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"decided_by": "bob"}, "has another decider than the events say"),
        ({"what": "move\n  desk: 9"}, "has another content than the events say"),
        ({"principal": "other"}, "has another asker than the events say"),
        ({"key": "other"}, "has another key than the events say"),
        ({"votes": []}, "has another list of votes than the events say"),
        ({"state": "approved"}, "is approved, and the events say used"),
        ({"why": ["because"]}, "was edited by somebody without the key: it is void"),
        ({"mac": "é"}, "was edited by somebody without the key: it is void"),
    ],
)
async def test_no_field_of_an_approval_can_be_edited_unnoticed(file: Path, change: dict[str, Any], found: str):
    async with gate_on(file) as gate:
        approval_id = await ask(gate, 1)
        await gate.approve(approval_id, by="ann")
        assert (await gate.call("move", {"desk": 1})).ok
        assert (await gate.verify_audit()).ok
        edit(file, approval_id, **change)
        report = await gate.verify_audit()
        assert any(found in problem for problem in report.problems), report.problems
        assert any("it is void" in problem for problem in report.problems)


@pytest.mark.parametrize("column", COLUMNS)
async def test_an_approval_that_is_filed_elsewhere_is_found_and_void(file: Path, column: str):
    async with gate_on(file) as gate:
        asked = await ask(gate, 1)
        run(file, f"UPDATE approvals SET {column} = 'rejected'")
        report = await gate.verify_audit()
        assert any("is filed as something that it is not" in problem for problem in report.problems), report.problems
        with pytest.raises(ApprovalConflict, match="it is void"):
            await gate.approve("rejected" if column == "id" else asked, by="ann")


@pytest.mark.parametrize("decided", [False, True])
async def test_a_yes_to_one_question_is_no_yes_to_the_one_that_was_put_in_its_place(file: Path, decided: bool):
    async with gate_on(file) as gate:
        small, large = await ask(gate, 1), await ask(gate, 90_000)
        if decided:
            await gate.approve(small, by="ann")
        for old, new in ((small, "x"), (large, small), ("x", large)):
            run(file, "UPDATE approvals SET id = ? WHERE id = ?", new, old)
        if not decided:
            with pytest.raises(ApprovalConflict, match="it is void"):
                await gate.approve(small, by="ann")
        assert isinstance(await gate.call("move", {"desk": 90_000}), Pending)
        assert not (await gate.verify_audit()).ok


async def test_an_edited_question_is_shown_as_void_among_all_and_never_as_one_to_decide(file: Path):
    async with gate_on(file) as gate:
        edited, other = await ask(gate, 1), await ask(gate, 2)
        edit(file, edited, what="move\n  desk: 3", expires_at=1.0)
        assert [shown.id for shown in await gate.approvals()] == [other]
        states = {shown.id: shown.state for shown in await gate.approvals(states=None)}
        assert states == {edited: ApprovalState.VOID, other: ApprovalState.PENDING}
        assert [shown.id for shown in await gate.approvals(states=[ApprovalState.VOID])] == [edited]
        with pytest.raises(ApprovalConflict, match="it is void"):
            await gate.approve(edited, by="ann")
        assert await ask(gate, 1) != edited


@pytest.mark.parametrize("body", ["{}", "[", '{"id": 1}'])
async def test_a_question_that_cannot_be_read_hides_no_other(file: Path, body: str, caplog: pytest.LogCaptureFixture):
    async with gate_on(file) as gate:
        ruined, other = await ask(gate, 1), await ask(gate, 2)
        run(file, "UPDATE approvals SET body = ? WHERE id = ?", body, ruined)
        assert [shown.id for shown in await gate.approvals()] == [other]
        assert [shown.id for shown in await gate.approvals(states=None, limit=5)] == [other]
        assert "a row of approvals cannot be read" in caplog.text
        assert not (await gate.verify_audit()).ok


async def test_an_expiry_that_somebody_moved_to_another_kind_hides_no_other(file: Path):
    async with gate_on(file) as gate:
        edited, other = await ask(gate, 1), await ask(gate, 2)
        edit(file, edited, expires_at="soon")
        assert [shown.id for shown in await gate.approvals()] == [other]


async def test_honest_approvals_agree_also_edited_voted_and_rejected_ones_and_in_evidence(file: Path, tmp_path: Path):
    async with gate_on(file) as gate:
        await gate.approve(await ask(gate, 1), by="ann", arguments={"desk": 4})
        assert (await gate.call("move", {"desk": 1})).output == "at desk 4"
        await gate.reject(await ask(gate, 2), by="ann", why="taken")
        await gate.withdraw(await ask(gate, 3))
        report = await gate.verify_audit()
        assert report.ok, report.problems
        await gate.export_evidence(str(tmp_path / "honest.zip"))
        assert verify_evidence(tmp_path / "honest.zip").ok
        [first, *_] = await gate.approvals(states=None)
        edit(file, first.id, decided_by="bob")
        await gate.export_evidence(tmp_path / "edited.zip")
        problems = verify_evidence(tmp_path / "edited.zip").problems
        assert any("has another decider than the events say" in problem for problem in problems), problems
