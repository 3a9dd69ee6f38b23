"""A row of the ledger that somebody edits without the key is found, whatever it says, and honest rows never are."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callgate import Call, Callgate, Context, Pending, Unknown, tool
from callgate.errors import StoreError
from callgate.model.event import Event
from callgate.pipeline.owners import give_up
from tests.journeys.gates import parts_of


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gate.db"


@tool(effects="system_state", risk="low")
async def water(plant: str) -> str:
    """Water a plant, or forget whether it was."""
    if plant == "fern":
        raise ConnectionError("the line broke")
    if plant == "cactus":
        raise ValueError("too wet")
    return f"{plant} has 5 drops"


@tool(effects="system_state", risk="medium")
async def repot(plant: str) -> str:
    """Repot a plant."""
    return f"{plant} moved"


def under(key: str) -> Context:
    return Context(idempotency_key=key)


def gate_on(file: Path) -> Callgate:
    gate = Callgate.open(f"sqlite:///{file}", working_directory=file.parent)
    gate.add(water, repot)
    return gate


def change(file: Path, statement: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        assert db.execute(statement).rowcount == 1, statement


def edit_all(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        for statement in statements:
            db.execute(statement)


async def problems(gate: Callgate) -> tuple[str, ...]:
    return (await gate.verify_audit()).problems


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("key = 'another'", "stands under another key than the events say: 'k' of agent"),
        ("principal = 'somebody'", "stands under another key than the events say"),
        ("session = 'elsewhere'", "stands under another key than the events say"),
        ("tool = 'repot'", "is of another tool than the events say: water"),
        ("fingerprint = 'f'", "has the fingerprint of another call than the events say"),
        ("final_fingerprint = 'f'", "has the fingerprint of another call than the events say"),
        ("approval_id = 'a'", "names approval a, and the events None"),
        ("state = 'unknown'", "says unknown, and the events say succeeded"),
        ("call_id = 'c'", "no event says that it was attempted"),
        ("tries = 2", "was edited"),
        ("outcome = replace(outcome, '5 drops', '9 drops')", "was edited"),
        ("outcome = NULL", "was edited"),
        ("sealed_id = NULL", "was edited"),
        ("started_at = 1.0", "was edited"),
        ("resolved_by = 'ann'", "was edited"),
        ("idempotent = 1", "was edited"),
        ("happened = 'none'", "was edited"),
        ("ended_at = ended_at - 7200", "was edited"),
        ("ended_at = NULL", "was edited"),
        ("deadline = 1.0", "was edited"),
        ("owner = 'x'", "was edited"),
        ("fence = 99", "was edited"),
        ("state = 'odd'", "the ledger cannot be read (KeyError)"),
    ],
)
async def test_no_field_of_a_row_can_be_edited_unnoticed(file: Path, edit: str, found: str):
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, under("k"))).ok
        assert await problems(gate) == ()
        change(file, f"UPDATE attempts SET {edit}")
        assert any(found in problem for problem in await problems(gate)), await problems(gate)


@pytest.mark.parametrize(
    ("plant", "edit", "found"),
    [
        ("rose", "DELETE FROM attempts", "although its call"),
        ("cactus", "UPDATE attempts SET happened = 'none'", "although its call"),
        ("fern", "DELETE FROM attempts", "counts 1 calls under that key, and the events 2"),
    ],
)
async def test_a_key_that_ran_twice_because_of_an_edit_is_found_although_its_row_is_new(
    file: Path, plant: str, edit: str, found: str
):
    async with gate_on(file) as gate:
        first = await gate.call("water", {"plant": plant}, under("k"))
        change(file, edit)
        again = await gate.call("water", {"plant": plant}, under("k"))
        assert again.call_id != first.call_id
        assert not again.deduped
        assert any(found in problem for problem in await problems(gate))


async def test_an_older_row_that_is_put_back_is_found(file: Path):
    async with gate_on(file) as gate:
        await gate.call("water", {"plant": "fern"}, under("k"))
        await gate.resolve("k", happened=False, by="ann")
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("CREATE TABLE old AS SELECT * FROM attempts")
        await gate.call("water", {"plant": "fern"}, under("k"))
        assert await problems(gate) == ()
        with closing(sqlite3.connect(file)) as db, db:
            db.execute("DELETE FROM attempts")
            db.execute("INSERT INTO attempts SELECT * FROM old")
        assert any("is not of the last call under that key" in problem for problem in await problems(gate))


async def test_an_end_that_was_moved_back_is_found_although_its_call_ran_again(file: Path):
    """The other side shows a payment after an hour: what it does not show before that may have happened."""
    bank: list[str] = []

    async def verify(arguments: dict[str, Any], key: str) -> str:
        return "absent"

    @tool(effects="system_state", risk="low", verify=verify, horizon=3600)
    async def pay() -> str:
        """Pay somebody; the answer of the first time is lost."""
        bank.append("paid")
        if len(bank) == 1:
            raise ConnectionError("the line broke")
        return "paid"

    async with gate_on(file) as gate:
        gate.add(pay)
        assert isinstance(await gate.call("pay", {}, under("k")), Unknown)
        assert await gate.verify_outcome("k") == "cannot_tell"
        assert await problems(gate) == ()
        change(file, "UPDATE attempts SET ended_at = ended_at - 7200")
        assert await gate.verify_outcome("k") == "absent"
        assert (await gate.call("pay", {}, under("k"))).ok
        assert any("is about a row that was edited" in problem for problem in await problems(gate))
    assert bank == ["paid", "paid"]


async def test_a_row_for_a_call_that_took_no_key_is_found(file: Path):
    @tool(effects="read_only")
    async def look() -> str:
        """Look."""
        return "green"

    async with gate_on(file) as gate:
        gate.add(look)
        seen = await gate.call("look")
        await gate.call("water", {"plant": "rose"}, under("k"))
        change(file, f"UPDATE attempts SET call_id = '{seen.call_id}'")
        assert any("of a call that took no key" in problem for problem in await problems(gate))


async def _every_way_to_end(gate: Callgate) -> None:
    host = tool(effects="system_state", risk="low", name="host_edit", source="host")(_host)
    gate.add(host)
    for plant in ("rose", "cactus", "fern"):
        await gate.call("water", {"plant": plant}, under(plant))
    await gate.resolve("fern", happened=True, by="ann", output={"seen": True})
    await gate.call("water", {"plant": "fern"}, under("free"))
    await gate.resolve("free", happened=False, by="ann")
    await gate.call("water", {"plant": "fern"}, under("free"))
    for number, ok in enumerate((True, False)):
        judged = await gate.judge(Call("host_edit", {"number": number}))
        await gate.report(judged.id, ok=ok, output="done")
    asked = await gate.call("repot", {"plant": "rose"})
    assert isinstance(asked, Pending)
    await gate.approve(asked.approval_id, by="ann", arguments={"plant": "lily"})
    assert (await gate.call("repot", {"plant": "rose"})).output == "lily moved"


async def _host(number: int) -> str:
    """Edit a file at the host."""
    return str(number)


async def test_rows_that_nobody_edited_agree_however_their_calls_ended(file: Path):
    async with gate_on(file) as gate:
        await asyncio.wait_for(_every_way_to_end(gate), 30)
        assert await problems(gate) == ()


async def test_a_late_end_agrees_with_its_row_and_is_found_when_edited(file: Path):
    release = threading.Event()

    @tool(effects="system_state", risk="low")
    def prune(plant: str) -> str:
        """Prune a plant, slowly."""
        release.wait(10)
        return f"{plant} pruned"

    async with gate_on(file) as gate:
        gate.add(prune)
        heard: asyncio.Queue[Event] = asyncio.Queue()
        gate.on("tool_call.settled_late", heard.put_nowait)
        assert isinstance(await gate.call("prune", {"plant": "yew"}, under("k"), timeout=0.02), Unknown)
        assert await problems(gate) == ()
        release.set()
        await asyncio.wait_for(heard.get(), 5)
        assert await problems(gate) == ()
        change(file, "UPDATE attempts SET outcome = replace(outcome, 'pruned', 'felled')")
        assert any("was edited" in problem for problem in await problems(gate))
        change(file, "UPDATE attempts SET state = 'unknown'")
        assert any("says unknown, and the events say succeeded" in problem for problem in await problems(gate))


@pytest.mark.parametrize("resolved", [None, True])
async def test_what_ended_with_its_process_agrees_with_its_row_and_is_found_when_edited(
    file: Path, resolved: bool | None
):
    release = threading.Event()

    @tool(effects="system_state", risk="low")
    def prune(plant: str) -> str:
        """Prune a plant, slowly."""
        release.wait(10)
        return f"{plant} pruned"

    async with gate_on(file) as gate:
        gate.add(prune)
        try:
            assert isinstance(await gate.call("prune", {"plant": "yew"}, under("k"), timeout=0.02), Unknown)
            if resolved:
                await gate.resolve("k", happened=True, by="ann")
            told = await gate.outcome("k")
            parts = parts_of(gate)
            await give_up(parts, parts.store.owner)  # as if another had found it dead
            assert await problems(gate) == ()
            assert await gate.outcome("k") == told
            change(file, "UPDATE attempts SET ended_at = ended_at - 7200")
            assert any("was edited" in problem for problem in await problems(gate))
        finally:
            release.set()


ODD_HEADS = [f'{{"@checkpoints": {head}}}' for head in ('["x", "y"]', '[0, "\\ud800"]', "[1e400, 5]", "[]")]


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        ("UPDATE attempts SET happened = 'perhaps'", "the ledger cannot be read (KeyError)"),
        ("UPDATE attempts SET state = 'unknown', happened = 'perhaps'", "the ledger cannot be read (KeyError)"),
        ("UPDATE attempts SET state = 'started', happened = 'perhaps'", "the ledger cannot be read (KeyError)"),
        (
            "UPDATE attempts SET state = 'unknown', ended_at = NULL, happened = 'perhaps'",
            "the ledger cannot be read (KeyError)",
        ),
        ("UPDATE checkpoints SET heads = 'x'", "the checkpoints cannot be read (JSONDecodeError)"),
        *((f"UPDATE checkpoints SET heads = '{heads}'", "the checkpoints cannot be read (") for heads in ODD_HEADS),
        ("UPDATE checkpoints SET signature = 'x'", "the checkpoints cannot be read (TypeError)"),
        *(
            (f"UPDATE events SET sequence = {odd} WHERE position = (SELECT max(position) FROM events)", found)
            for odd in ("'x'", "9e999")
            for found in ("cannot be read (TypeError)", "the ends of streams cannot be read (TypeError)")
        ),
        ("UPDATE events SET stream = x'ff' WHERE sequence = 1", "the ends of streams cannot be read (TypeError)"),
    ],
)
async def test_a_row_that_nobody_can_read_is_found_by_the_next_who_opens_the_store(file: Path, edit: str, found: str):
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, under("k"))).ok
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("DROP TRIGGER events_stand")
        assert db.execute(edit).rowcount
    async with gate_on(file) as gate:
        assert any(found in problem for problem in await problems(gate)), await problems(gate)
        assert (await gate.call("water", {"plant": "lily"}, under("another"))).ok
    async with Callgate.look(f"sqlite:///{file}") as looking:
        assert any(found in problem for problem in await problems(looking)), "and who only looks leaves in peace"


@pytest.mark.parametrize("heads", ODD_HEADS)
async def test_nothing_is_accepted_over_checkpoints_that_nobody_can_read(file: Path, heads: str):
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, under("k"))).ok
    async with gate_on(file) as gate:
        edit_all(file, f"UPDATE checkpoints SET heads = '{heads}'")
        with pytest.raises(StoreError, match="a row of checkpoints cannot be read"):
            await gate.accept_restore(by="ann", why="the disk died")


@pytest.mark.parametrize("edit", ["time = 'noon'", "causes = 'x'", "causes = 5", "salt = 'x'", "payload = '{'"])
async def test_events_that_nobody_can_read_are_told_as_that(file: Path, edit: str):
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, under("k"))).ok
    edit_all(file, "DROP TRIGGER events_stand", "DROP TRIGGER events_forget", f"UPDATE events SET {edit}")
    async with gate_on(file) as gate:
        for ask in (gate.calls, gate.usage, gate.healths, gate.coverage):
            with pytest.raises(StoreError, match="a row of events cannot be read"):
                await ask()


@pytest.mark.parametrize(
    "outcome",
    [
        "not json",
        "[]",
        '{"error":{}}',
        '{"error":5}',
        '{"error":"x"}',
        '{"error":{"code":"x","message":"y","category":"z","retryable":false,"suggestion":null,"details":{}}}',
        '{"error":{"code":5,"message":"y","category":"api_error","retryable":false,"suggestion":null,"details":{}}}',
        '{"error":{"code":"x","message":"y","category":"api_error","retryable":false,"suggestion":null,"details":5}}',
        '{"side_effects":5}',
        '{"side_effects":[5]}',
        '{"duration_ms":"long"}',
        pytest.param('{"error":' * 500 + "1" + "}" * 500, id="deep"),
        pytest.param("[" * 5000 + "]" * 5000, id="deeper"),
    ],
)
async def test_a_recorded_outcome_that_nobody_can_read_is_told_as_that(file: Path, outcome: str):
    async with gate_on(file) as gate:
        await gate.call("water", {"plant": "cactus"}, under("k"))
        change(file, f"UPDATE attempts SET outcome = '{outcome}'")
        with pytest.raises(StoreError, match="the recorded outcome of key k cannot be read"):
            await gate.outcome("k")
        told = await gate.call("water", {"plant": "cactus"}, under("k"))
        assert told.error is not None
        assert (told.status, told.error.code) == ("refused", "store_unavailable")


async def test_a_note_of_what_was_cited_that_nobody_can_read_is_made_again(file: Path):
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, under("k"))).ok
    change(file, "UPDATE streams SET cited = 'x'")
    async with gate_on(file) as gate:
        assert await problems(gate) == ()
    with closing(sqlite3.connect(file)) as db:
        assert {type(cited) for (cited,) in db.execute("SELECT cited FROM streams")} == {int}


async def test_who_gives_up_the_calls_of_a_dead_process_reads_none_that_had_ended(file: Path):
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, under("k"))).ok
    async with gate_on(file) as gate:
        with closing(sqlite3.connect(file)) as db, db:
            [(dead,)] = db.execute("SELECT owner FROM attempts").fetchall()
            db.execute("UPDATE attempts SET happened = 'perhaps'")  # who reads it fails
        left = file.with_name(f"{file.name}.owners") / dead
        left.touch(0o600)  # as if it had been killed
        assert (await gate.call("water", {"plant": "lily"}, under("another"))).ok
        assert not left.exists()


async def test_who_uses_an_approval_reads_nothing_else_that_was_recorded_in_its_trace(file: Path):
    context = Context(trace_id="0198c0de-0000-7000-8000-000000000001")
    async with gate_on(file) as gate:
        assert (await gate.call("water", {"plant": "rose"}, context)).ok
        asked = await gate.call("repot", {"plant": "rose"}, context)
        assert isinstance(asked, Pending)
        await gate.approve(asked.approval_id, by="ann")
        with closing(sqlite3.connect(file)) as db, db:
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            other = "type = 'tool_call.succeeded' AND trace = ?"
            # As if it had been an approval's: who reads it fails.
            edit = f"UPDATE events SET type = 'approval.used', payload = 'x' WHERE {other}"
            assert db.execute(edit, (context.trace_id,)).rowcount == 1
        assert (await gate.resume(asked.approval_id)).ok
