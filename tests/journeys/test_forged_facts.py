"""Events that somebody without the key puts into the store: no edited row passes with one, no approval counts twice."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Callgate, Context, Pending, Succeeded, tool
from callgate.events.row_digest import ROW_DIGEST
from callgate.model.event import Draft
from callgate.model.levels import Autonomy
from callgate.settings.values import Settings
from callgate.stores.sqlite import SqliteStore
from callgate.testing import HandClock

KEY = Context(idempotency_key="k")
FREE = Settings(autonomy=Autonomy.A4)
FREED = "UPDATE attempts SET state = 'failed', happened = 'none', resolved_by = 'ann'"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


def gate_on(file: Path, settings: Settings = FREE) -> Callgate:
    """A gate with a tool that pays, and tells a file outside; the answer may be lost."""

    @tool(effects="system_state", risk="medium")
    async def pay(lost: bool = False) -> str:
        """Pay somebody."""
        with (file.parent / "paid").open("a") as witness:
            witness.write("paid\n")
        if lost:
            raise ConnectionError("the line broke")
        return "paid"

    gate = Callgate.open(f"sqlite:///{file}", settings, working_directory=file.parent)
    gate.add(pay)
    return gate


def paid(file: Path) -> int:
    return len((file.parent / "paid").read_text().splitlines())


def edit(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        assert db.execute(statement).rowcount == 1, statement


async def forge(file: Path, kind: str, **payload: Any) -> None:
    """Append an event about the one call there is, with the code of Callgate and without the key."""
    with closing(sqlite3.connect(file)) as db:
        [(call, trace)] = db.execute("SELECT call_id, trace_id FROM attempts").fetchall()
    draft = Draft(type=kind, time=time.time(), trace=trace, call=call, payload={"tool": "pay", "key": "k", **payload})
    store = SqliteStore(file, clock=HandClock())
    await store.open()
    await store.write(lambda tx: tx.append(draft))
    await store.close()


def said_of_row(file: Path) -> str:
    """What the last event that closed the call says of its row."""
    with closing(sqlite3.connect(file)) as db:
        found = db.execute(f"SELECT json_extract(payload, '$.{ROW_DIGEST}') FROM events ORDER BY position").fetchall()
        return [digest for (digest,) in found if digest is not None][-1]


async def problems(gate: Callgate) -> str:
    return "\n".join((await gate.verify_audit()).problems)


async def test_a_row_that_was_freed_is_found_before_its_key_pays_again_and_after(file: Path):
    async with gate_on(file) as gate:
        assert (await gate.call("pay", {}, KEY)).ok
        assert await problems(gate) == ""
    await forge(file, "tool_call.resolved", state="failed", by="ann", assurance="local", note="")
    edit(file, FREED)
    async with gate_on(file) as gate:
        assert "does not prove what its row says" in await problems(gate)
        await gate.call("pay", {}, KEY)
        assert "does not prove what its row says" in await problems(gate)


async def test_a_row_that_was_freed_by_a_digest_of_anybodys_is_found_although_its_row_is_new(file: Path):
    async with gate_on(file) as gate:
        assert (await gate.call("pay", {}, KEY)).ok
    await forge(file, "tool_call.resolved", state="failed", by="ann", **{ROW_DIGEST: "0" * 64})
    edit(file, FREED)
    async with gate_on(file) as gate:
        await gate.call("pay", {}, KEY)
        assert paid(file) == 2
        assert "over a row that was edited" in await problems(gate)


async def test_a_late_fact_without_proof_frees_no_key_unnoticed(file: Path):
    async with gate_on(file) as gate:
        assert (await gate.call("pay", {}, KEY)).ok
    await forge(file, "tool_call.settled_late", outcome="failed")
    edit(file, FREED)
    async with gate_on(file) as gate:
        await gate.call("pay", {}, KEY)
        assert "ran again" in await problems(gate)


async def test_an_outcome_that_was_rewritten_is_found(file: Path):
    async with gate_on(file) as gate:
        assert (await gate.call("pay", {}, KEY)).ok
    await forge(file, "tool_call.resolved", state="succeeded")
    edit(file, """UPDATE attempts SET outcome = '{"output":"paid to mallory","side_effects":[]}'""")
    async with gate_on(file) as gate:
        assert isinstance(await gate.outcome("k"), Succeeded)
        assert "does not prove what its row says" in await problems(gate)


async def test_what_a_row_said_before_does_not_count_again(file: Path):
    async with gate_on(file) as gate:
        await gate.call("pay", {"lost": True}, KEY)
        before = said_of_row(file)
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("CREATE TABLE old AS SELECT * FROM attempts")
        await gate.resolve("k", happened=True, by="ann")
        assert await problems(gate) == ""
    await forge(file, "tool_call.settled_late", state="unknown", **{ROW_DIGEST: before})
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DELETE FROM attempts")
        db.execute("INSERT INTO attempts SELECT * FROM old")
    async with gate_on(file) as gate:
        assert "repeats what its row said before" in await problems(gate)


async def test_rows_whose_events_are_erased_are_told_as_compared_in_part(file: Path):
    async with gate_on(file) as gate:
        assert (await gate.call("pay", {}, KEY)).ok
        await gate.erase(by="officer", why="she asked for it", types=["tool_call.succeeded"])
        report = await gate.verify_audit()
        assert report.ok, report.problems
        assert report.notes == ("1 ledger rows were compared in part: events about them are erased",)


async def test_a_key_that_was_free_and_is_taken_again_agrees(file: Path):
    async with gate_on(file) as gate:
        await gate.call("pay", {"lost": True}, KEY)
        await gate.resolve("k", happened=False, by="ann")
        await asyncio.wait_for(gate.call("pay", {"lost": True}, KEY), 30)
        assert paid(file) == 2
        assert await problems(gate) == ""


async def test_an_approval_is_used_once_whatever_rows_and_events_say(file: Path):
    async with gate_on(file, Settings()) as gate:
        asked = await gate.call("pay", {}, KEY)
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        assert (await gate.call("pay", {}, KEY)).ok
    await forge(file, "tool_call.failed", cause="nested", effect="none", **{ROW_DIGEST: said_of_row(file)})
    edit(file, "UPDATE attempts SET state = 'failed', happened = 'none', cause = 'nested'")
    async with gate_on(file, Settings()) as gate:
        again = await gate.call("pay", {}, KEY)
        assert isinstance(again, Pending)
        assert again.approval_id != asked.approval_id
        assert paid(file) == 1
