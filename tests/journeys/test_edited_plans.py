"""A plan that somebody edits without the key is void as a whole, and older stores keep what they were asked."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Pending, tool
from callgate.errors import ApprovalConflict, ApprovalNotFound
from callgate.events.evidence import verify_evidence
from callgate.model.approval import ApprovalState


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


def gate_on(file: Path, moved: list[int] | None = None) -> Callgate:
    seen = [] if moved is None else moved

    @tool(effects="system_state", risk="medium", name="move")
    async def move(desk: int) -> str:
        """Move to another desk."""
        seen.append(desk)
        return f"at desk {desk}"

    gate = Callgate.open(f"sqlite:///{file}", working_directory=file.parent)
    gate.add(move)
    return gate


def run(file: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(file)) as db, db:
        return db.execute(statement, values).fetchall()


def edit(file: Path, place: int, change: Callable[[dict[str, Any]], Any]) -> None:
    number, text = run(file, "SELECT number, body FROM approvals ORDER BY number")[place]
    body = json.loads(text)
    change(body)
    run(file, "UPDATE approvals SET body = ? WHERE number = ?", json.dumps(body), number)


def forge_text(body: dict[str, Any]) -> None:
    body["calls"][1]["what"] = "look"


EDITS: dict[str, Callable[[Path], Any]] = {
    "another list": lambda file: edit(file, 0, forge_text),
    "no list": lambda file: edit(file, 0, lambda body: body.update(calls=[])),
    "another place": lambda file: edit(file, 1, lambda body: body["part"].update(place=0)),
    "another plan": lambda file: run(file, "UPDATE approvals SET plan_id = 'x' WHERE number = 2"),
    "a part gone": lambda file: run(file, "DELETE FROM approvals WHERE number = 2"),
    "the first gone": lambda file: run(file, "DELETE FROM approvals WHERE number = 1"),
    "a yes": lambda file: edit(file, 1, lambda body: body.update(state="approved", decided_by="eve")),
}
CALLS = [Call("move", {"desk": desk}) for desk in (1, 2, 3)]


@pytest.mark.parametrize("name", EDITS)
async def test_a_plan_that_somebody_edited_is_void_as_a_whole(file: Path, name: str):
    moved: list[int] = []
    async with gate_on(file, moved) as gate:
        plan = await gate.plan(CALLS, ask=True)
        assert plan.approval_id is not None
        other = await gate.call("move", {"desk": 9})
        EDITS[name](file)
        with pytest.raises(ApprovalConflict, match="without the key; it is void"):
            await gate.approve(plan.approval_id, by="ann")
        outcomes = await gate.batch(plan)
        assert {outcome.error.code for outcome in outcomes if outcome.error} == {"approval_void"}
        assert isinstance(other, Pending)
        assert [question.id for question in await gate.approvals()] == [other.approval_id]
        void = await gate.approvals(states=[ApprovalState.VOID])
        assert all(question.part is not None for question in void)
        report = await gate.verify_audit()
        assert not report.ok
        anew = await gate.plan(CALLS, ask=True)
        assert anew.approval_id not in {None, plan.approval_id}
    assert moved == []


@pytest.mark.parametrize("name", EDITS)
async def test_an_approved_plan_that_somebody_edits_lets_nothing_through(file: Path, name: str):
    moved: list[int] = []
    async with gate_on(file, moved) as gate:
        plan = await gate.plan(CALLS, ask=True)
        assert plan.approval_id is not None
        await gate.approve(plan.approval_id, by="ann")
        EDITS[name](file)
        for call, key in zip(CALLS, plan.keys, strict=True):
            outcome = await gate.call(call.tool, dict(call.arguments), Context(idempotency_key=key))
            assert outcome.status in {"refused", "pending"}
    assert moved == []


async def test_a_row_that_was_put_back_does_not_let_half_a_plan_be_decided_again(file: Path):
    moved: list[int] = []
    async with gate_on(file, moved) as gate:
        plan = await gate.plan(CALLS, ask=True)
        assert plan.approval_id is not None
        [before] = run(file, "SELECT state, body FROM approvals WHERE number = 2")
        await gate.reject(plan.approval_id, by="ann", why="no")
        run(file, "UPDATE approvals SET state = ?, body = ? WHERE number = 2", *before)
        assert {each.state for each in await gate.approvals(states=None)} == {ApprovalState.VOID}
        with pytest.raises(ApprovalConflict, match="is pending, and the events say rejected"):
            await gate.approve(plan.approval_id, by="ann")
        assert {outcome.status for outcome in await gate.batch(plan)} == {"refused"}
        assert not (await gate.verify_audit()).ok
    assert moved == []


async def test_a_yes_to_one_plan_is_no_yes_to_the_one_that_was_put_in_its_place(file: Path):
    moved: list[int] = []
    async with gate_on(file, moved) as gate:
        seen = await gate.plan(CALLS, ask=True)
        other = await gate.plan([Call("move", {"desk": desk}) for desk in (7, 8, 9)], ask=True)
        assert seen.approval_id is not None
        for old, new in ((seen.approval_id, "x"), (other.approval_id, seen.approval_id)):
            run(file, "UPDATE approvals SET plan_id = ? WHERE plan_id = ?", new, old)
        with pytest.raises(ApprovalConflict, match="without the key; it is void"):
            await gate.approve(seen.approval_id, by="ann")
        assert {outcome.status for outcome in await gate.batch(other)} == {"refused"}
    assert moved == []


async def test_evidence_of_a_plan_has_its_list_and_verifies_elsewhere(file: Path, tmp_path: Path):
    async with gate_on(file) as gate:
        plan = await gate.plan(CALLS, ask=True)
        assert plan.approval_id is not None
        await gate.approve(plan.approval_id, by="ann")
        assert all(outcome.ok for outcome in await gate.batch(plan))
        package = tmp_path / "package.zip"
        await gate.export_evidence(package)
    report = verify_evidence(package)
    assert report.ok, report.problems


async def test_a_store_from_before_there_were_plans_keeps_its_questions(file: Path):
    moved: list[int] = []
    async with gate_on(file, moved) as gate:
        asked = await gate.call("move", {"desk": 4})
        assert isinstance(asked, Pending)
    edit(file, 0, lambda body: (body.pop("part"), body.pop("calls")))
    for statement in (
        "DROP INDEX approvals_of_plan",
        "DROP INDEX approvals_by_plan_digest",
        "ALTER TABLE approvals DROP COLUMN plan_id",
        "ALTER TABLE approvals DROP COLUMN plan_digest",
        "DROP TABLE documents",
        "DROP INDEX attempts_possible",
        "DROP INDEX attempts_unended",
        "DROP INDEX attempts_unresolved",
        "DROP INDEX attempts_unresolved_edited",
        "CREATE INDEX attempts_unknown ON attempts (fingerprint, session, principal) WHERE state = 'unknown'",
        "CREATE INDEX attempts_unknown_edited ON attempts (final_fingerprint) WHERE state = 'unknown'",
        "DROP INDEX approvals_of_asker",
        "DROP TABLE projections",
        "CREATE TABLE projections (name TEXT, key TEXT, body TEXT, PRIMARY KEY (name, key)) WITHOUT ROWID",
        "DELETE FROM schema_versions WHERE version >= 2",
    ):
        run(file, statement)
    async with gate_on(file, moved) as gate:
        (question,) = await gate.approvals()
        assert question.id == asked.approval_id
        await gate.approve(asked.approval_id, by="ann")
        assert (await gate.call("move", {"desk": 4})).ok
        assert (await gate.verify_audit()).ok
        with pytest.raises(ApprovalNotFound):
            await gate.approval("nosuch")
    assert moved == [4]
