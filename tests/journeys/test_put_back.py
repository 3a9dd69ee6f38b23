"""What was decided stays decided, whatever rows of before, and copies of events, somebody puts back without the key."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Outcome, Pending, tool
from callgate.approvals.bind import bind
from callgate.errors import ApprovalConflict
from callgate.model.ids import uuid7
from callgate.model.layer import Layer, LayerKind, Rule
from callgate.model.levels import Autonomy, Verdict
from callgate.settings.values import Settings
from callgate.testing import HandClock
from tests.journeys.gates import parts_of

KEY = Context(idempotency_key="k")
ASKS = Settings(autonomy=Autonomy.A2)
WINDOW = Rule(match="pay", verdict=Verdict.CONFIRM, on_expiry="proceed")
VETO = Settings(global_layer=Layer(name="global", kind=LayerKind.GLOBAL, rules=(WINDOW,)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


def gate_on(file: Path, settings: Settings = ASKS, clock: HandClock | None = None) -> Callgate:
    """A gate with a tool that pays, and tells a file outside."""

    def undo(arguments: dict[str, Any], output: Any) -> None: ...

    @tool(effects="system_state", risk="medium", undo=undo)
    async def pay() -> str:
        """Pay somebody."""
        with (file.parent / "paid").open("a") as witness:
            witness.write("paid\n")
        return "paid"

    gate = Callgate.open(f"sqlite:///{file}", settings, working_directory=file.parent, clock=clock)
    gate.add(pay)
    return gate


def paid(file: Path) -> int:
    witness = file.parent / "paid"
    return len(witness.read_text().splitlines()) if witness.exists() else 0


def run(file: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(file)) as db, db:
        return db.execute(statement, values).fetchall()


def copied(file: Path, kind: str, **other: str) -> None:
    """Put an event in once more, in a stream of its own."""
    new = {"position": "(SELECT max(position) + 1 FROM events)", "id": f"'{uuid7()}'", "stream": f"'{uuid7()}'"}
    names: list[str] = [row[1] for row in run(file, "PRAGMA table_info(events)")]
    taken = ", ".join((new | other).get(name, name) for name in names)
    run(file, f"INSERT INTO events SELECT {taken} FROM events WHERE type = ?", kind)


def unnumbered(file: Path, kind: str) -> None:
    """The same, as if from before changes were counted."""
    copied(file, kind, payload="json_remove(payload, '$.revision')")


async def ask(gate: Callgate) -> str:
    asked = await gate.call("pay", {}, KEY)
    assert isinstance(asked, Pending)
    return asked.approval_id


def code(outcome: Outcome) -> str | None:
    return None if outcome.error is None else outcome.error.code


@pytest.mark.parametrize("put_in", [copied, unnumbered])
async def test_a_no_is_undone_by_no_copy_of_the_question(file: Path, put_in: Callable[[Path, str], None]) -> None:
    async with gate_on(file) as gate:
        question = await ask(gate)
        [before] = run(file, "SELECT state, body FROM approvals")
        await gate.reject(question, by="ann", why="never")
        run(file, "UPDATE approvals SET state = ?, body = ?", *before)
        put_in(file, "gate.required")
        with pytest.raises(ApprovalConflict, match="a copy was put in; it is void"):
            await gate.approve(question, by="bob")
        assert not (await gate.call("pay", {}, KEY)).ok
        assert "a copy was put in" in " ".join((await gate.verify_audit()).problems)
    assert paid(file) == 0


async def test_a_veto_is_undone_by_no_copy_of_the_question(file: Path) -> None:
    clock = HandClock()
    async with gate_on(file, VETO, clock) as gate:
        question = await ask(gate)
        [before] = run(file, "SELECT state, body FROM approvals")
        await gate.reject(question, by="ann", why="never")
        run(file, "UPDATE approvals SET state = ?, body = ?", *before)
        copied(file, "gate.required")
        clock.turn(3700)
        with pytest.raises(ApprovalConflict, match="it is void"):
            await gate.resume(question)
    assert paid(file) == 0


async def test_a_used_approval_is_used_again_by_no_copy_of_the_yes(file: Path) -> None:
    async with gate_on(file) as gate:
        question = await ask(gate)
        await gate.approve(question, by="ann")
        [before] = run(file, "SELECT state, body FROM approvals")
        assert (await gate.call("pay", {}, KEY)).ok
        assert (await gate.verify_audit()).ok
        run(file, "UPDATE approvals SET state = ?, body = ?", *before)
        copied(file, "approval.approved")
        run(file, "DELETE FROM attempts")
        assert code(await gate.call("pay", {}, KEY)) == "approval_void"
    assert paid(file) == 1


async def test_a_row_that_differs_in_nothing_but_its_turn_is_found(file: Path) -> None:
    async with gate_on(file) as gate:
        question = await ask(gate)
        parts = parts_of(gate)

        def again(tx: Any) -> None:
            tx.put_approval(bind(tx.approval(question), parts.keys))

        await parts.store.write(again)
        with pytest.raises(ApprovalConflict, match="is not as its last event left it"):
            await gate.approve(question, by="ann")


async def test_a_question_from_before_changes_were_counted_is_decided_and_used(file: Path) -> None:
    async with gate_on(file) as gate:
        question = await ask(gate)
        parts = parts_of(gate)

        def older(tx: Any) -> None:
            tx.put_approval(bind(replace(tx.approval(question), revision=-1), parts.keys))

        await parts.store.write(older)
        run(file, "UPDATE approvals SET body = json_remove(body, '$.revision')")
        run(file, "DROP TRIGGER events_forget")
        run(file, "UPDATE events SET payload = json_remove(payload, '$.revision') WHERE type = 'gate.required'")
        await gate.approve(question, by="ann")
        assert (await gate.call("pay", {}, KEY)).ok
    assert paid(file) == 1


@pytest.mark.parametrize("erased", [False, True])
@pytest.mark.parametrize("trace", ["one", "another each time"])
async def test_a_call_that_stopped_inside_goes_on_once(file: Path, trace: str, erased: bool) -> None:
    held = uuid7()

    def fresh() -> Context:
        return Context(idempotency_key="k", trace_id=held if trace == "one" else uuid7())

    @tool(effects="system_state", risk="medium", idempotent=True)
    async def outer() -> str:
        """Pay, and tell a file of it."""
        (await gate.call("pay", {}, Context(idempotency_key="inner"))).unwrap()
        with (file.parent / "outer").open("a") as witness:
            witness.write("paid\n")
        return "done"

    async with gate_on(file) as gate:
        gate.add(outer)
        first = await gate.call("outer", {}, fresh())
        assert isinstance(first, Pending)
        await gate.approve(first.approval_id, by="ann")
        second = await gate.call("outer", {}, fresh())
        assert isinstance(second, Pending)
        await gate.approve(second.approval_id, by="ann")
        [before] = run(file, "SELECT * FROM attempts WHERE key = 'k'")
        assert (await gate.call("outer", {}, fresh())).ok
        report = await gate.verify_audit()
        assert report.ok, report.problems
        run(file, "DELETE FROM attempts WHERE key = 'k'")
        run(file, f"INSERT INTO attempts VALUES ({', '.join('?' * len(before))})", *before)
        if erased:
            run(file, "UPDATE events SET payload = NULL, salt = NULL WHERE type = 'approval.goes_on'")
        again = await gate.call("outer", {}, fresh())
        assert isinstance(again, Pending)
        assert again.approval_id not in {first.approval_id, second.approval_id}
    assert (file.parent / "outer").read_text() == "paid\n"
